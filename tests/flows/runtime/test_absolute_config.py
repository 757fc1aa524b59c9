"""A configuration means the same wherever a worker stands."""

from pathlib import Path

import pytest

from flows.runtime.absolute_config import absolute_config
from schemas.config.profiles import load_config


def test_no_path_of_the_configuration_depends_on_where_a_worker_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    overrides = [
        "state.root=state",
        "state.mirror=mirror",
        "state.artifacts=gs://bucket/prefix",
        "state.mlflow=sqlite:///mlflow.db",
        "audit.sheet=sheet.csv",
        "audit.rollouts=rollouts.jsonl",
        "monitor.logs=logs",
        "policy.stand_in=false",
        "policy.name=models/base",
    ]
    (tmp_path / "models" / "base").mkdir(parents=True)
    config = absolute_config(load_config("local", overrides))
    assert config.state.root == tmp_path / "state"
    assert config.state.mirror == str(tmp_path / "mirror")
    assert config.state.artifacts == "gs://bucket/prefix"
    assert config.state.mlflow == f"sqlite:///{tmp_path / 'mlflow.db'}"
    assert (config.audit.sheet, config.audit.rollouts) == (tmp_path / "sheet.csv", tmp_path / "rollouts.jsonl")
    assert config.monitor.logs == tmp_path / "logs"
    assert config.policy.name == str(tmp_path / "models" / "base")
    assert absolute_config(config) == config


def test_a_name_of_the_hub_stays_as_it_is() -> None:
    config = absolute_config(load_config("l4"))
    assert config.policy.name == "Polygl0t/Tucano2-qwen-0.5B-Instruct"
