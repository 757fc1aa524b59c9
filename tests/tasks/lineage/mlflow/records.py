"""Records of artifacts that MLflow is told of."""

import hashlib
import json
from base64 import b64encode
from datetime import UTC, datetime

from schemas.artifact import ArtifactKind, ArtifactRecord
from tasks.lineage.mlflow.client import open_client


def artifact(kind: ArtifactKind, letter: str) -> ArtifactRecord:
    return ArtifactRecord(
        kind=kind,
        sha256=letter * 64,
        files={"a.txt": "f" * 64},
        stage="stage",
        code_version="c",
        config_digest="d",
        inputs={},
        created_at=datetime(2026, 1, 2, tzinfo=UTC),
        machine="laptop",
    )


def write_trace(uri: str, run_id: str, answer: str) -> None:
    """Write a trace of an answer to a run, as earlier versions did."""
    from mlflow.entities import AssessmentSource, Feedback, Span, TraceInfo, TraceLocation, TraceState
    from mlflow.tracing.client import TracingClient

    experiment, tracing = str(open_client(uri).get_run(run_id).info.experiment_id), TracingClient(uri)
    identity = hashlib.sha256(run_id.encode()).hexdigest()[:32]
    feedback = Feedback(name="reward", value=0.5, source=AssessmentSource(source_type="CODE", source_id="reward"))
    feedback.trace_id = f"tr-{identity}"
    tracing.start_trace(
        TraceInfo(
            trace_id=f"tr-{identity}",
            trace_location=TraceLocation.from_experiment_id(experiment),
            request_time=1,
            state=TraceState.OK,
            response_preview=answer,
            trace_metadata={"mlflow.sourceRun": run_id},
            assessments=[feedback],
        )
    )
    span = {
        "name": "push",
        "trace_id": b64encode(bytes.fromhex(identity)).decode(),
        "span_id": b64encode(bytes.fromhex(identity[:16])).decode(),
        "parent_span_id": "",
        "start_time_unix_nano": 1,
        "end_time_unix_nano": 1,
        "status": {"code": "STATUS_CODE_OK"},
        "attributes": {
            "mlflow.traceRequestId": json.dumps(f"tr-{identity}"),
            "mlflow.spanOutputs": json.dumps({"completion": answer}),
        },
    }
    tracing.log_spans(experiment, [Span.from_dict(span)])
