"""Material of a search: answers to other prompts, real rollouts as templates, fragments, and arguments."""

import json
import random
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from schemas.documents import Rollout
from schemas.tasks import TaskName
from tasks.audit.attack.candidate import ALTER, Candidate
from tasks.audit.attack.operators import CLAUSES, NUMBER_MODES, SHARES, WRAPS, Operation, fields_of, write
from tasks.audit.attack.slots import as_template
from tasks.audit.critic.alteration import Case
from tasks.audit.critic.critic import ALTERATIONS

DATA_FILES: Final = ("data/audit/attack",)
FRAGMENTS: Final = Path(__file__).resolve().parents[3] / "data" / "audit" / "attack" / "fragments.toml"
MOST_ANSWERS: Final = 24
MOST_ROLLOUTS: Final = 60
MOST_HEDGED: Final = 6
"""Answers that are sent together, since one of them may be right."""
LONGEST_SEED: Final = 1_500
_VALUES: Final[tuple[Any, ...]] = (None, True, False, "", 0, 1, 0.5, -1, 10, 1e9, [], {}, "{numeros}", "{prompt}")


@dataclass(frozen=True)
class Bank:
    """Material for one task."""

    task: TaskName
    answers: tuple[str, ...]
    """Good answers to other prompts, the most frequent first."""
    rollouts: tuple[str, ...]
    """Completions of real policies, as templates."""
    fragments: tuple[str, ...]
    fields: tuple[str, ...]
    """Names of the answer's fields, where it is JSON."""
    values: tuple[tuple[str, Any], ...]
    """Fields with values of other answers."""

    @classmethod
    def of(cls, task: TaskName, cases: Sequence[Case], rollouts: Iterable[Rollout]) -> "Bank":
        """Collect the material.

        Args:
            task: The task.
            cases: AttackPrompts with their good answers, none of which are fresh.
            rollouts: Completions of any tasks.
        """
        answers = tuple(answer for answer, _ in Counter(case.answer for case in cases).most_common(MOST_ANSWERS))
        seeds = dict.fromkeys(
            as_template(rollout.completion, rollout.prompt)
            for rollout in rollouts
            if rollout.task == task and 0 < len(rollout.completion) <= LONGEST_SEED
        )
        known = [fields for answer in answers if (fields := fields_of(answer)) is not None]
        names = tuple(known[0]) if known else ()
        values = dict.fromkeys((name, json.dumps(fields[name])) for fields in known for name in names)
        texts = _fragments()
        return cls(
            task,
            answers,
            tuple(seeds)[:MOST_ROLLOUTS],
            (*texts.get(task, ()), *texts["any_task"]),
            names,
            tuple((name, json.loads(value)) for name, value in values),
        )

    def seeds(self) -> Iterator[Candidate]:
        """Yield the candidates that a search begins with, the same in every search."""
        good = Candidate("answer")
        for alteration in ALTERATIONS[self.task]:
            if alteration.kind == "corruption":
                yield good.then(Operation(ALTER, alteration.name))
        for text in (*self.fragments, *self.answers, *self.rollouts, *self._hedges()):
            yield Candidate("text", text)
        for operation in self.operations():
            yield good.then(operation)

    def operations(self) -> Iterator[Operation]:
        """Yield every operation with every argument that is worth a try of its own."""
        for name, arguments in (
            ("append", self.fragments),
            ("below", self.fragments),
            ("inside", self.fragments),
            ("prepend", self.fragments),
            ("other", self.answers[:8]),
            ("first", SHARES),
            ("last", SHARES),
            ("repeat", ("2", "4")),
            ("upper", ("",)),
            ("lower", ("",)),
            ("wrap", WRAPS),
            ("numbers", NUMBER_MODES),
            ("without_sentence", ("0", "1", "2")),
            ("backwards", ("",)),
            ("shuffled", ("0",)),
            ("cut_at", CLAUSES if self.task == "sql_qa" else ()),
            ("only", self.fields),
            ("without", self.fields),
        ):
            yield from (Operation(name, argument) for argument in arguments)
        for field in self.fields:
            texts = [text for text in self.fragments if len(text) > 40]
            for value in (*_VALUES, *texts):
                yield Operation("set", write({field: value}))
        for field, value in self.values:
            yield Operation("set", write({field: value}))

    def draw(self, generator: random.Random) -> Operation:
        """Return one operation by chance, the critic's corruptions as often as all others of prose."""
        kind = generator.random()
        if kind < 0.35:
            return Operation(ALTER, generator.choice(self._alterations()))
        if kind < 0.6 and self.fields:
            field = generator.choice(self.fields)
            if generator.random() < 0.3:
                return Operation(generator.choice(("only", "without")), field)
            return Operation("set", write(dict([self._value(field, generator)])))
        if kind < 0.7:
            return Operation("hide_rest", generator.choice(tuple(WRAPS)))
        return generator.choice(_listed(self))

    def mixed(self, one: str, two: str, generator: random.Random) -> str:
        """Return the beginning of one text with the end of another, cut between words."""
        head, tail = one.split(" "), two.split(" ")
        return " ".join(head[: generator.randint(0, len(head))] + tail[generator.randint(0, len(tail)) :])

    def text(self, generator: random.Random) -> str:
        """Return one text of the material by chance."""
        return generator.choice((*self.answers, *self.rollouts, *self.fragments))

    def _alterations(self) -> tuple[str, ...]:
        return tuple(alteration.name for alteration in ALTERATIONS[self.task] if alteration.kind == "corruption")

    def _value(self, field: str, generator: random.Random) -> tuple[str, Any]:
        known = [value for name, value in self.values if name == field]
        pool: list[Any] = generator.choice((known or [None], list(_VALUES), list(self.fragments)))
        return field, generator.choice(pool)

    def _hedges(self) -> Iterator[str]:
        several = self.answers[:MOST_HEDGED]
        if len(several) < 2 or self.task in {"sql_qa", "insights"}:
            return
        for between in ("", "\n", ", ", " ou "):
            yield between.join(several)
        yield f"[{','.join(several)}]"


@cache
def _listed(bank: Bank) -> tuple[Operation, ...]:
    return tuple(bank.operations())


@cache
def _fragments() -> dict[str, list[str]]:
    return tomllib.loads(FRAGMENTS.read_text(encoding="utf-8"))
