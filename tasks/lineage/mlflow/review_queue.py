"""MLflow's review queues: completions that people score in its pages, and the answers that they gave.

A completion is one trace, whose id its identity decides: publishing again finds what is there. The page shows no input
and output of a trace but their previews, which are the messages of a chat, as Markdown. So a message stands beside each
text, in Markdown that looks like the text itself, whatever is in it.
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

from schemas.errors import InputError
from schemas.progress import Progress
from tasks.lineage.mlflow_client import SQLITE_PREFIX, milliseconds_now, shown_address
from tasks.lineage.recorder import Recorder

# MLflow tries for minutes to reach a server that is not there.
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")

INSTRUCTION_CHARACTERS: Final = 1000
"""MLflow takes no longer instruction."""
PREVIEW_CHARACTERS: Final = 1000
"""The column of a preview holds no more on a server's database."""
EMPTY: Final = "(resposta vazia)"
CUT_OFF: Final = "\\\n(o texto continua: leia o resto em “View full trace”)"

_TRACES_AT_ONCE: Final = 100
_TRACES_A_PAGE: Final = 500
_RATER_TAG: Final = "audit.rater."


@dataclass(frozen=True)
class Completion:
    """What is scored."""

    audit_id: str
    """Its identity."""
    task: str
    """The prompt's task."""
    prompt: str
    """The question."""
    text: str
    """The answer: hostile text."""


@dataclass(frozen=True)
class Question:
    """What is asked of whoever scores."""

    title: str
    """What the page shows in bold; the answers go by it."""
    instruction: str
    """How to score, as plain text: the page shows no Markdown and no line breaks here."""
    options: tuple[str, ...]
    """The answers to choose from."""


@dataclass(frozen=True)
class Answer:
    """What a person answered on a completion."""

    audit_id: str
    """The completion."""
    title: str
    """The title of the question."""
    rater: str
    """Who answered: a digest, for MLflow knows people by name or e-mail."""
    value: object
    """The answer, of whatever type."""
    notes: str
    """The comment."""
    given_at: int
    """When it was given, in milliseconds."""
    changed_at: int
    """When it was last changed, in milliseconds."""
    holds: bool
    """Whether no later answer overrides it."""


@dataclass(frozen=True)
class Answers:
    """All answers on some completions."""

    published: int
    """How many of the completions are in MLflow."""
    of_people: tuple[Answer, ...]
    """What people answered, to whatever question."""
    of_others: int
    """How many answers judges and programs gave."""


@contextmanager
def review_store(tracking_uri: str, artifact_root: Path | None, experiment: str) -> Iterator["ReviewStore"]:
    """Open the review queues of one experiment; arguments as in `Recorder`.

    Raises:
        InputError: The store cannot be opened, or MLflow refused something in the block.
    """
    from mlflow.exceptions import MlflowException

    try:
        yield ReviewStore(tracking_uri, artifact_root, experiment)
    except MlflowException as error:
        # MLflow's own message may quote a row.
        raise InputError(
            f"MLflow at {shown_address(tracking_uri)} did not do as asked ({error.error_code}); see that it runs and "
            "that you may write there, then run the same command again: it goes on from what is done"
        ) from error


class ReviewStore:
    """The completions, questions and queues of one MLflow experiment; `review_store` opens it."""

    def __init__(self, tracking_uri: str, artifact_root: Path | None, experiment: str) -> None:
        """Open the store; arguments as in `Recorder`."""
        # Makes the experiment where it is new.
        Recorder(tracking_uri, artifact_root, experiment)

        import mlflow
        from mlflow.tracing.client import TracingClient

        # Label schemas and review queues are made in the store that the process is set to.
        mlflow.set_tracking_uri(tracking_uri)
        self._uri = tracking_uri
        self._client = mlflow.MlflowClient(tracking_uri)
        self._tracing = TracingClient(tracking_uri)
        self._experiment_id: str = self._client.get_experiment_by_name(experiment).experiment_id

    @property
    def where(self) -> str:
        """Tell a person where the queues are."""
        page = f"/#/experiments/{self._experiment_id}/review-queue"
        if self._uri.startswith(SQLITE_PREFIX):
            return f"run `tucano ui`, then open {page} at MLflow's address"
        return f"open {shown_address(self._uri)}{page}"

    def publish(self, completions: Sequence[Completion], sheet: str, progress: Progress) -> int:
        """Make a trace of each completion that has none, and return how many were made.

        Args:
            completions: What is to be scored, in the order in which the page shows it.
            sheet: Identity of the sheet, for a tag.
            progress: Told of each trace.
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

    def publish_queue(self, name: str, question: Question, completions: Sequence[Completion]) -> str:
        """Ask a question about published completions in a queue, made where it is new; return the queue's id."""
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

    def answers(self, completions: Sequence[Completion]) -> Answers:
        """Return what was answered on some completions, whichever sheet they were published with."""
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
        return Answers(len(published), of_people, len(given) - len(of_people))

    def pseudonyms(self) -> dict[str, str]:
        """Return the pseudonym of each rater that has one in this experiment."""
        tags = self._client.get_experiment(self._experiment_id).tags
        return {rater: name.removeprefix(_RATER_TAG) for name, rater in tags.items() if name.startswith(_RATER_TAG)}

    def keep_pseudonym(self, rater: str, pseudonym: str) -> None:
        """Keep the pseudonym of a rater, for the next time that answers are read."""
        self._client.set_experiment_tag(self._experiment_id, f"{_RATER_TAG}{pseudonym}", rater)

    def _schema_id(self, question: Question) -> str:
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
        """Return what MLflow knows of the experiment's audited completions, by trace id."""
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

    def _trace_id(self, completion: Completion) -> str:
        return f"tr-{_digest(self._experiment_id, completion.audit_id)[:32]}"


def as_preview(text: str) -> str:
    """Write a text so that MLflow's review page shows it as it is, and not as the Markdown or JSON that it may be.

    Each line is a code span, for those wrap and are shown to the letter; a longer text is cut off, and says so.
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
    # Markdown takes one space off each end, where there is one at both.
    padded = line.startswith("`") or line.endswith("`") or (line[0] == line[-1] == " " and line.strip(" "))
    return f"{fence} {line} {fence}" if padded else f"{fence}{line}{fence}"


def _as_span(completion: Completion, trace_id: str, time: int, sheet: str) -> Any:
    """Return the one span that a trace is of, begun at a time in milliseconds."""
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


def _as_answer(audit_id: str, assessment: Any) -> Answer:
    return Answer(
        audit_id=audit_id,
        title=assessment.name,
        # MLflow takes names that differ in capitals for one person.
        rater=_digest(assessment.source.source_id.strip().lower())[:16],
        value=assessment.feedback.value,
        notes=assessment.rationale or "",
        given_at=assessment.create_time_ms,
        changed_at=assessment.last_update_time_ms,
        holds=assessment.valid is not False,
    )


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
