"""Session of a person who gives references: the next unknown field, and every answer saved at once.

The file of references is the only state: it is read again under its lock at each change, and only the person's own line
is changed. So a killed session loses nothing, and several people may answer at the same time.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, get_args

from schemas.disk import replace_whole
from schemas.errors import InputError
from schemas.references import ASKED_FIELDS, AskedTask, GivenReference, read_given, values_of, with_values
from schemas.shown_text import as_shown
from schemas.tables.prompts import PromptRow, canonical_json
from tasks.audit.labelling import check_pseudonym, held
from tasks.commerce.text.lexicons import read_data

Lines = tuple[GivenReference, ...]
LONGEST_COMPLAINT: Final = 100
QUESTIONS: Final[Mapping[str, tuple[str, Mapping[str, tuple[str, Any]]]]] = {
    field: (each["question"], {key: (wording, value) for key, wording, value in each["answers"]})
    for field, each in read_data("audit/questions.toml").items()
}
"""Question about each field of a reference, and the wording and value of each answer by its key."""
UNKNOWN_KEY: Final = "d"
WRITTEN: Final = frozenset({"main_complaint"})


@dataclass(frozen=True)
class ReferenceQuestion:
    """A field of a prompt's reference that nobody knows."""

    prompt_id: str
    task: AskedTask
    prompt: str
    field: str


class ReferenceSession:
    """A person's progress through the unknown fields of a dataset's test prompts, in its order."""

    def __init__(self, prompts: Sequence[PromptRow], file: Path, rater: str, task: AskedTask | None = None) -> None:
        """Begin at the first field that is unknown and that nobody was asked for.

        InputError where the pseudonym is invalid, nothing is unknown, or the file cannot be read.
        """
        check_pseudonym(rater)
        self.file: Final = file
        self.rater: Final = rater
        self._questions: Final = tuple(_questions(prompts, task))
        if not self._questions:
            raise InputError(
                f"no test prompt of {task or ' or '.join(ASKED_FIELDS)} lacks a value that a person can read in it; "
                "the other tasks are not asked"
            )
        self.total: Final = len(self._questions)
        self._answered: list[ReferenceQuestion] = []
        self._take(_read(file))

    def view(self) -> dict[str, Any]:
        """Return what a rater's page shows: the field to give now, with its prompt; empty if all are given."""
        asked = self.current
        if asked is None:
            return {}
        question, choices = QUESTIONS[asked.field]
        return {
            "id": f"{asked.prompt_id}:{asked.field}",
            "task": asked.task,
            "prompt": as_shown(asked.prompt),
            "question": question,
            "choices": [*((key, wording) for key, (wording, _) in choices.items()), (UNKNOWN_KEY, "não se sabe")],
            "written": LONGEST_COMPLAINT if asked.field in WRITTEN else 0,
        }

    def act(self, action: str, value: str, note: str) -> None:  # noqa: ARG002 - a reference has no note
        """Do what a rater's page was asked for: `answer` by a key, `write`, or `undo`; the errors are theirs."""
        asked = self.current
        if action == "undo":
            self._undo()
        elif asked is not None and action == "write" and asked.field in WRITTEN and value:
            self.answer(value[:LONGEST_COMPLAINT])
        elif asked is not None and action == "answer":
            choices = {UNKNOWN_KEY: ("", None), **QUESTIONS[asked.field][1]}
            if value in choices:
                self.answer(choices[value][1])

    def answer(self, value: Any) -> None:
        """Save a value of the current field, and advance; a value that another person gave meanwhile stays."""
        question = self._queue[0]

        def answered(lines: Lines) -> Lines:
            given = (question.prompt_id, question.field) in _asked(lines)
            return lines if given else self._with_own(lines, question, {question.field: value})

        self._change(answered)
        self._answered.append(question)

    def _undo(self) -> None:
        if self._answered:
            last = self._answered[-1]
            self._change(lambda lines: self._with_own(lines, last, {}))
            self._answered.pop()

    def _with_own(self, lines: Lines, question: ReferenceQuestion, value: Mapping[str, Any]) -> Lines:
        """Return the lines with this person's value of a field, or without one; no line is left without a field."""
        mine = [line for line in lines if (line.prompt_id, line.rater) == (question.prompt_id, self.rater)]
        known = {name: value for line in mine for name, value in line.values.items() if name != question.field}
        others = tuple(line for line in lines if line not in mine)
        if not (values := {**known, **value}):
            return others
        reference = with_values(question.task, {}, values)
        new = GivenReference(prompt_id=question.prompt_id, task=question.task, reference=reference, rater=self.rater)
        place = lines.index(mine[0]) if mine else len(others)
        return *others[:place], new, *others[place:]

    def _change(self, change: Callable[[Lines], Lines]) -> None:
        file = self.file.resolve()
        with held(file, "references"):
            lines = change(_read(file))
            replace_whole(file, "".join(f"{canonical_json(line.model_dump())}\n" for line in lines).encode())
        self._take(lines)

    def _take(self, lines: Lines) -> None:
        asked = _asked(lines)
        self._queue = [each for each in self._questions if (each.prompt_id, each.field) not in asked]
        self.left = len(self._queue)
        self.current = self._queue[0] if self._queue else None


def _questions(prompts: Sequence[PromptRow], only: AskedTask | None) -> Iterator[ReferenceQuestion]:
    for row in prompts:
        for task in get_args(AskedTask):
            if row.task == task and only in {None, task}:
                known = values_of(task, row.reference)
                unknown = (name for name in ASKED_FIELDS[task] if known.get(name) is None)
                yield from (ReferenceQuestion(row.prompt_id, task, row.prompt, name) for name in unknown)


def _asked(lines: Lines) -> set[tuple[str, str]]:
    return {(line.prompt_id, name) for line in lines for name in line.values}


def _read(file: Path) -> Lines:
    return read_given(file) if file.exists() else ()
