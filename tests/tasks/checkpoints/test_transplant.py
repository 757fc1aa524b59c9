"""Transplant of a checkpoint: the first of another training, once; the training that it is of loses nothing."""

from pathlib import Path

from tasks.checkpoints.address import open_mirror
from tasks.checkpoints.mirror import Mirror
from tasks.checkpoints.segments import read_segments
from tasks.checkpoints.transplant import transplant
from tests.tasks.checkpoints.checkpoint_folders import NEW, OLD, newest_step, publish, restored, unsynced  # noqa: F401


def before_and_other(tmp_path: Path) -> tuple[Mirror, Mirror]:
    before, other = (open_mirror(str(tmp_path / "mirror"), name) for name in ("train-1", "train-2"))
    publish(before, 4, OLD)
    return before, other


def move(before: Mirror, other: Mirror, folder: Path) -> None:
    (manifest,) = before.manifests()
    before.restore(manifest, folder)
    (folder / "state.json").write_text('{"changed": 1}', encoding="utf-8")
    transplant(folder, manifest, other, 60.0)


def test_another_training_begins_with_it(tmp_path: Path) -> None:
    before, other = before_and_other(tmp_path)
    move(before, other, tmp_path / "folder")
    assert restored(other, other.newest()) == {**OLD, "state.json": b'{"changed": 1}'}
    assert restored(before, before.newest()) == OLD
    (segment,) = read_segments(other.store, other.root)
    assert (segment.from_step, segment.to_step) == (0, 4)


def test_a_training_that_has_checkpoints_is_left_alone(tmp_path: Path) -> None:
    before, other = before_and_other(tmp_path)
    publish(other, 6, NEW)
    move(before, other, tmp_path / "folder")
    assert newest_step(other) == 6
    assert len(other.manifests()) == 1


def test_what_is_removed_of_one_training_leaves_the_others(tmp_path: Path) -> None:
    before, other = before_and_other(tmp_path)
    move(before, other, tmp_path / "folder")
    before.remove()
    assert before.store.list(before.root) == []
    assert before.remove() == 0
    assert newest_step(other) == 4
