"""Traces of a run: answers to a prompt, with scores or judgements as assessments.

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
EMPTY: Final = "(resposta vazia)"
CUT_OFF: Final = "\\\n(o texto continua: leia o resto em “View full trace”)"

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

    Args:
        tracking_uri: MLflow's store.
        run_id: The run.
        scorer: Name of what gave the scores, shown as their source.
        answers: The answers.

    Raises:
        InputError: MLflow cannot be used.
    """
    from mlflow.entities import AssessmentSource, Expectation, Feedback

    source = AssessmentSource(source_type="CODE", source_id=scorer)
    write_traces(
        tracking_uri,
        run_id,
        [
            Trace(
                name=f"{answer.task}: {answer.model}",
                prompt=answer.prompt,
                answer=answer.completion,
                outputs={
                    "completion": answer.completion,
                    "choices": [{"message": {"role": "assistant", "content": as_preview(answer.completion)}}],
                },
                tags={"task": answer.task, "model": answer.model, "prompt_id": answer.prompt_id},
                assessments=[
                    *(Feedback(name=name, value=value, source=source) for name, value in answer.scores.items()),
                    *(
                        Expectation(name="reference", value=known, source=source)
                        for known in [answer.reference]
                        if known is not None
                    ),
                ],
            )
            for answer in answers
        ],
    )


@dataclass(frozen=True)
class Trace:
    """A trace of one span."""

    name: str
    prompt: str
    answer: str
    """Shown in the table of traces as it is."""
    outputs: Mapping[str, Any]
    """The span's outputs: JSON values."""
    tags: Mapping[str, str]
    assessments: Sequence[Any]
    """MLflow's feedback and expectations."""


def write_traces(tracking_uri: str, run_id: str, traces: Sequence[Trace]) -> None:
    """Write traces to a run; their order on the page is theirs here.

    Raises:
        InputError: MLflow cannot be used.
    """
    from mlflow.tracing.client import TracingClient

    with answered(tracking_uri):
        experiment = str(open_client(tracking_uri).get_run(run_id).info.experiment_id)
        tracing = TracingClient(tracking_uri)
        # The page shows the newest trace first.
        first = milliseconds_now()
        made = [
            _as_mlflow(trace, f"{run_id} {place}", run_id, experiment, first - place)
            for place, trace in enumerate(traces)
        ]
        for info, _ in made:
            tracing.start_trace(info)
        for start in range(0, len(made), _SPANS_AT_ONCE):
            tracing.log_spans(experiment, [span for _, span in made[start : start + _SPANS_AT_ONCE]])


def _as_mlflow(trace: Trace, key: str, run_id: str, experiment: str, time: int) -> tuple[Any, Any]:
    """Return MLflow's trace without its span, and the span."""
    from mlflow.entities import Span, TraceInfo, TraceLocation, TraceState
    from mlflow.tracing.constant import SpanAttributeKey, TraceMetadataKey, TraceTagKey

    identity = hashlib.sha256(key.encode()).hexdigest()[:32]
    trace_id = f"tr-{identity}"
    for assessment in trace.assessments:
        assessment.trace_id = trace_id
    info = TraceInfo(
        trace_id=trace_id,
        trace_location=TraceLocation.from_experiment_id(experiment),
        request_time=time,
        state=TraceState.OK,
        execution_duration=0,
        request_preview=trace.prompt[:PREVIEW_CHARACTERS],
        response_preview=trace.answer[:PREVIEW_CHARACTERS],
        trace_metadata={TraceMetadataKey.SOURCE_RUN: run_id},
        tags={TraceTagKey.TRACE_NAME: trace.name, **trace.tags},
        assessments=list(trace.assessments),
    )
    # A trace's own page reads messages as Markdown; the table shows previews as they are.
    asked = {"messages": [{"role": "user", "content": as_preview(trace.prompt)}]}
    attributes = {
        SpanAttributeKey.REQUEST_ID: trace_id,
        SpanAttributeKey.INPUTS: {"prompt": trace.prompt, **asked},
        SpanAttributeKey.OUTPUTS: trace.outputs,
    }
    span = {
        "name": trace.name,
        "trace_id": b64encode(bytes.fromhex(identity)).decode(),
        "span_id": b64encode(bytes.fromhex(identity[:16])).decode(),
        "parent_span_id": "",
        "start_time_unix_nano": time * 1_000_000,
        "end_time_unix_nano": time * 1_000_000,
        "status": {"code": "STATUS_CODE_OK"},
        "attributes": {name: json.dumps(value) for name, value in attributes.items()},
    }
    return info, Span.from_dict(span)


def as_preview(text: str) -> str:
    """Write a text so that MLflow's review page shows it literally, and not as Markdown or JSON.

    Each line is a code span, since those wrap and are shown literally; a long text is truncated with a note.
    """
    whole = _as_code(text)
    if len(whole) <= PREVIEW_CHARACTERS:
        return whole
    kept = text[:PREVIEW_CHARACTERS]
    while len(_as_code(kept)) > PREVIEW_CHARACTERS - len(CUT_OFF):
        kept = kept[: len(kept) * 9 // 10]
    return _as_code(kept) + CUT_OFF


def _as_code(text: str) -> str:
    lines = text.rstrip("\n").split("\n")
    return "\\\n".join(_as_code_span(line) for line in lines) if any(lines) else EMPTY


def _as_code_span(line: str) -> str:
    if not line:
        return ""
    runs = {len(run) for run in re.findall("`+", line)}
    fence = "`" * next(length for length in range(1, len(runs) + 2) if length not in runs)
    # Markdown strips one space off each end, if there is one at both.
    padded = line.startswith("`") or line.endswith("`") or (line[0] == line[-1] == " " and line.strip(" "))
    return f"{fence} {line} {fence}" if padded else f"{fence}{line}{fence}"
