"""Completions by which a mutant is judged to change anything: good, altered, spoiled, of other prompts, and shipped.

All are made from a seed by the rewards' sound code, so that the mutants cannot change them.
"""

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Final

from schemas.documents import Rollout
from schemas.store.store import Store
from schemas.tables.prompts import PromptRow
from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit.critic.critic import ALTERATIONS, case_of
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import TASKS
from tasks.commerce.sql_qa.sandbox import Database
from tasks.synthesize.prompt_rows import as_prompt_row
from tasks.synthesize.simulated import simulate_store

SEED: Final = 20
ORDERS: Final = 1_500
PROMPTS: Final = 400
"""Prompts of each task, from a store with known causes; as many again from one without, where it has any."""
COUNTS: Final[Mapping[TaskName, int]] = {
    "extraction": 4_000,
    "sentiment": 3_500,
    "insights": 3_500,
    "push": 4_000,
    "churn": 3_500,
    "sql_qa": 1_500,
}
"""Completions of each task, 20,000 together; fewer of sql_qa, whose queries run on three copies of the store."""

Make = Callable[["_Prompts", random.Random], tuple[PromptRow, str | None]]


class _Prompts:
    """Prompts of one task with their good answers."""

    def __init__(self, task: TaskName, rows: Sequence[PromptRow], witness: Database | None) -> None:
        self.task = task
        self.rows = rows
        self.witness = witness
        self.answers = [TASKS[task].answer(row.reference) for row in rows]

    def any(self, generator: random.Random) -> tuple[PromptRow, str]:
        """Return a prompt and its good answer."""
        place = generator.randrange(len(self.rows))
        return self.rows[place], self.answers[place]


def store() -> Store:
    """Return the store that the prompts are about."""
    return simulate_store(ORDERS, random.Random(f"{SEED}:asked"))


def make_completions(shipped: Sequence[Rollout]) -> list[Rollout]:
    """Return the 20,000 completions, in an order by chance within each task.

    Args:
        shipped: The rollouts of the shipped audit, which are among them.
    """
    known, witness = store(), Database(simulate_store(ORDERS, random.Random(f"{SEED}:witness")))
    found: list[Rollout] = []
    for task in TASK_NAMES:
        rows = _rows(task, known, SEED)
        prompts = _Prompts(task, rows, witness if task == "sql_qa" else None)
        there = [rollout for rollout in shipped if rollout.task == task]
        made = [*there, *islice(_made(prompts, SEED), COUNTS[task] - len(there))]
        random.Random(f"{SEED}:{task}").shuffle(made)
        found += made
    return found


def other_completions(task: TaskName, shipped: Sequence[Rollout], seed: int, count: int) -> list[Rollout]:
    """Return completions of a task that are made as the 20,000 are, by another seed and to other prompts.

    Args:
        task: The task; queries are of the shipped prompts, whose store every audit has.
        shipped: The rollouts of the shipped audit.
        seed: The seed, which is not `SEED`.
        count: The number.
    """
    if task != "sql_qa":
        rows = _rows(task, simulate_store(ORDERS, random.Random(f"{seed}:asked")), seed)
        return list(islice(_made(_Prompts(task, rows, None), seed), count))
    asked = {each.prompt_id: each for each in shipped if each.task == task and each.reference}
    rows = [
        PromptRow(each.prompt_id, task, "", each.prompt, each.reference or {}, "simulated", None, None, None)
        for each in asked.values()
    ]
    witness = Database(simulate_store(ORDERS, random.Random(f"{seed}:witness")))
    return list(islice(_made(_Prompts(task, rows, witness), seed), count))


def _rows(task: TaskName, known: Store, seed: int) -> list[PromptRow]:
    stores = (known, replace(known, review_causes=None, customer_hazards=None))
    return [
        as_prompt_row(example)
        for each in stores
        for example in EXAMPLE_MAKERS[task](each, random.Random(seed), PROMPTS)
    ]


def _made(prompts: _Prompts, seed: int) -> Iterator[Rollout]:
    """Yield completions without end; of each kind as many as its share."""
    generator = random.Random(f"{seed}:{prompts.task}:made")
    makes, shares = zip(*_KINDS, strict=True)
    while True:
        (make,) = generator.choices(makes, shares)
        row, completion = make(prompts, generator)
        if completion is not None:
            yield Rollout(
                prompt_id=row.prompt_id,
                task=row.task,
                prompt=row.prompt,
                completion=completion,
                reference=_known(row, generator),
            )


