"""Links from Prefect's pages to MLflow's: to a server of its own, or by a path that holds whatever the ports are."""

from datetime import UTC, datetime

import pytest

from flows.runtime.links import PAGES_VARIABLE, linked_to_mlflow, mlflow_page
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
LOCAL = "http://127.0.0.1:4711/api"


@pytest.mark.parametrize(
    ("prefect", "pages", "mlflow", "link"),
    [
        (LOCAL, "", None, f"/mlflow/#/runs/{'f' * 32}"),
        (LOCAL, "", "sqlite:////elsewhere/mlflow.db", f"/mlflow/#/runs/{'f' * 32}"),
        (LOCAL, "", "http://mlflow:5000/", f"http://mlflow:5000/#/runs/{'f' * 32}"),
        (
            "http://prefect:4200/api",
            "http://seen.by.people",
            "http://mlflow:5000",
            f"http://seen.by.people/#/runs/{'f' * 32}",
        ),
        ("http://prefect:4200/api", "", None, None),
        ("", "", None, None),
    ],
)
def test_a_link_leads_to_where_the_run_is_served(
    prefect: str, pages: str, mlflow: str | None, link: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", prefect)
    monkeypatch.setenv(PAGES_VARIABLE, pages)
    config = load_config("local", [f"state.mlflow={mlflow}"] if mlflow else [])
    assert mlflow_page(RECORD, config) == link
    assert linked_to_mlflow("text", RECORD, config).startswith("text")
    assert (str(link) in linked_to_mlflow("text", RECORD, config)) == (link is not None)
