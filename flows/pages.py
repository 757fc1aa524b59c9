"""Where a run's page in MLflow is, for the links on Prefect's pages."""

from typing import Final

from schemas.artifact import ArtifactRecord
from schemas.config import Config

LOCAL_PAGES: Final = "http://127.0.0.1:5000"
"""Where `tucano ui` serves MLflow's pages unless told otherwise."""


def linked_to_mlflow(text: str, record: ArtifactRecord, config: Config) -> str:
    """Return a Markdown text with a link to the MLflow run that describes an artifact, where there is one."""
    if record.mlflow_run_id is None:
        return text
    server = config.state.mlflow or ""
    base = server.rstrip("/") if server.startswith("http") else LOCAL_PAGES
    return f"{text}\n\n[{record.stage} in MLflow]({base}/#/runs/{record.mlflow_run_id}): its files, metrics and inputs."