def _known(row: PromptRow, generator: random.Random) -> dict[str, Any]:
    """Return a reference, at times without some of what it knows."""
    reference = json.loads(json.dumps(row.reference))
    if generator.random() < 0.9:
        return dict(reference)
    inner = reference.get("fields") or reference
    # A query or a table's facts are the whole reference.
    if len(inner) > 1:
        for name in generator.sample(sorted(inner), generator.randint(1, len(inner) - 1)):
            inner[name] = None
    return dict(reference)


def _good(prompts: _Prompts, generator: random.Random) -> tuple[PromptRow, str | None]:
    return prompts.any(generator)


def _altered(prompts: _Prompts, generator: random.Random) -> tuple[PromptRow, str | None]:
    """Return one of the critic's corruptions or rewrites."""
    row, _ = prompts.any(generator)
    alteration = generator.choice(ALTERATIONS[prompts.task])
    return row, alteration.apply(case_of(row, prompts.witness), generator.randrange(1_000))


def _spoiled(prompts: _Prompts, generator: random.Random) -> tuple[PromptRow, str | None]:
    """Return an answer spoiled as the demonstrations of the laptop's stand-in are, twice at times."""
    row, answer = prompts.any(generator)
    try:
        return row, TASKS[prompts.task].faults(answer, generator)
    except ValueError:
        return row, None


def _of_another(prompts: _Prompts, generator: random.Random) -> tuple[PromptRow, str | None]:
    return prompts.any(generator)[0], prompts.any(generator)[1]


def _crossed(prompts: _Prompts, generator: random.Random) -> tuple[PromptRow, str | None]:
    """Return an answer of which parts are those of another: fields, lines, or words."""
    (row, one), (_, other) = prompts.any(generator), prompts.any(generator)
    if TASKS[prompts.task].answers_in_json:
        fields, others = json.loads(one), json.loads(other)
        taken = generator.sample(sorted(fields), generator.randint(1, len(fields)))
        return row, json.dumps(fields | {name: others[name] for name in taken}, ensure_ascii=False)
    mark = "\n" if "\n" in one else " "
    parts, others = one.split(mark), other.split(mark)
    place = generator.randrange(1, max(len(parts), 2))
    return row, mark.join([*parts[:place], *others[place:]])


def _changed(prompts: _Prompts, generator: random.Random) -> tuple[PromptRow, str | None]:
    """Return an answer with one to three small changes, as a policy's slips."""
    row, answer = prompts.any(generator)
    for _ in range(generator.randint(1, 3)):
        answer = generator.choice(_SLIPS)(answer, generator)
    return row, answer


def _cut(text: str, generator: random.Random) -> str:
    return text[: generator.randint(0, len(text))]


def _other_digit(text: str, generator: random.Random) -> str:
    places = [place for place, letter in enumerate(text) if letter.isdigit()]
    if not places:
        return text
    place = generator.choice(places)
    return text[:place] + str(generator.randrange(10)) + text[place + 1 :]


def _without_word(text: str, generator: random.Random) -> str:
    parts = text.split(" ")
    del parts[generator.randrange(len(parts))]
    return " ".join(parts)


def _word_again(text: str, generator: random.Random) -> str:
    parts = text.split(" ")
    place = generator.randrange(len(parts))
    return " ".join([*parts[:place], parts[place], *parts[place:]])


def _without_letter(text: str, generator: random.Random) -> str:
    place = generator.randrange(max(len(text), 1))
    return text[:place] + text[place + 1 :]


_SLIPS: Final[tuple[Callable[[str, random.Random], str], ...]] = (
    _cut,
    _other_digit,
    _without_word,
    _word_again,
    _without_letter,
    lambda text, _: text.replace(".", ","),
    lambda text, _: text.replace('"', "'"),
    lambda text, _: f"```\n{text}\n```",
    lambda text, _: f"{text}\n{text}",
    lambda text, _: f"Segue a resposta:\n{text}",
    lambda text, _: text.upper(),
    lambda text, _: f"<think>Vou ler.</think>\n{text}",
    lambda text, _: text.replace(" ", "  "),
    lambda text, generator: text + " e mais" * generator.choice((1, 10, 40)),
)
_KINDS: Final[tuple[tuple[Make, float], ...]] = (
    (_good, 0.10),
    (_altered, 0.40),
    (_spoiled, 0.10),
    (_of_another, 0.10),
    (_crossed, 0.15),
    (_changed, 0.15),
)
"""The kinds of completions, each with its share."""
