import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.checkpoints.local import LocalCheckpoints, read_sealed, verify_sealed
from tasks.checkpoints.manifest import MANIFEST_FILE
from tests.tasks.checkpoints.checkpoint_folders import BASE, files_of, filling

FILES = {"adapter/weights.bin": b"weights", "state.json": b"{}"}

names = st.sampled_from(["a.bin", "b.json", "sub/a.bin", "sub/deeper/ção.pt", "sub/b json"])


@pytest.fixture
def local(tmp_path: Path) -> LocalCheckpoints:
    return LocalCheckpoints(tmp_path / "checkpoints", "train-1", BASE)


def newest_folder(local: LocalCheckpoints, begun: Mapping[int, int] | None = None) -> Path | None:
    newest = local.newest(begun)
    if newest is None:
        return None
    assert newest.manifest == read_sealed(newest.folder)
    assert local.folder_of(newest.manifest) == newest.folder
    return newest.folder


@settings(max_examples=30, deadline=None)
@given(files=st.dictionaries(names, st.binary(max_size=32), min_size=1), step=st.integers(0, 10**6))
def test_a_checkpoint_is_found_as_it_was_written(files: dict[str, bytes], step: int) -> None:
    with tempfile.TemporaryDirectory() as root:
        local = LocalCheckpoints(Path(root), "train-1", BASE)
        folder = local.write(step, 4, {"reward": 0.25}, filling(files))
        assert newest_folder(local) == folder
        assert files_of(folder) == files
        manifest = verify_sealed(folder)
        assert (manifest.training, manifest.base, manifest.step, manifest.fencing) == ("train-1", BASE, step, 4)
        assert manifest.metrics == {"reward": 0.25}
        assert [path.name for path in Path(root).iterdir()] == [f"checkpoint-{step:08d}-00000004"]


def test_a_checkpoint_that_a_later_segment_did_without_is_passed_over(local: LocalCheckpoints) -> None:
    kept = local.write(140, 1, {}, filling(FILES))
    local.write(150, 1, {}, filling(FILES))
    assert newest_folder(local, {1: 0, 2: 140}) == kept


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_a_torn_or_altered_folder_is_never_taken(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as root:
        local = LocalCheckpoints(Path(root), "train-1", BASE)
        before = local.write(1, 1, {}, filling(FILES))
        folder = local.write(2, 1, {}, filling(FILES))
        victim = folder / data.draw(st.sampled_from([*FILES, MANIFEST_FILE]))
        content = victim.read_bytes()
        position = data.draw(st.integers(0, len(content) - 1))
        match data.draw(st.sampled_from(["lost", "cut", "flipped"])):
            case "lost":
                victim.unlink()
            case "cut":
                victim.write_bytes(content[:position])
            case "flipped":
                bit = 1 << data.draw(st.integers(0, 7))
                victim.write_bytes(content[:position] + bytes([content[position] ^ bit]) + content[position + 1 :])
        assert newest_folder(local) == before


def test_files_are_synced_first(local: LocalCheckpoints, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[tuple[str, bool]] = []
    final = tmp_path / "checkpoints" / "checkpoint-00000001-00000001"
    synchronize = os.fsync

    def noting(descriptor: int) -> None:
        synced.append((Path(f"/proc/self/fd/{descriptor}").readlink().name, final.exists()))
        synchronize(descriptor)

    monkeypatch.setattr(os, "fsync", noting)
    local.write(1, 1, {}, filling(FILES))
    before = {name for name, named in synced if not named}
    assert before >= {"weights.bin", "adapter", "state.json", MANIFEST_FILE}
    assert any(name.startswith(".draft-") for name in before)
    assert [name for name, named in synced if named] == ["checkpoints"]


@settings(max_examples=30, deadline=None)
@given(steps=st.sets(st.integers(0, 99), min_size=1, max_size=6), last=st.integers(1, 4), data=st.data())
def test_the_newest_and_the_excepted_are_kept_and_nothing_else(steps: set[int], last: int, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as root:
        local = LocalCheckpoints(Path(root), "train-1", BASE)
        folders = {step: local.write(step, 1, {}, filling(FILES)) for step in sorted(steps)}
        (Path(root) / ".draft-left").mkdir()
        excepted = data.draw(st.sets(st.sampled_from(sorted(steps))))
        local.keep(last, but=[folders[step] for step in excepted])
        kept = {*sorted(steps)[-last:], *excepted}
        assert sorted(path.name for path in Path(root).iterdir()) == sorted(folders[step].name for step in kept)
