"""The chain around its stages: libraries load early where something is made, and settings are recorded."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from flows import retrain as chain
from schemas.config.config import Config
from schemas.config.profiles import load_config


def _config(state: Path, *settings: str) -> Config:
    return load_config("local", [f"state.root={state}", *settings])


class _Recorded:
    """In place of MLflow: keeps the settings that it is given."""

    settings: Mapping[str, Any]

    def end_abandoned(self) -> None: ...

    @contextmanager
    def pipeline(self, _name: str, _tags: Mapping[str, str], *, config: Mapping[str, Any]) -> Iterator[str]:
        self.settings = config
        yield "run"


def test_no_file_or_folder_is_among_the_settings_that_retrainings_are_compared_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They bear the names of a machine's users, and two machines never have the same."""
    recorder = _Recorded()
    monkeypatch.setattr(chain, "is_recorded", lambda: True)
    monkeypatch.setattr(chain, "refuse_unfit", lambda _: None)
    monkeypatch.setattr(chain, "_run_name", lambda: "retrain-1")
    monkeypatch.setattr(chain, "add_tags", lambda **_: None)
    monkeypatch.setattr(chain, "open_recorder", lambda _: recorder)
    home = tmp_path / "maria.silva"
    settings = ("synthesize.logs", "monitor.logs", "policy.name")
    config = _config(home, "policy.stand_in=false", *(f"{name}={home / name}" for name in settings))
    with chain._recorded(config):
        assert "maria.silva" not in json.dumps(recorder.settings)
    assert recorder.settings["train"]["max_steps"] == config.train.max_steps
    assert recorder.settings["synthesize"]["counts"] == config.synthesize.counts
    assert recorder.settings["evaluate"]["floors"] == config.evaluate.floors
