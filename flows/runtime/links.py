"""Addresses of runs' pages in MLflow, for links on Prefect's pages."""

import os
from typing import Final
from urllib.parse import urlsplit

from flows.runtime.prefect_server import HOST, MLFLOW_PATH
from schemas.artifact import ArtifactRecord
from schemas.config.config import Config

PAGES_VARIABLE: Final = "MLFLOW_PAGES"
"""Environment variable with MLflow's address in people's browsers, where machines use another one."""
LOOPBACK: Final = frozenset({HOST, "localhost"})


def mlflow_page(record: ArtifactRecord, config: Config) -> str | None:
    """Return the address of the page of the MLflow run that describes an artifact; None where nobody serves one.

    Beside Prefect's pages of `tucano ui` it is a path on them, which leads to MLflow's, whatever the ports are on the
    day when somebody follows it.
    """
    pages = _pages(config)
    return None if record.mlflow_run_id is None or pages is None else f"{pages}/#/runs/{record.mlflow_run_id}"


def _pages(config: Config) -> str | None:
    server = os.environ.get(PAGES_VARIABLE) or config.state.mlflow or ""
    if server.startswith("http"):
        return server.rstrip("/")
    # A session's own server is on loopback, and `tucano ui` shows its runs later.
    prefect = urlsplit(os.environ.get("PREFECT_API_URL", ""))
    return MLFLOW_PATH if prefect.hostname in LOOPBACK else None


def linked_to_mlflow(text: str, record: ArtifactRecord, config: Config) -> str:
    """Return a Markdown text with a link to the MLflow run that describes an artifact, where there is one."""
    page = mlflow_page(record, config)
    return f"{text}\n\n[{record.stage} in MLflow]({page}): its files, metrics and inputs." if page else text


def mlflow_file(record: ArtifactRecord, file: str, experiment_id: str, config: Config) -> str | None:
    """Return the address of a file of an artifact, as MLflow shows it; None where no MLflow run has it."""
    page = mlflow_page(record, config)
    return page and page.replace("/#/runs/", f"/#/experiments/{experiment_id}/runs/") + f"/artifacts/{file}"
