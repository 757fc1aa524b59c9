import os
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.artifact import ArtifactRecord
from tasks.checkpoints.shared_artifacts import NotShared, SharedArtifacts
from tasks.lineage.store.artifacts import ArtifactStore
from tests.tasks.checkpoints.dying_store import DyingError, DyingStore
from tests.tasks.lineage.made import commit

names = st.sampled_from(["a.bin", "b.json", "sub/a.bin", "sub/deeper/ção.pt"])
contents = st.dictionaries(names, st.binary(max_size=32), min_size=1)


def made(root: Path, files: dict[str, bytes]) -> tuple[ArtifactRecord, Path]:
    store = ArtifactStore(root)
    record = commit(store, "policy", files, {"dataset": "d" * 64})
    return record, store.path(record.sha256)


def blobs(place: Path) -> list[Path]:
    return sorted(place.glob("blobs/sha256/*"))


@settings(max_examples=20, deadline=None)
@given(files=contents)
def test_a_pushed_artifact_is_pulled(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    home = tmp_path_factory.mktemp("home")
    record, content = made(home / "one", files)
    SharedArtifacts(str(home / "place")).push(record, content)

    other = ArtifactStore(home / "other")
    with other.draft() as draft:
        other.adopt(draft, SharedArtifacts(str(home / "place")).pull(record.sha256, draft))

    other.verify(record.sha256)
    assert other.record(record.sha256) == record


def test_bytes_that_are_there_are_not_sent_again_and_damaged_ones_are(tmp_path: Path) -> None:
    record, content = made(tmp_path / "one", {"a": b"whole", "b": b"another"})
    shared = SharedArtifacts(str(tmp_path / "place"))
    shared.push(record, content)
    whole, another = (next(blob for blob in blobs(tmp_path / "place") if blob.read_bytes() == text)
                      for text in (b"whole", b"another"))  # fmt: skip
    before = another.stat().st_ino
    whole.chmod(0o644)
    whole.write_bytes(b"wh0le")
    with pytest.raises(NotShared, match="was altered"):
        shared.pull(record.sha256, _folder(tmp_path / "first"))
    shared.push(record, content)
    shared.pull(record.sha256, _folder(tmp_path / "second"))
    assert another.stat().st_ino == before


def test_a_record_that_leads_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    record, content = made(tmp_path / "one", {"a": b"1"})
    shared = SharedArtifacts(str(tmp_path / "place"))
    shared.push(record, content)
    file = next((tmp_path / "place").glob("records/*.json"))
    file.chmod(0o644)
    evil = record.model_copy(update={"files": {"../../evil": record.files["a"]}})
    file.write_text(evil.model_dump_json(), encoding="utf-8")
    with pytest.raises(NotShared, match="was altered"):
        shared.pull(record.sha256, _folder(tmp_path / "draft"))
    assert not (tmp_path / "evil").exists()


def test_pruning_removes_what_is_old_and_keeps_the_bytes_of_what_is_not(tmp_path: Path) -> None:
    place, days = tmp_path / "place", 20
    shared = SharedArtifacts(str(place))
    old, old_content = made(tmp_path / "one", {"a": b"of both", "b": b"of the old one"})
    shared.push(old, old_content)
    shared.leave("old.json", b"{}")
    age(place, days)
    new, new_content = made(tmp_path / "one", {"a": b"of both"})
    shared.push(new, new_content)
    # What the new one shares with the old one stays, also where it was not sent again.
    age(place, max(31 - days, 0))

    pruned = shared.prune()

    assert pruned.artifacts == 1
    assert [blob.read_bytes() for blob in blobs(place)] == [b"of both"]
    assert shared.note("old.json") is None
    shared.pull(new.sha256, _folder(tmp_path / "draft"))
    with pytest.raises(NotShared):
        shared.pull(old.sha256, _folder(tmp_path / "other"))


def age(place: Path, days: int) -> None:
    for path in place.rglob("*"):
        if path.is_file():
            then = path.stat().st_mtime - timedelta(days=days).total_seconds()
            os.utime(path, (then, then))


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


@pytest.mark.parametrize("after", [False, True])
def test_a_removal_killed_at_any_call_leaves_no_bytes_once_it_is_repeated(tmp_path: Path, after: bool) -> None:
    for call in range(1, 100):
        place = tmp_path / str(call)
        shared = SharedArtifacts(str(place))
        gone, content = made(tmp_path / f"made-{call}", {"a.bin": b"theirs", "b.json": b"own"})
        shared.push(gone, content)
        whole = shared._store
        shared._store = DyingStore(whole, call, after=after)
        try:
            shared.remove([gone.sha256])
        except DyingError:
            shared._store = whole
            shared.remove([gone.sha256])
            assert blobs(place) == []
            assert not [path for path in place.rglob("*.json") if path.is_file()]
        else:
            break
    assert call > 5
