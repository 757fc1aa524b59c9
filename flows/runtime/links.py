"""Addresses of runs' pages in MLflow, for links on Prefect's pages."""

import os
from typing import Final
from urllib.parse import urlsplit

from flows.runtime.prefect_server import HOST, MLFLOW_PATH
from flows.runtime.session import OWN_SERVER_VARIABLE, running_pages
from schemas.artifact import ArtifactRecord
from schemas.config.config import Config

PAGES_VARIABLE: Final = "MLFLOW_PAGES"
"""Environment variable with MLflow's address in people's browsers, where machines use another one."""
LOOPBACK: Final = frozenset({HOST, "localhost"})


def mlflow_page(record: ArtifactRecord, config: Config) -> str | None:
    """Return the address of the page of the MLflow run that describes an artifact; None where nobody serves one.

    On Prefect's pages of `tucano ui` it is a path, which leads to MLflow's, whatever the ports are on the day when
    somebody follows it. On those of another Prefect server there is no such path: there it is the address of the
    `tucano ui` that serves this state folder now.
    """
    pages = _pages(config)
    return None if record.mlflow_run_id is None or pages is None else f"{pages}/#/runs/{record.mlflow_run_id}"


def _pages(config: Config) -> str | None:
    server = os.environ.get(PAGES_VARIABLE) or config.state.mlflow or ""
    if server.startswith("http"):
        return server.rstrip("/")
    prefect = _local_port(os.environ.get("PREFECT_API_URL", ""))
    if prefect is None:
        return None
    # `tucano ui` shows the runs of a session's own server later.
    if prefect == _local_port(os.environ.get(OWN_SERVER_VARIABLE, "")):
        return MLFLOW_PATH
    pages = running_pages(config.state.root)
    if pages is None:
        return None
    return MLFLOW_PATH if prefect == _local_port(pages.prefect_api) else pages.mlflow


def _local_port(address: str) -> int | None:
    """Return the port of an address on this machine; None of another's."""
    parts = urlsplit(address)
    return parts.port if parts.hostname in LOOPBACK else None


def linked_to_mlflow(text: str, record: ArtifactRecord, config: Config) -> str:
    """Return a Markdown text with a link to the MLflow run that describes an artifact, or with what serves it."""
    if record.mlflow_run_id is None:
        return text
    page = mlflow_page(record, config)
    if page is None:
        return f"{text}\n\n`tucano ui` serves {record.stage} in MLflow, run `{record.mlflow_run_id}`."
    return f"{text}\n\n[{record.stage} in MLflow]({page}): its files, metrics and inputs."


def mlflow_file(record: ArtifactRecord, file: str, experiment_id: str, config: Config) -> str | None:
    """Return the address of a file of an artifact, as MLflow shows it; None where no MLflow run has it."""
    page = mlflow_page(record, config)
    return page and page.replace("/#/runs/", f"/#/experiments/{experiment_id}/runs/") + f"/artifacts/{file}"
