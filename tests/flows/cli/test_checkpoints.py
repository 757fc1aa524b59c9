"""`tucano checkpoints` as a person uses it: exit codes, sentences, tables, and what is left in the mirror."""

import json
import os
from pathlib import Path

import pytest

from tasks.checkpoints.address import open_mirror
from tasks.checkpoints.local import LocalCheckpoints, verify_sealed
from tasks.checkpoints.mirror import Mirror
from tasks.checkpoints.segments import begin, end
from tests.flows.command import Ended, in_this_process


def tucano(*arguments: str | Path) -> Ended:
    return in_this_process("checkpoints", *arguments)


def checkpoint(root: Path, step: int) -> Path:
    def fill(folder: Path) -> None:
        (folder / "adapter.safetensors").write_bytes(f"adapter of step {step}".encode() * 1000)
        (folder / "trainer_state.json").write_text(json.dumps({"step": step}), encoding="utf-8")
        (folder / "tokenizer.json").write_text("the same at every step", encoding="utf-8")

    return LocalCheckpoints(root / "local", "grpo", "b" * 64).write(step, 1, {"reward": step / 100}, fill)


def opened(mirror: Path) -> Mirror:
    return open_mirror(str(mirror), "grpo")


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    """A mirror with steps 10, 20, 30 of one training; 10 is the best."""
    address = tmp_path / "mirror"
    manifests = [opened(address).publish(checkpoint(tmp_path, step)) for step in (10, 20, 30)]
    opened(address).pin("best", manifests[0])
    return address


def spoil(mirror: Path, step: int) -> None:
    """Alter one byte of the adapter of one checkpoint."""
    manifest = next(found for found in opened(mirror).manifests() if found.step == step)
    path = mirror / "grpo" / "blobs" / "sha256" / manifest.files["adapter.safetensors"].sha256
    path.chmod(0o644)
    path.write_bytes(b"X" + path.read_bytes()[1:])


def test_list_shows_checkpoints_newest_first_with_pins_and_history(mirror: Path) -> None:
    store, root = opened(mirror).store, opened(mirror).root
    begin(store, root, 1, 0)
    end(store, root, 1, 30, "preempted")
    ended = tucano("list", mirror, "--json")
    (training,) = ended.document()["trainings"]
    assert [(found["step"], found["pins"]) for found in training["checkpoints"]] == [(30, []), (20, []), (10, ["best"])]
    assert (training["checkpoints"][0]["files"], training["lease"]) == (3, None)
    assert [found["metrics"] for found in training["checkpoints"]] == [{"reward": step / 100} for step in (30, 20, 10)]
    lines = ended.stderr.splitlines()
    assert any("best" in line and "18.0 kB" in line for line in lines)
    assert any("0-30 on " in line and "preempted" in line for line in lines)


def test_without_a_mirror_that_of_the_profile_is_read(mirror: Path, tmp_path: Path) -> None:
    assert "training grpo" in tucano("list", "--state", tmp_path).stdout
    assert tucano("verify", "--set", f"state.mirror={mirror}").text.count(" whole ") == 3
    assert tucano("pull", "--state", tmp_path, "--out", tmp_path / "pulled", "--pin", "best").returncode == 0
    refused = tucano("list", "--state", tmp_path / "none").refusal()
    assert f"there is no folder {tmp_path / 'none' / 'mirror'}" in refused


def test_verify_names_damage_and_ends_with_3(mirror: Path) -> None:
    spoil(mirror, 20)
    before = {path for path in mirror.rglob("*") if path.is_file()}
    ended = tucano("verify", mirror, "--json")
    document = ended.document(3)
    assert not document["whole"]
    problems = {row["step"]: row["problem"] for row in document["trainings"]["grpo"]}
    assert (problems[30], problems[10]) == (None, None)
    assert "adapter.safetensors" in problems[20]
    assert "1 of 3 checkpoints" in ended.text
    assert {path for path in mirror.rglob("*") if path.is_file()} == before
    assert tucano("verify", mirror, "--step", "30").returncode == 0


def test_pull_writes_the_newest_whole_checkpoint_and_says_which(mirror: Path, tmp_path: Path) -> None:
    spoil(mirror, 30)
    ended = tucano("pull", mirror, "--out", tmp_path / "pulled", "--json")
    assert ended.document()["step"] == verify_sealed(tmp_path / "pulled").step == 20
    assert "pulled step 20 of grpo" in ended.text


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [
        (("--step", "11"), "no checkpoint of step 11; its checkpoints are of the steps: 30, 20, 10"),
        (("--pin", "final"), "no checkpoint pinned as final"),
        (("--training", "dpo"), "has no training 'dpo'; choose among those that it has: grpo"),
        (("--step", "20"), "adapter.safetensors"),
    ],
)
def test_pull_refuses_absent_or_damaged(mirror: Path, tmp_path: Path, choice: tuple[str, ...], sentence: str) -> None:
    spoil(mirror, 20)
    assert sentence in tucano("pull", mirror, "--out", tmp_path / "pulled", *choice).refusal()
    assert not (tmp_path / "pulled").exists()
    assert not list(tmp_path.glob(".*"))


def test_prune_keeps_the_newest_and_the_pinned_and_says_what_it_removed(mirror: Path) -> None:
    for blob in mirror.rglob("blobs/sha256/*"):
        os.utime(blob, (blob.stat().st_mtime - 2 * 3600,) * 2)
    (removed,) = tucano("prune", mirror, "--keep", "1", "--json").document()["trainings"]
    assert removed == {"training": "grpo", "checkpoints": 1, "blobs": 2, "bytes": 18_012}
    assert [manifest.step for manifest in opened(mirror).manifests()] == [30, 10]
    assert tucano("verify", mirror).returncode == 0
