"""MLflow review queues: completions that people score in its pages, and their answers.

A completion is one trace, whose id derives from its identity: publishing again finds the existing one. The page shows
only the previews of a trace's input and output, which are chat messages, as Markdown. So a message stands beside each
text, in Markdown that renders as the literal text, whatever it contains.
"""

import hashlib
import json
import os
import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from schemas.progress import Progress
from tasks.lineage.mlflow.client import SQLITE_PREFIX, in_one_sentence, milliseconds_now, shown_address
from tasks.lineage.mlflow.recorder import Recorder

# MLflow tries for minutes to reach a server that is not there.
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")

INSTRUCTION_CHARACTERS: Final = 1000
"""MLflow's limit on an instruction."""
PREVIEW_CHARACTERS: Final = 1000
"""Size of the preview column in a server's database."""
EMPTY: Final = "(resposta vazia)"
CUT_OFF: Final = "\\\n(o texto continua: leia o resto em “View full trace”)"

_TRACES_AT_ONCE: Final = 100
_TRACES_A_PAGE: Final = 500
_RATER_TAG: Final = "audit.rater."


@dataclass(frozen=True)
class QueuedCompletion:
    """Completion to score."""

    audit_id: str
    """Its identity."""
    task: str
    """The prompt's task."""
    prompt: str
    """The question."""
    text: str
    """The answer: hostile text."""


@dataclass(frozen=True)
class RaterQuestion:
    """Question to the rater."""

    title: str
    """Bold title on the page, and name of the answers."""
    instruction: str
    """Scoring instruction, as plain text: the page shows no Markdown and no line breaks here."""
    options: tuple[str, ...]
    """The answers to choose from."""


@dataclass(frozen=True)
class RaterAnswer:
    """Answer of a person on a completion."""

    audit_id: str
    """The completion."""
    title: str
    """The title of the question."""
    rater: str
    """Digest of the rater: MLflow knows people by name or e-mail."""
    value: object
    """The answer, of any type."""
    notes: str
    """The comment."""
    given_at: int
    """Time when it was given, in milliseconds."""
    changed_at: int
    """Time when it was last changed, in milliseconds."""
    holds: bool
    """Whether no later answer overrides it."""


@dataclass(frozen=True)
class RaterAnswers:
    """All answers on some completions."""

    published: int
    """Number of the completions in MLflow."""
    of_people: tuple[RaterAnswer, ...]
    """People's answers, to any question."""
    of_others: int
    """Number of answers by judges and programs."""


@contextmanager
def review_store(tracking_uri: str, artifact_root: Path | None, experiment: str) -> Iterator["ReviewStore"]:
    """Open the review queues of one experiment; arguments as in `Recorder`.

    Raises:
        InputError: The store cannot be opened, or MLflow refused something in the block.
    """
    with in_one_sentence(tracking_uri):
        yield ReviewStore(tracking_uri, artifact_root, experiment)


