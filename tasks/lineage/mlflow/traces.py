"""Traces of a run: answers to a prompt, with scores as assessments.

A trace is written with its assessments at once, and its span with those of many others: one by one, each feedback would
be a write of its own.
"""

import hashlib
import json
import os
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tasks.lineage.mlflow.client import answered, milliseconds_now, open_client

# MLflow tries for minutes to reach a server that is not there.
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")

PREVIEW_CHARACTERS: Final = 1000
"""Size of the preview column in a server's database."""

_SPANS_AT_ONCE: Final = 100


@dataclass(frozen=True)
class TracedAnswer:
    """Answer of a model to a prompt: texts without personal data, but hostile."""

    model: str
    task: str
    prompt_id: str
    prompt: str
    completion: str
    reference: str | None
    """The known right answer, as JSON."""
    scores: Mapping[str, float]
    """Feedback by name, in [0, 1]: the reward first."""


def record_traces(tracking_uri: str, run_id: str, scorer: str, answers: Sequence[TracedAnswer]) -> None:
    """Write a trace of each answer to an open run; their order on the page is theirs here.

    Raises:
        InputError: MLflow cannot be used.
    """
    from mlflow.tracing.client import TracingClient

    with answered(tracking_uri):
        experiment = str(open_client(tracking_uri).get_run(run_id).info.experiment_id)
        tracing = TracingClient(tracking_uri)
        # The page shows the newest trace first.
        first = milliseconds_now()
        traces = [
            _as_trace(answer, scorer, f"{run_id} {place}", run_id, experiment, first - place)
            for place, answer in enumerate(answers)
        ]
        for info, _ in traces:
            tracing.start_trace(info)
        for start in range(0, len(traces), _SPANS_AT_ONCE):
            tracing.log_spans(experiment, [span for _, span in traces[start : start + _SPANS_AT_ONCE]])


def _as_trace(answer: TracedAnswer, scorer: str, key: str, run_id: str, experiment: str, time: int) -> tuple[Any, Any]:
    """Return MLflow's trace without its span, and the span."""
    from mlflow.entities import AssessmentSource, Expectation, Feedback, Span, TraceInfo, TraceLocation, TraceState
    from mlflow.tracing.constant import SpanAttributeKey, TraceMetadataKey, TraceTagKey

    identity = hashlib.sha256(key.encode()).hexdigest()[:32]
    trace_id, name = f"tr-{identity}", f"{answer.task}: {answer.model}"
    source = AssessmentSource(source_type="CODE", source_id=scorer)
    assessments: list[Any] = [Feedback(name=of, value=value, source=source) for of, value in answer.scores.items()]
    if answer.reference is not None:
        assessments.append(Expectation(name="reference", value=answer.reference, source=source))
    for assessment in assessments:
        assessment.trace_id = trace_id
    info = TraceInfo(
        trace_id=trace_id,
        trace_location=TraceLocation.from_experiment_id(experiment),
        request_time=time,
        state=TraceState.OK,
        execution_duration=0,
        request_preview=answer.prompt[:PREVIEW_CHARACTERS],
        response_preview=answer.completion[:PREVIEW_CHARACTERS],
        trace_metadata={TraceMetadataKey.SOURCE_RUN: run_id},
        tags={
            TraceTagKey.TRACE_NAME: name,
            "task": answer.task,
            "model": answer.model,
            "prompt_id": answer.prompt_id,
        },
        assessments=assessments,
    )
    # A trace's own page reads messages as Markdown; the table shows previews as they are.
    asked = {"messages": [{"role": "user", "content": as_code(answer.prompt)}]}
    replied = {"choices": [{"message": {"role": "assistant", "content": as_code(answer.completion)}}]}
    attributes = {
        SpanAttributeKey.REQUEST_ID: trace_id,
        SpanAttributeKey.INPUTS: {"prompt": answer.prompt, **asked},
        SpanAttributeKey.OUTPUTS: {"completion": answer.completion, **replied},
    }
    span = {
        "name": name,
        "trace_id": b64encode(bytes.fromhex(identity)).decode(),
        "span_id": b64encode(bytes.fromhex(identity[:16])).decode(),
        "parent_span_id": "",
        "start_time_unix_nano": time * 1_000_000,
        "end_time_unix_nano": time * 1_000_000,
        "status": {"code": "STATUS_CODE_OK"},
        "attributes": {name: json.dumps(value) for name, value in attributes.items()},
    }
    return info, Span.from_dict(span)


def as_code(text: str) -> str:
    """Return a text as a block of code in Markdown, which shows it literally; no text can end its block."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}\n{text}\n{fence}"
