"""Pipeline runs in MLflow: the artifacts that each made or reused."""

from collections.abc import Sequence
from typing import Final

from tasks.lineage.mlflow.client import ARTIFACT_TAG, REUSED_PREFIX, open_client

PREFECT_RUN: Final = "prefect_run_id"
"""Tag of a pipeline's run: the id of its Prefect flow run."""


def artifacts_of_run(tracking_uri: str, experiment: str, run_id: str) -> Sequence[str]:
    """Return the sha256 of each artifact of a pipeline's run, by MLflow's or Prefect's id; empty if unknown.

    Args:
        tracking_uri: MLflow's store.
        experiment: Name of the experiment of pipeline runs.
        run_id: 32 hexadecimal digits of MLflow's, or a UUID of Prefect's.

    Raises:
        InputError: The store cannot be opened.
    """
    from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

    client = open_client(tracking_uri)
    known = client.get_experiment_by_name(experiment)
    if known is None:
        return ()
    own = f"attributes.run_id = '{run_id}'" if "-" not in run_id else f"tags.{PREFECT_RUN} = '{run_id}'"
    found: list[str] = []
    for pipeline in client.search_runs([known.experiment_id], own):
        stages = client.search_runs([known.experiment_id], f"tags.`{MLFLOW_PARENT_RUN_ID}` = '{pipeline.info.run_id}'")
        found += [sha256 for tag, sha256 in pipeline.data.tags.items() if tag.startswith(REUSED_PREFIX)]
        found += [stage.data.tags[ARTIFACT_TAG] for stage in stages if ARTIFACT_TAG in stage.data.tags]
    return tuple(dict.fromkeys(found))
