"""Links from Prefect's pages to MLflow's: to a server of its own, or by a path that holds whatever the ports are."""

from datetime import UTC, datetime

import pytest

from flows.runtime import links
from flows.runtime.links import PAGES_VARIABLE, linked_to_mlflow, mlflow_page
from flows.runtime.session import OWN_SERVER_VARIABLE, Pages
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
FOREIGN = "http://127.0.0.1:4200/api"


@pytest.mark.parametrize(
    ("prefect", "pages", "mlflow", "link"),
    [
        (LOCAL, "", None, f"/mlflow/#/runs/{'f' * 32}"),
        (LOCAL, "", "sqlite:////elsewhere/mlflow.db", f"/mlflow/#/runs/{'f' * 32}"),
        # Somebody else's Prefect server on this machine has no such path.
        (FOREIGN, "", None, None),
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
    monkeypatch.setenv(OWN_SERVER_VARIABLE, LOCAL)
    monkeypatch.setenv(PAGES_VARIABLE, pages)
    monkeypatch.setattr(links, "running_pages", lambda root: None)
    config = load_config("local", [f"state.mlflow={mlflow}"] if mlflow else [])
    assert mlflow_page(RECORD, config) == link
    assert linked_to_mlflow("text", RECORD, config).startswith("text")
    assert (f"]({link})" in linked_to_mlflow("text", RECORD, config)) == (link is not None)
    assert ("`tucano ui` serves" in linked_to_mlflow("text", RECORD, config)) == (link is None)


@pytest.mark.parametrize(
    ("prefect", "pages"),
    [("http://localhost:4299/api", "/mlflow"), (FOREIGN, "http://127.0.0.1:5099"), ("http://prefect:4200/api", None)],
)
def test_beside_a_foreign_prefect_server_a_link_leads_to_the_ports_of_this_folders_pages(
    prefect: str, pages: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", prefect)
    monkeypatch.delenv(PAGES_VARIABLE, raising=False)
    served = Pages(prefect_api="http://127.0.0.1:4299/api", mlflow="http://127.0.0.1:5099")
    monkeypatch.setattr(links, "running_pages", lambda root: served)
    assert mlflow_page(RECORD, load_config("local")) == (pages and f"{pages}/#/runs/{'f' * 32}")
