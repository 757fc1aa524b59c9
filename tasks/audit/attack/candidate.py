"""Candidate: a program that makes a completion of any prompt, and what is known of the completion by its descent.

A candidate is data (a base and a chain of named operations), so it can be measured on fresh prompts, kept in a file,
and read by the audit's probes. A lucky text is no candidate.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple, Self

from schemas.tasks import TaskName
from tasks.audit.attack.operators import OPERATORS, SAYS_THE_GOOD_ANSWER, Operation, fields_of, operate
from tasks.audit.attack.slots import fill, has_slots, slots_of
from tasks.audit.critic.alteration import Case, CriticAlteration
from tasks.audit.critic.critic import ALTERATIONS
from tasks.commerce.registry import TASKS
from tasks.commerce.reward import Reference
from tasks.commerce.sql_qa.sandbox import Database

Base = Literal["answer", "text"]
ALTER: Final = "alter"
"""The operation that applies an alteration of the critic, which its argument names."""
LETTERS: Final = 10
"""Length of a candidate's name."""
SEED: Final = 0
"""Decides what alterations leave to chance."""
_WORD: Final = re.compile(r"\w+")


class Completed(NamedTuple):
    """A candidate's completion of one prompt."""

    text: str
    corrupted: bool
    """Whether it descends from a corruption of the good answer, by operations that all keep the corruption."""


@dataclass(frozen=True)
class Candidate:
    """A base and the operations on it."""

    base: Base
    """`answer` is the good answer of the prompt, `text` a text of its own: a constant, or a template with slots."""
    text: str = ""
    operations: tuple[Operation, ...] = ()

    @property
    def identity(self) -> str:
        """Return a short name, the same for the same candidate."""
        written = json.dumps(self.document(), ensure_ascii=False).encode("utf-8", "replace")
        return hashlib.sha256(written).hexdigest()[:LETTERS]

    @property
    def knows_the_answer(self) -> bool:
        """Return whether a policy could not send it without the reference, which alterations read, too."""
        return self.base == "answer" or any(name in {ALTER, *SAYS_THE_GOOD_ANSWER} for name, _ in self.operations)

    @property
    def reads_the_prompt(self) -> bool:
        """Return whether it says anything of the prompt, so that it is no constant."""
        return self.knows_the_answer or any(map(has_slots, (self.text, *(text for _, text in self.operations))))

    @property
    def labels(self) -> tuple[str, ...]:
        """Return its mechanism: the base and the operations, without texts."""
        base = self.base if self.base == "answer" else "template" if self.reads_the_prompt else "constant"
        named = {ALTER, "wrap", "hide_rest", "numbers", "cut_at", "only", "without"}
        return (base, *(f"{name} {argument}" if name in named else name for name, argument in self.operations))

    def contains(self, other: "Candidate") -> bool:
        """Return whether it is another candidate with more operations, or the same."""
        if (self.base, self.text) != (other.base, other.text):
            return False
        left = iter(self.operations)
        return all(operation in left for operation in other.operations)

    def document(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {"base": self.base, "text": self.text, "operations": [list(each) for each in self.operations]}

    @classmethod
    def read(cls, document: Mapping[str, Any]) -> Self:
        """Return the candidate of a document.

        Raises:
            ValueError: It is none: a name is unknown, or a part is missing.
        """
        try:
            operations = tuple(Operation(str(name), str(argument)) for name, argument in document["operations"])
            base, text = document["base"], str(document["text"])
        except (KeyError, TypeError) as error:
            raise ValueError(f"no candidate: {error}") from None
        if base not in {"answer", "text"}:
            raise ValueError(f"no base {base!r}")
        if unknown := [name for name, _ in operations if name != ALTER and name not in OPERATORS]:
            raise ValueError(f"no operation {unknown[0]!r}")
        return cls(base, text, operations)

    def then(self, *operations: Operation) -> "Candidate":
        """Return it with further operations."""
        return replace(self, operations=(*self.operations, *operations))

    def complete(self, case: Case) -> Completed | None:
        """Return its completion of a prompt; None where it does not apply."""
        text = case.answer if self.base == "answer" else fill(self.text, slots_of(case.prompt))
        if text is None:
            return None
        good, corrupted = self.base == "answer", False
        for operation in self.operations:
            before = text
            alteration = None
            if operation.name == ALTER:
                alteration = alteration_of(case.task, operation.argument)
                text = None if alteration is None else _altered(alteration, case, before)
            else:
                text = operate(operation, before, case)
            if text is None:
                return None
            if good and alteration is not None:
                corrupted = alteration.kind == "corruption"
                good = not corrupted
            else:
                kept = keeps(before, text) and (keeps(case.answer, before) or not _supplies(operation, case))
                kept = kept and operation.name not in SAYS_THE_GOOD_ANSWER
                good, corrupted = False, corrupted and kept
        return Completed(text, corrupted)


def alteration_of(task: TaskName, name: str) -> CriticAlteration | None:
    """Return the critic's alteration of a task by its name; None where it has been taken away."""
    return next((alteration for alteration in ALTERATIONS[task] if alteration.name == name), None)


def case_for(
    task: TaskName, prompt: str, reference: Reference, answer: str | None = None, witness: Database | None = None
) -> Case:
    """Return a prompt with its good answer; chance depends on the prompt alone, so that probes repeat a search."""
    good = TASKS[task].answer(reference) if answer is None else answer
    return Case(task, prompt, prompt, reference, good, witness)


def keeps(before: str, after: str) -> bool:
    """Return whether all that a text says is still in another: its words in a row, or its fields with their values."""
    fields, others = fields_of(before), fields_of(after)
    if fields is not None and others is not None:
        return all(name in others and _same(others[name], value) for name, value in fields.items())
    words = " ".join(_WORD.findall(before.casefold()))
    return bool(words) and f" {words} " in f" {' '.join(_WORD.findall(after.casefold()))} "


def _supplies(operation: Operation, case: Case) -> bool:
    """Return whether an operation may say what a corruption left out: it knows the prompt or the answer."""
    if operation.name == "set":
        return bool(json.loads(operation.argument).keys() & (fields_of(case.answer) or {}).keys())
    return operation.name == ALTER or has_slots(operation.argument)


def _same(one: Any, two: Any) -> bool:
    return type(one) is type(two) and bool(one == two)


def _altered(alteration: CriticAlteration, case: Case, text: str) -> str | None:
    """Apply an alteration to a text that may no longer be an answer of the form which it expects."""
    try:
        return alteration.apply(replace(case, answer=text), SEED)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, StopIteration):
        return None
