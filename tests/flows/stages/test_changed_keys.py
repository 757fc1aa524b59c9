"""A state folder from before is warned once that keys have changed, and keeps all that it holds."""

from pathlib import Path

import pytest

from flows.runtime.stores import open_store
from flows.stages.changed_keys import warn_of_changed_keys
from schemas.artifact import ArtifactKind
from schemas.config.config import Config
from schemas.config.profiles import load_config
from tests.small_pipeline import PROFILE


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return load_config(str(PROFILE), [f"state.root={tmp_path}"])


def make(config: Config, kind: ArtifactKind, source: str) -> None:
    store = open_store(config)
    with store.draft() as draft:
        (draft / "file").write_text(kind, encoding="utf-8")
        store.commit(
            draft,
            kind=kind,
            stage=kind,
            code_version="c",
            config_digest="d",
            inputs={},
            sources={source: "0" * 64},
        )


def test_an_old_state_folder_is_reported_in_one_sentence_and_once(
    config: Config, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind in ("dataset", "policy"):
        make(config, kind, "tasks/curate/stage.py")
    make(config, "prompts", "tasks.synthesize.stage")
    warn_of_changed_keys(config)
    said = " ".join(capsys.readouterr().err.split())
    assert "keys have changed" in said
    assert "so that dataset, policy are made again, once" in said
    assert "prompts" not in said
    assert [len(open_store(config).records(kind)) for kind in ("prompts", "dataset", "policy")] == [1, 1, 1]
    warn_of_changed_keys(config)
    assert capsys.readouterr().err == ""


def test_a_new_state_folder_is_warned_of_nothing(config: Config, capsys: pytest.CaptureFixture[str]) -> None:
    warn_of_changed_keys(config)
    make(config, "dataset", "tasks/curate/stage.py")
    warn_of_changed_keys(config)
    assert capsys.readouterr().err == ""
