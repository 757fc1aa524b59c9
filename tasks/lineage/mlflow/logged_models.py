"""MLflow's logged models: one for each base and policy, which stages create, read and register."""

from typing import Any, Final

from schemas.artifact import ArtifactKind, ArtifactRecord
from schemas.scratch import scratch_folder
from tasks.lineage.mlflow.client import ARTIFACT_TAG
from tasks.lineage.store.artifacts import RECORD_FILE

MODEL_KINDS: Final[frozenset[ArtifactKind]] = frozenset({"base", "policy"})


def find_logged_model(client: Any, experiment_id: str, sha256: str) -> str | None:
    """Return the id of an artifact's logged model in an experiment; None without one."""
    found = client.search_logged_models([experiment_id], filter_string=f"tags.{ARTIFACT_TAG} = '{sha256}'")
    # A model left incomplete by a kill is not ready; MLflow's search cannot filter by status name.
    return next((str(model.model_id) for model in found if model.status == "READY"), None)


def log_model(client: Any, run_id: str, record: ArtifactRecord) -> str:
    """Return the id of an artifact's logged model, created if new.

    Its weights stay in the artifact store; MLflow gets the record.

    Args:
        client: MLflow's.
        run_id: The run that made it.
        record: A base or a policy.
    """
    experiment_id = client.get_run(run_id).info.experiment_id
    known = find_logged_model(client, experiment_id, record.sha256)
    if known is not None:
        return known
    model = client.create_logged_model(
        experiment_id,
        name=record.kind,
        source_run_id=run_id,
        tags={ARTIFACT_TAG: record.sha256},
        model_type=record.kind,
    )
    with scratch_folder() as folder:
        (folder / RECORD_FILE).write_text(record.model_dump_json(indent=1), encoding="utf-8")
        client.log_model_artifacts(model.model_id, str(folder))
    client.finalize_logged_model(model.model_id, "READY")
    return str(model.model_id)
