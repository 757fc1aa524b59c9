"""Scoring in MLflow's review queues: publish a sheet's completions there, and read people's answers back."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from schemas.documents import SheetItem
from schemas.errors import InputError
from schemas.faults import first_few
from schemas.progress import Progress
from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit.rubrics import task_rubric
from tasks.audit.scoring import Rows, change_rows, with_score
from tasks.audit.sheet import audit_id, is_scored, read_rows
from tasks.lineage.mlflow.review_queue import (
    INSTRUCTION_CHARACTERS,
    QueuedCompletion,
    RaterAnswer,
    RaterQuestion,
    review_store,
)

OPTIONS: Final = (
    "5 – serve como está",
    "4 – serve, com um deslize pequeno",
    "3 – serve depois de corrigida",
    "2 – quase não serve",
    "1 – não serve, ou é vazia, recusa ou cópia",
)
IN_DOUBT: Final = "Na dúvida entre duas notas, dê a menor."

_OPTION: Final = re.compile(r"([1-5])( – .*)?")
_ANCHOR: Final = re.compile(r"\A\| *([1-5]) *\| *(.+?) *\|\Z")
_PSEUDONYM: Final = re.compile(r"mlflow-([1-9][0-9]*)")


@dataclass(frozen=True)
class Published:
    """Result of publishing a sheet."""

    new: int
    """Newly published completions."""
    completions: int
    """Completions of the sheet."""
    queues: Mapping[TaskName, str]
    """The id of each task's queue."""
    where: str
    """Location of the queues, in words."""


@dataclass(frozen=True)
class Collected:
    """Result of reading answers back."""

    answers: int
    """Scores that people gave in MLflow."""
    raters: int
    """Number of people who gave them."""
    unscored: int
    """Completions without any score, from there or elsewhere."""
    not_by_people: int
    """Answers of judges and programs, which are left out of the sheet."""


def publish(
    sheet: Path, tracking_uri: str, artifact_root: Path | None, experiment: str, progress: Progress
) -> Published:
    """Publish a sheet's completions to MLflow, with a review queue for each task.

    Existing completions stay unchanged, scored or not; an interrupted publication is completed.

    Args:
        sheet: The sheet's file.
        tracking_uri: MLflow's store, as for the `Recorder`.
        artifact_root: Folder of the runs' files, for a new experiment; None if a server has its own.
        experiment: Name of the experiment.
        progress: Called for each completion.

    Raises:
        InputError: The sheet cannot be read or was edited, a rubric is too long, or MLflow cannot be written.
    """
    completions = _completions(sheet)
    tasks: tuple[TaskName, ...] = tuple(task for task in TASK_NAMES if any(one.task == task for one in completions))
    questions = {task: _question(task) for task in tasks}
    identity = hashlib.sha256("\n".join(sorted(one.audit_id for one in completions)).encode()).hexdigest()[:12]
    with review_store(tracking_uri, artifact_root, experiment) as store:
        new = store.publish(completions, identity, progress)
        queues = {
            task: store.publish_queue(
                f"{task} · auditoria {identity}", question, [one for one in completions if one.task == task]
            )
            for task, question in questions.items()
        }
        return Published(new, len(completions), queues, store.where)


def collect(sheet: Path, tracking_uri: str, artifact_root: Path | None, experiment: str) -> Collected:
    """Read people's answers from MLflow into the sheet, where each person is `mlflow-N`, ordered by first answer.

    The newest answer of a person counts. Answers of judges and programs are left out: an audit asks people.

    Args:
        sheet: The sheet's file.
        tracking_uri: MLflow's store, as for the `Recorder`.
        artifact_root: Folder of the runs' files, for a new experiment; None if a server has its own.
        experiment: Name of the experiment.

    Raises:
        InputError: The sheet cannot be read or written or was edited, none of it was published, or an answer is no
            score; then the sheet stays unchanged.
    """
    completions = _completions(sheet)
    titles = {one.audit_id: _title(one.task) for one in completions}
    with review_store(tracking_uri, artifact_root, experiment) as store:
        found = store.answers(completions)
        if not found.published:
            raise InputError(
                f"nothing of sheet {sheet} is in MLflow's experiment {experiment}; publish it with "
                f"`tucano audit publish {sheet}`"
            )
        asked = [answer for answer in found.of_people if answer.title == titles[answer.audit_id]]
        asked.sort(key=lambda answer: answer.given_at)
        newest = _newest(asked)
        scores = _scores(sheet, newest)

        def scored(rows: Rows) -> Rows:
            pseudonyms = store.pseudonyms()
            for rater, pseudonym in _new_pseudonyms(asked, pseudonyms, rows).items():
                store.keep_pseudonym(rater, pseudonym)
                pseudonyms[rater] = pseudonym
            for answer, score in zip(newest, scores, strict=True):
                rows = with_score(rows, answer.audit_id, pseudonyms[answer.rater], "human", score, answer.notes)
            return rows

        rows = change_rows(sheet, scored)
    with_scores = {row["audit_id"] for row in rows if is_scored(row)}
    return Collected(
        answers=len(newest),
        raters=len({answer.rater for answer in newest}),
        unscored=len({row["audit_id"] for row in rows} - with_scores),
        not_by_people=found.of_others,
    )


