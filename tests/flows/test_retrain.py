"""The chain around its stages: libraries load early where something is made, and settings are recorded."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from prefect.utilities.callables import parameter_schema

from flows import retrain as chain
from flows.stages import child_pool
from flows.stages.runner import Session, StageResult
from schemas.config.config import Config
from schemas.config.profiles import load_config
from tests.flows.promotable import commit, store_of


class _CurateBegan(Exception):
    pass


@pytest.fixture
def expected(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what has begun to load libraries, in place of it."""
    began: list[str] = []
    monkeypatch.setattr(child_pool, "expect_children", lambda: began.append("libraries"))
    return began


def _until_curate(config: Config, monkeypatch: pytest.MonkeyPatch, *, reused: bool) -> None:
    def end(*_: Any, **__: Any) -> StageResult:
        raise _CurateBegan

    record = commit(config.state.root, "prompts", lambda folder: (folder / "file").write_text("x", encoding="utf-8"))
    made = StageResult(record, store_of(config.state.root).path(record.sha256), 0.0, reused=reused)
    monkeypatch.setattr(chain, "synthesize", lambda *_, **__: made)
    monkeypatch.setattr(chain, "curate", end)
    with pytest.raises(_CurateBegan):
        chain._given_to_training(Session(config, "run"))


def _config(state: Path, *settings: str) -> Config:
    return load_config("local", [f"state.root={state}", *settings])


@pytest.mark.parametrize("reused", [False, True])
def test_new_prompts_let_the_libraries_load_before_curate(
    reused: bool, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second run, which makes nothing again, would wait for seconds of a core."""
    _until_curate(_config(tmp_path), monkeypatch, reused=reused)
    assert expected == ([] if reused else ["libraries"])


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


@pytest.fixture(scope="module")
def form() -> dict[str, Any]:
    return parameter_schema(chain.retrain).model_dump()


def test_the_form_has_every_section_with_what_it_is_for(form: dict[str, Any]) -> None:
    config = form["definitions"]["Config"]["properties"]
    assert list(config) == list(Config.model_fields)
    assert all(field["description"] for field in config.values())


def test_the_form_says_of_every_field_what_it_is(form: dict[str, Any]) -> None:
    fields = {
        f"{section}.{name}": field.get("description")
        for section, declared in form["definitions"].items()
        for name, field in declared.get("properties", {}).items()
    }
    assert "TrainConfig.max_steps" in fields
    assert [name for name, description in fields.items() if not description] == []
