"""Runs in MLflow as others read them: tags that its pages show, logged models, and artifacts of a pipeline's run."""

import json
import os
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from schemas.artifact import ArtifactKind, ArtifactRecord
from schemas.scratch import scratch_folder
from schemas.source import REPOSITORY
from tasks.lineage.mlflow.client import ARTIFACT_TAG, REUSED_PREFIX, USER_VARIABLE, open_client
from tasks.lineage.store.artifacts import RECORD_FILE

MODEL_KINDS: Final[frozenset[ArtifactKind]] = frozenset({"base", "policy"})
"""Artifacts with a logged model in MLflow."""
PREFECT_RUN: Final = "prefect_run_id"
"""Tag of a pipeline's run: the id of its Prefect flow run."""
NOTE: Final = "mlflow.note.content"
"""Tag of the description of a run or an experiment, in Markdown."""
RETRAININGS: Final = "retrainings"
"""Name of the view of the experiment's runs by which retrainings are compared."""
_COLUMNS: Final = (
    *("attributes.`Duration`", "tags.`verdict`", "tags.`profile`"),
    *(f"metrics.`{name}`" for name in ("promoted", "overall.mean_difference", "ground_truth.mean_difference")),
)
EXPERIMENT_TAGS: Final[Mapping[str, str]] = {
    # What MLflow sets where somebody says that an experiment is of models, and not of an agent.
    "mlflow.experimentKind": "custom_model_development",
    NOTE: "A run here is a retraining or a monitoring, and a run in it a stage. Of retrainings compare `promoted`, "
    "`overall.mean_difference`, the tasks' `mean_difference` and `ground_truth.mean_difference`.",
    # As MLflow keeps a view that somebody shares; its table shows no metric otherwise.
    f"mlflow.sharedViewState.{RETRAININGS}": json.dumps({"selectedColumns": _COLUMNS}),
}


@cache
def origin_tags() -> Mapping[str, str]:
    """Return who started this process's runs, with what, and the commit of the code where there is a repository."""
    from mlflow.utils.git_utils import get_git_commit
    from mlflow.utils.mlflow_tags import MLFLOW_GIT_COMMIT, MLFLOW_SOURCE_NAME, MLFLOW_SOURCE_TYPE, MLFLOW_USER

    tags = {MLFLOW_SOURCE_NAME: "tucano", MLFLOW_SOURCE_TYPE: "LOCAL"}
    # An installed wheel may lie inside of another project's repository.
    if (REPOSITORY / ".git").exists() and (commit := get_git_commit(str(REPOSITORY))) is not None:
        tags[MLFLOW_GIT_COMMIT] = commit
    # No login name, which is a person's: only who the server is told anyway.
    if (user := os.environ.get(USER_VARIABLE)) is not None:
        tags[MLFLOW_USER] = user
    return tags


def find_logged_model(client: Any, experiment_id: str, sha256: str) -> str | None:
    """Return the id of an artifact's logged model in an experiment; None without one."""
    found = client.search_logged_models([experiment_id], filter_string=f"tags.{ARTIFACT_TAG} = '{sha256}'")
    # A model left incomplete by a kill is not ready; MLflow's search cannot filter by status name.
    return next((str(model.model_id) for model in found if model.status == "READY"), None)


def log_model(client: Any, run_id: str, record: ArtifactRecord) -> str:
    """Return the id of an artifact's logged model, created if new.

    Its weights stay in the artifact store; MLflow gets the record.
    """
    experiment_id = client.get_run(run_id).info.experiment_id
    known = find_logged_model(client, experiment_id, record.sha256)
    if known is not None:
        return known
    tags = {ARTIFACT_TAG: record.sha256}
    model = client.create_logged_model(experiment_id, record.kind, run_id, tags, model_type=record.kind)
    with scratch_folder() as folder:
        (folder / RECORD_FILE).write_text(record.model_dump_json(indent=1), encoding="utf-8")
        client.log_model_artifacts(model.model_id, str(folder))
    client.finalize_logged_model(model.model_id, "READY")
    return str(model.model_id)


def artifacts_of_run(tracking_uri: str, experiment: str, run_id: str) -> Sequence[str]:
    """Return the sha256 of each artifact of a pipeline's run, by MLflow's or Prefect's id; empty if unknown.

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