def _completions(sheet: Path) -> tuple[QueuedCompletion, ...]:
    """Return each completion of a sheet once."""
    items: dict[str, SheetItem] = {}
    faults = []
    for number, row in enumerate(read_rows(sheet), 2):
        item = SheetItem.model_validate(row)
        if audit_id(item) != item.audit_id:
            faults.append(f"row {number}: its prompt or completion was edited")
        items[item.audit_id] = item
    if faults:
        raise InputError(f"sheet {sheet}: {first_few(faults)}; restore the text as it was answered")
    return tuple(QueuedCompletion(item.audit_id, item.task, item.prompt, item.completion) for item in items.values())


def _title(task: str) -> str:
    return f"Nota da resposta ({task})"


def _question(task: TaskName) -> RaterQuestion:
    instruction = f"{_as_plain(task_rubric(task))}\n{IN_DOUBT}"
    if len(instruction) > INSTRUCTION_CHARACTERS:
        raise InputError(
            f"the rubric of {task} has {len(instruction)} characters on MLflow's page, which takes "
            f"{INSTRUCTION_CHARACTERS}; shorten it"
        )
    return RaterQuestion(_title(task), instruction, OPTIONS)


def _as_plain(rubric: str) -> str:
    """Return a rubric without Markdown: the page shows one paragraph, so each anchor begins with a bullet."""
    lines = (line.strip().lstrip("# ") for line in rubric.replace("`", "").splitlines())
    anchored = (_ANCHOR.sub(r"• \1: \2", line) for line in lines)
    return "\n".join(line for line in anchored if line and not line.startswith("|"))


def _newest(answers: Iterable[RaterAnswer]) -> tuple[RaterAnswer, ...]:
    """Return the newest answer of each person on each completion."""
    newest: dict[tuple[str, str], RaterAnswer] = {}
    for answer in answers:
        known = newest.get((answer.audit_id, answer.rater))
        if answer.holds and (known is None or answer.changed_at >= known.changed_at):
            newest[answer.audit_id, answer.rater] = answer
    return tuple(newest.values())


def _scores(sheet: Path, answers: Iterable[RaterAnswer]) -> tuple[int, ...]:
    scores = []
    faults = []
    for answer in answers:
        score = _as_score(answer.value)
        if score is None:
            # A text may hold anything, including a name.
            given = str(answer.value)[:20] if isinstance(answer.value, int | float) else "something else"
            faults.append(f"{answer.audit_id} was given {given}")
        else:
            scores.append(score)
    if faults:
        raise InputError(
            f"sheet {sheet}: in MLflow, {first_few(faults)}; a score is a whole number from 1 to 5: correct it there "
            "(its trace has the tag audit_id), then collect again"
        )
    return tuple(scores)


def _as_score(value: object) -> int | None:
    """Parse an answer: a chosen option, or a number written by another program than the page."""
    if isinstance(value, str):
        match = _OPTION.fullmatch(value.strip())
        return int(match[1]) if match else None
    if isinstance(value, bool) or not isinstance(value, int | float) or value not in {1, 2, 3, 4, 5}:
        return None
    return int(value)


def _new_pseudonyms(answers: Iterable[RaterAnswer], known: Mapping[str, str], rows: Rows) -> dict[str, str]:
    """Number the people without a pseudonym, in the order of their answers; no number is reused."""
    given = (_PSEUDONYM.fullmatch(pseudonym) for pseudonym in (*known.values(), *(row["rater"] for row in rows)))
    last = max((int(match[1]) for match in given if match), default=0)
    unknown = [rater for rater in dict.fromkeys(answer.rater for answer in answers) if rater not in known]
    return {rater: f"mlflow-{number}" for number, rater in enumerate(unknown, last + 1)}
