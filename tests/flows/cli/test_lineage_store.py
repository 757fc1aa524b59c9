from pathlib import Path

from flows.cli.lineage import read_trainings
from tasks.checkpoints.address import open_mirror
from tasks.checkpoints.segments import begin, end
from tests.tasks.checkpoints.checkpoint_folders import BASE, NEW, OLD, publish


def test_segments_and_checkpoints_are_read_of_every_training(tmp_path: Path) -> None:
    address = str(tmp_path / "mirror")
    for name, steps in (("grpo", (10, 20)), ("grpo-push", (5,))):
        mirror = open_mirror(address, name)
        begin(mirror.store, mirror.root, 1, 0)
        for step in steps:
            publish(mirror, step, OLD)
        end(mirror.store, mirror.root, 1, steps[-1], "preempted")
    one, other = read_trainings(address)
    assert (one.name, other.name) == ("grpo", "grpo-push")
    assert [(each.step, each.base) for each in one.checkpoints] == [(20, BASE), (10, BASE)]
    assert [(each.from_step, each.to_step, each.ended) for each in one.segments] == [(0, 20, "preempted")]
    manifest = open_mirror(address, "grpo-push").manifests()[0]
    assert other.checkpoints[0].digests == {file.sha256 for file in manifest.files.values()}


def test_a_damaged_manifest_is_passed_over(tmp_path: Path) -> None:
    address = str(tmp_path / "mirror")
    mirror = open_mirror(address, "grpo")
    for step in (10, 20):
        publish(mirror, step, NEW)
    manifest = next((tmp_path / "mirror" / "grpo" / "manifests").glob("00000020-*"))
    manifest.chmod(0o644)
    manifest.write_bytes(b"{}")
    (training,) = read_trainings(address)
    assert [each.step for each in training.checkpoints] == [10]
