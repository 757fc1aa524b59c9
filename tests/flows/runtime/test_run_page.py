"""The page of a run: tags, and links that lead to where MLflow is served."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from flows.runtime.run_page import PAGES_VARIABLE, linked_to_mlflow, profile_tag
from schemas.artifact import ArtifactRecord
from schemas.config.profiles import load_config

RECORD = ArtifactRecord(
    kind="policy",
    sha256="3" * 64,
    files={},
    stage="train",
    code_version="c",
    config_digest="d",
    inputs={},
    created_at=datetime(2026, 1, 2, tzinfo=UTC),
    machine="laptop",
    mlflow_run_id="f" * 32,
)


@pytest.mark.parametrize("profile", ["l4", "infra/profiles/l4.toml", str(Path("/somebody/l4.toml"))])
def test_a_profile_is_tagged_by_its_name_and_nobodys_path(profile: str) -> None:
    assert profile_tag(profile) == "profile:l4"


@pytest.mark.parametrize(
    ("pages", "mlflow", "link"),
    [
        ("", None, None),
        ("", "http://mlflow:5000/", f"http://mlflow:5000/#/runs/{'f' * 32}"),
        ("http://seen", "http://mlflow:5000", f"http://seen/#/runs/{'f' * 32}"),
    ],
)
def test_a_link_leads_to_where_the_run_is_served(
    pages: str, mlflow: str | None, link: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(PAGES_VARIABLE, pages)
    config = load_config("local", [f"state.mlflow={mlflow}"] if mlflow else [])
    assert (f"]({link})" if link else "`tucano ui` serves") in linked_to_mlflow("text", RECORD, config)
