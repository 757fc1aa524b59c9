import errno
import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from schemas.artifact import ArtifactRecord
from schemas.errors import InputError
from tasks.lineage.store.artifacts import ArtifactDamaged, ArtifactStore
from tests.tasks.lineage.made import commit

FILES = {"data/train.csv": b"rows", "summary.json": b"{}"}


@pytest.fixture
def store(tmp_path: Path) -> ArtifactStore:
    return ArtifactStore(tmp_path / "artifacts")


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def made(store: ArtifactStore, files: Mapping[str, bytes] = FILES, stage: str = "curate") -> ArtifactRecord:
    return commit(store, "dataset", files, {"prompts": "e" * 64}, stage=stage)


def read(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_committed_artifact_is_read_back_and_verifies(store: ArtifactStore) -> None:
    files = {"a": b"", "a.b/c d/ç-_.x": bytes(range(256)), "a_-.b": b"rows"}
    record = made(store, files)
    assert read(store.path(record.sha256)) == files
    assert set(record.files) == set(files)
    assert store.record(record.sha256) == record
    store.verify(record.sha256)


def replace_by_link(folder: Path) -> None:
    original = folder / "summary.json"
    original.rename(folder.parent / "elsewhere")
    original.symlink_to(folder.parent / "elsewhere")


@pytest.mark.parametrize(
    ("damage", "reported"),
    [
        (lambda folder: (folder / "summary.json").unlink(), "summary.json is missing"),
        (lambda folder: (folder / "extra.txt").write_text(""), "extra.txt was added"),
        (replace_by_link, "summary.json was altered"),
        (lambda folder: shutil.rmtree(folder.parent), "has no artifact"),
        (lambda folder: (folder.parent / "record.json").unlink(), "cannot be read"),
        (lambda folder: rewrite_record(folder, "rows", "rows"), "cannot be read"),
        (lambda folder: rewrite_record(folder, "summary.json", "summary.jsom"), "was altered"),
    ],
)
def test_damage_is_named_and_mended(store: ArtifactStore, damage: Callable[[Path], None], reported: str) -> None:
    record = made(store)
    damage(store.path(record.sha256))
    with pytest.raises(ArtifactDamaged, match=reported):
        store.verify(record.sha256)
    assert made(store, stage="again").stage == "again"
    store.verify(record.sha256)
    assert read(store.path(record.sha256)) == FILES


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
@pytest.mark.parametrize("read", ["tasks.lineage.store.artifacts.file_sha256", "pathlib.Path.read_bytes"])
def test_unreadable_is_not_lost(store: ArtifactStore, monkeypatch: pytest.MonkeyPatch, read: str, number: int) -> None:
    record = made(store)

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        patch.setattr(read, refuse)
        for look in (store.verify, store.is_whole):
            with pytest.raises(InputError, match=re.escape(os.strerror(number))) as caught:
                look(record.sha256)
            assert not isinstance(caught.value, ArtifactDamaged)
    store.verify(record.sha256)


def rewrite_record(folder: Path, old: str, new: str) -> None:
    path = folder.parent / "record.json"
    path.chmod(0o644)
    text = path.read_text()
    path.write_text(text.replace(old, new) if old != new else text[: len(text) // 2])


def test_a_draft_that_fails_or_is_not_committed_leaves_nothing(store: ArtifactStore, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), store.draft() as draft:
        write(draft, FILES)
        raise RuntimeError
    with store.draft() as draft:
        write(draft, FILES)
    assert read(tmp_path) == {}


def test_a_killed_draft_is_no_artifact_and_is_cleaned(store: ArtifactStore, tmp_path: Path) -> None:
    kept = made(store)
    # As a process leaves it that was killed, with which the lock goes.
    abandoned = tmp_path / "artifacts" / "drafts" / "0123" / "content"
    abandoned.mkdir(parents=True)
    write(abandoned, {"other": b"half"})
    store.clean_drafts()
    assert not abandoned.exists()
    store.verify(kept.sha256)
    assert not any((tmp_path / "artifacts" / "drafts").iterdir())


def test_cleaning_leaves_what_another_process_is_making(store: ArtifactStore, tmp_path: Path) -> None:
    with store.draft() as draft:
        write(draft, FILES)
        ArtifactStore(tmp_path / "artifacts").clean_drafts()
        record = store.commit(draft, kind="dataset", stage="curate", code_version="c", config_digest="d", inputs={})
    store.verify(record.sha256)


def test_a_record_names_other_inputs_and_is_as_whole_as_before(store: ArtifactStore) -> None:
    record = made(store)
    assert not store.relink(record.sha256, {"a" * 64: "b" * 64})
    assert store.record(record.sha256) == record
    assert store.relink(record.sha256, {"e" * 64: "b" * 64})
    store.verify(record.sha256)
    assert store.record(record.sha256) == record.model_copy(update={"inputs": {"prompts": "b" * 64}})


@pytest.mark.parametrize("renames", [1, 2, 3])
def test_killed_relinking_is_finished(store: ArtifactStore, monkeypatch: pytest.MonkeyPatch, renames: int) -> None:
    record, left, replace = made(store), renames, Path.replace

    class Killed(BaseException):
        pass

    def replace_until_killed(self: Path, target: Path) -> Path:
        nonlocal left
        left -= 1
        found = replace(self, target)
        if not left:
            raise Killed
        return found

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Path, "replace", replace_until_killed)
        store.relink(record.sha256, {"e" * 64: "b" * 64})
    store.relink(record.sha256, {"e" * 64: "b" * 64})
    store.verify(record.sha256)
    assert store.record(record.sha256).inputs == {"prompts": "b" * 64}
