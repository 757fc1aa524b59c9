"""Addresses of runs' pages in MLflow, for links on Prefect's pages."""

import os
from typing import Final

from schemas.artifact import ArtifactRecord
from schemas.config.config import Config

LOCAL_PAGES: Final = "http://127.0.0.1:5000"
"""Default address of MLflow's pages, served by `tucano ui`."""
PAGES_VARIABLE: Final = "MLFLOW_PAGES"
"""Environment variable with MLflow's address in people's browsers, where machines use another one."""


def mlflow_page(record: ArtifactRecord, config: Config) -> str | None:
    """Return the address of the page of the MLflow run that describes an artifact; None where there is none."""
    if record.mlflow_run_id is None:
        return None
    server = os.environ.get(PAGES_VARIABLE) or config.state.mlflow or ""
    base = server.rstrip("/") if server.startswith("http") else LOCAL_PAGES
    return f"{base}/#/runs/{record.mlflow_run_id}"


def linked_to_mlflow(text: str, record: ArtifactRecord, config: Config) -> str:
    """Return a Markdown text with a link to the MLflow run that describes an artifact, where there is one."""
    page = mlflow_page(record, config)
    return f"{text}\n\n[{record.stage} in MLflow]({page}): its files, metrics and inputs." if page else text


def mlflow_file(record: ArtifactRecord, file: str, experiment_id: str, config: Config) -> str | None:
    """Return the address of a file of an artifact, as MLflow shows it; None where no MLflow run has it."""
    page = mlflow_page(record, config)
    return page and page.replace("/#/runs/", f"/#/experiments/{experiment_id}/runs/") + f"/artifacts/{file}"
