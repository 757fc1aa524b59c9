"""Plan of a forgetting: also a training that never ended, which no artifact tells of, is found by what it sampled."""

import json
from io import BytesIO
from pathlib import Path
from typing import Final

import polars as pl

from flows.stages.removal import trainings_with
from schemas.config.profiles import load_config
from schemas.tables.person import Person
from tasks.checkpoints.address import open_mirror
from tasks.train.dpo.pairs import PreferencePair, Preferences
from tasks.train.resume.rewind import PREFERENCES
from tests.tasks.checkpoints.checkpoint_folders import sealed_folder

THEIRS, OTHERS = "p" * 64, "q" * 64
PERSON: Final = Person(frozenset(), frozenset(), frozenset(), frozenset({THEIRS}))


def pairs_of(prompt: str) -> dict[str, bytes]:
    preferences = Preferences()
    preferences.pairs = [PreferencePair(prompt, "push", "s", "p", "boa", "ruim", 0.5)]
    return {f"{PREFERENCES}.json": json.dumps(preferences.state_dict()).encode()}


def rollouts_of(prompt: str) -> dict[str, bytes]:
    written = BytesIO()
    pl.DataFrame({"prompt_id": [prompt], "completion": ["boa"]}).write_parquet(written)
    return {"rollouts/step-1.parquet": written.getvalue()}


def test_the_pairs_and_rollouts_of_trainings_that_never_ended_are_found(tmp_path: Path) -> None:
    made = {
        "dpo-theirs": pairs_of(THEIRS),
        "dpo-others": pairs_of(OTHERS),
        "grpo-theirs": rollouts_of(THEIRS),
        "grpo-others": rollouts_of(OTHERS),
    }
    for training, files in made.items():
        open_mirror(str(tmp_path / "mirror"), training).publish(sealed_folder(1, files, training=training))
    config = load_config("local", [f"state.root={tmp_path}"])
    assert trainings_with(config, PERSON) == (("dpo-theirs", "grpo-theirs"), ())
