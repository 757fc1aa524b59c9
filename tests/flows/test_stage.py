"""A stage's artifact that was damaged is made again, and everything that still stands is skipped."""

from pathlib import Path

import pytest

from tasks.train.grpo import ADAPTER_FOLDER
from tests.small_pipeline import Pipeline, retrain, skipped


@pytest.mark.e2e
def test_a_damaged_policy_is_made_again_from_its_last_checkpoint_as_it_was(pipeline: Pipeline) -> None:
    stage = pipeline.resumed.document["stages"]["train"]
    victim = Path(stage["path"]) / ADAPTER_FOLDER / "adapter_model.safetensors"
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 1
    victim.chmod(0o644)
    victim.write_bytes(content)
    again = retrain(pipeline.root)
    assert "making it again" in again.said
    assert skipped(again.said) == [name for name in pipeline.resumed.document["stages"] if name != "train"]
    assert again.document["stages"]["train"]["sha256"] == stage["sha256"]
