"""The chain around its stages."""

import json
from pathlib import Path

from flows.retrain import compared_settings
from schemas.config.profiles import load_config


def test_no_file_or_folder_is_among_the_settings_that_retrainings_are_compared_by(tmp_path: Path) -> None:
    """They bear the names of a machine's users, and two machines never have the same."""
    home = tmp_path / "maria.silva"
    named = [f"{name}={home / name}" for name in ("state.root", "synthesize.logs", "monitor.logs", "policy.name")]
    config = load_config("local", ["policy.stand_in=false", *named])
    compared = compared_settings(config)
    assert "maria.silva" not in json.dumps(compared)
    assert compared["train"]["max_steps"] == config.train.max_steps
    assert compared["synthesize"]["counts"] == config.synthesize.counts
    assert compared["evaluate"]["floors"] == config.evaluate.floors