class ReviewStore:
    """Completions, questions and queues of one MLflow experiment; opened by `review_store`."""

    def __init__(self, tracking_uri: str, artifact_root: Path | None, experiment: str) -> None:
        """Open the store; arguments as in `Recorder`."""
        # Creates the experiment if new.
        Recorder(tracking_uri, artifact_root, experiment)

        import mlflow
        from mlflow.tracing.client import TracingClient

        # Label schemas and review queues are created in the store that the process is set to.
        mlflow.set_tracking_uri(tracking_uri)
        self._uri = tracking_uri
        self._client = mlflow.MlflowClient(tracking_uri)
        self._tracing = TracingClient(tracking_uri)
        self._experiment_id: str = self._client.get_experiment_by_name(experiment).experiment_id

    @property
    def where(self) -> str:
        """Return the location of the queues, for people."""
        page = f"/#/experiments/{self._experiment_id}/review-queue"
        if self._uri.startswith(SQLITE_PREFIX):
            return f"run `tucano ui`, then open {page} at MLflow's address"
        return f"open {shown_address(self._uri)}{page}"

    def publish(self, completions: Sequence[QueuedCompletion], sheet: str, progress: Progress) -> int:
        """Create a trace of each completion without one, and return their number.

        Args:
            completions: Completions to score, in display order.
            sheet: Identity of the sheet, for a tag.
            progress: Called for each trace.
        """
        found = self._found()
        places = {self._trace_id(completion): place for place, completion in enumerate(completions)}
        # The page shows the newest trace first.
        firsts = (found[trace_id].request_time + place for trace_id, place in places.items() if trace_id in found)
        first = next(firsts, milliseconds_now())
        missing = [(trace_id, place) for trace_id, place in places.items() if trace_id not in found]
        for start in range(0, len(missing), _TRACES_AT_ONCE):
            progress(len(places) - len(missing) + start, len(places), "completions published")
            spans = [
                _as_span(completions[place], trace_id, first - place, sheet)
                for trace_id, place in missing[start : start + _TRACES_AT_ONCE]
            ]
            self._tracing.log_spans(self._experiment_id, spans)
        progress(len(places), len(places), "completions published")
        return len(missing)

    def publish_queue(self, name: str, question: RaterQuestion, completions: Sequence[QueuedCompletion]) -> str:
        """Ask a question about published completions in a queue, created if new; return the queue's id."""
        from mlflow.exceptions import MlflowException
        from mlflow.genai import review_queues

        schema_id = self._schema_id(question)
        try:
            queue = review_queues.get_review_queue(name=name, experiment_id=self._experiment_id)
        except MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            queue = review_queues.create_review_queue(
                name, queue_type="custom", schema_ids=[schema_id], experiment_id=self._experiment_id
            )
        items = [self._trace_id(completion) for completion in completions]
        review_queues.add_items_to_review_queue(queue.queue_id, item_ids=items)
        return str(queue.queue_id)

    def answers(self, completions: Sequence[QueuedCompletion]) -> RaterAnswers:
        """Return the answers on some completions, from any sheet."""
        found = self._found()
        published = {
            completion.audit_id: found[trace_id]
            for completion in completions
            if (trace_id := self._trace_id(completion)) in found
        }
        given = [
            (audit_id, assessment)
            for audit_id, info in published.items()
            for assessment in info.assessments
            if assessment.feedback is not None
        ]
        of_people = tuple(_as_answer(audit_id, one) for audit_id, one in given if one.source.source_type == "HUMAN")
        return RaterAnswers(len(published), of_people, len(given) - len(of_people))

    def pseudonyms(self) -> dict[str, str]:
        """Return the known pseudonyms by rater."""
        tags = self._client.get_experiment(self._experiment_id).tags
        return {rater: name.removeprefix(_RATER_TAG) for name, rater in tags.items() if name.startswith(_RATER_TAG)}

    def keep_pseudonym(self, rater: str, pseudonym: str) -> None:
        """Store the pseudonym of a rater, for the next reading of answers."""
        self._client.set_experiment_tag(self._experiment_id, f"{_RATER_TAG}{pseudonym}", rater)

    def _schema_id(self, question: RaterQuestion) -> str:
        from mlflow.exceptions import MlflowException
        from mlflow.genai import label_schemas

        try:
            schema = label_schemas.get_label_schema(question.title, experiment_id=self._experiment_id)
        except MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            schema = label_schemas.create_label_schema(
                question.title,
                type="feedback",
                input=label_schemas.InputCategorical(options=list(question.options)),
                instruction=question.instruction,
                enable_comment=True,
                experiment_id=self._experiment_id,
            )
        if schema.instruction != question.instruction:
            label_schemas.update_label_schema(schema.schema_id, instruction=question.instruction)
        return str(schema.schema_id)

    def _found(self) -> dict[str, Any]:
        """Return MLflow's traces of the experiment's audited completions, by trace id."""
        found: dict[str, Any] = {}
        token: str | None = None
        while True:
            page = self._client.search_traces(
                locations=[self._experiment_id],
                filter_string="tags.audit_id != ''",
                max_results=_TRACES_A_PAGE,
                page_token=token,
                include_spans=False,
            )
            found |= {trace.info.trace_id: trace.info for trace in page}
            token = page.token
            if not token:
                return found

    def _trace_id(self, completion: QueuedCompletion) -> str:
        return f"tr-{_digest(self._experiment_id, completion.audit_id)[:32]}"


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


def _as_span(completion: QueuedCompletion, trace_id: str, time: int, sheet: str) -> Any:
    """Return the one span of a trace, begun at a time in milliseconds."""
    from mlflow.entities import Span
    from mlflow.tracing.constant import SpanAttributeKey, TraceTagKey

    identity = trace_id.removeprefix("tr-")
    asked = {"role": "user", "content": as_preview(completion.prompt)}
    answered = {"role": "assistant", "content": as_preview(completion.text)}
    tags = {"audit_id": completion.audit_id, "sheet": sheet, TraceTagKey.TRACE_NAME: completion.task}
    attributes = {
        SpanAttributeKey.REQUEST_ID: trace_id,
        SpanAttributeKey.INPUTS: {"prompt": completion.prompt, "messages": [asked]},
        SpanAttributeKey.OUTPUTS: {"completion": completion.text, "choices": [{"message": answered}]},
        **{f"{SpanAttributeKey.TRACE_TAG_PREFIX}{name}": value for name, value in tags.items()},
    }
    span = {
        "name": completion.task,
        "trace_id": b64encode(bytes.fromhex(identity)).decode(),
        "span_id": b64encode(bytes.fromhex(_digest(identity)[:16])).decode(),
        "parent_span_id": "",
        "start_time_unix_nano": time * 1_000_000,
        "end_time_unix_nano": time * 1_000_000,
        "status": {"code": "STATUS_CODE_OK"},
        "attributes": {name: json.dumps(value) for name, value in attributes.items()},
    }
    return Span.from_dict(span)


def _as_answer(audit_id: str, assessment: Any) -> RaterAnswer:
    return RaterAnswer(
        audit_id=audit_id,
        title=assessment.name,
        # MLflow treats names that differ only in capitals as one person.
        rater=_digest(assessment.source.source_id.strip().lower())[:16],
        value=assessment.feedback.value,
        notes=assessment.rationale or "",
        given_at=assessment.create_time_ms,
        changed_at=assessment.last_update_time_ms,
        holds=assessment.valid is not False,
    )


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
