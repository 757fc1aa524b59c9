"""Lessons of the stand-in: prompts of simulated stores with an answer each, in the order in which it reads them.

Each is read once: the stores are as many as the steps ask for. Their seeds are names, which no profile can give.

A stand-in that had only seen right answers would leave GRPO nothing to teach. Where it was shown a fault more often
than not, its likeliest answer has it, and right answers are still sampled.

Queries are faulty by what is to be answered: as published models do, it answers some kinds worse than others. Elsewhere
faults come as often with each answer: kinds of JSON are its labels, of which training would avoid those that were shown
with faults, and kinds of pushes are too many to be learnt.
"""

import random
import re
from collections.abc import Iterator, Mapping
from hashlib import sha256
from itertools import count, islice
from typing import Final, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from schemas.tasks import TaskName
from tasks.commerce.commerce_task import CommerceTask
from tasks.commerce.example import Example
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import TASKS
from tasks.stand_in.model import StandInShape
from tasks.synthesize.simulated import simulate_store

PROMPTS: Final[Mapping[TaskName, int]] = {
    "extraction": 500,
    "sql_qa": 600,
    "insights": 1400,
    "push": 500,
    "sentiment": 300,
    "churn": 700,
}


class Recipe(BaseModel):
    """That of a stand-in from random weights, where nothing else is given."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int = 1
    """Decides stores, prompts, their order and faults, and the first weights."""
    start_sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    """Digest of the weights that it goes on from; random ones if not set."""
    steps: int = Field(default=1600, ge=1)
    """Optimizer steps on right answers."""
    demonstrated_steps: int = Field(default=240, ge=0)
    """Optimizer steps on imperfect demonstrations afterwards, by optimizers without a memory."""
    batch_size: int = Field(default=32, ge=1)
    """Answered prompts a step."""
    orders: int = Field(default=2500, ge=1)
    """Orders of each simulated store."""
    prompts: Mapping[TaskName, int] = PROMPTS
    """Prompts of each store, by task."""
    matrix_rate: float = Field(default=0.012, gt=0)
    """Peak learning rate of Muon, for the matrices of the layers."""
    other_rate: float = Field(default=2e-3, gt=0)
    """Peak learning rate of AdamW, for embeddings and norms."""
    warmup_steps: int = Field(default=40, ge=1)
    """Steps in which the rates rise."""
    demonstrated_rate: float = Field(default=0.3, gt=0)
    """Share of the peak rates at which the imperfect demonstrations begin."""
    prompt_weight: float = Field(default=0.15, ge=0)
    """Weight of a prompt's tokens in the loss, of which an answer's have 1: to predict them teaches to copy."""
    shape: StandInShape = StandInShape()
    """Size of the model."""


SHARES: Final[Mapping[TaskName, float]] = {
    "extraction": 0.8, "insights": 0.8, "push": 0.8, "sentiment": 0.8, "churn": 0.8
}  # fmt: skip
"""Shares of demonstrations with faults, of tasks whose answers are all equally likely to have them."""
SHARE_CARELESS: Final = 1.0
"""Share of demonstrations with faults, for an answer of a kind that is given carelessly."""
SHARE_CAREFUL: Final = 0.15
FIRST_WORDS: Final = 4
"""Words of a right answer that tell kinds of answers apart, such as an aggregate of a table."""
HALVES: Final = "12"
"""Salt of the hash that divides the kinds."""


def demonstrate(task: CommerceTask, example: Example, generator: random.Random) -> str:
    """Return a nearly right answer to a prompt; the generator decides whether it has faults, and which."""
    right = task.answer(example.reference)
    share = SHARES.get(example.task, SHARE_CARELESS if is_careless(right) else SHARE_CAREFUL)
    return task.faults(right, generator) if generator.random() < share else right


def is_careless(right: str) -> bool:
    """Return whether answers of the kind of a right one are given carelessly: about half of all kinds are."""
    words = " ".join(re.findall(r"\w+", right)[:FIRST_WORDS])
    return sha256(f"{HALVES} {words}".encode()).digest()[0] % 2 == 0


STORES_AT_ONCE = 6
"""Stores whose prompts are mixed: a batch of one store would know three categories."""


class Lesson(NamedTuple):
    """A conversation of one prompt and its answer."""

    task: TaskName
    system: str
    prompt: str
    answer: str


def lessons(recipe: Recipe) -> Iterator[Lesson]:
    """Yield all lessons of the training, right answers first; none twice."""
    demonstrated_from = recipe.steps * recipe.batch_size
    total = demonstrated_from + recipe.demonstrated_steps * recipe.batch_size
    generator = random.Random(f"stand-in-{recipe.seed}:faults")
    for number, example in enumerate(islice(_examples(recipe), total)):
        right = number < demonstrated_from
        task = TASKS[example.task]
        answer = task.answer(example.reference) if right else demonstrate(task, example, generator)
        yield Lesson(example.task, example.system, example.prompt, answer)


def _examples(recipe: Recipe) -> Iterator[Example]:
    seen: set[tuple[TaskName, str]] = set()
    for first in count(0, STORES_AT_ONCE):
        stores = range(first, first + STORES_AT_ONCE)
        mixed = [each for store in stores for each in _of_store(recipe, f"stand-in-{recipe.seed}:{store}")]
        random.Random(f"stand-in-{recipe.seed}:order:{first}").shuffle(mixed)
        for example in mixed:
            if (example.task, example.prompt) not in seen:
                seen.add((example.task, example.prompt))
                yield example


def _of_store(recipe: Recipe, name: str) -> Iterator[Example]:
    store = simulate_store(recipe.orders, random.Random(f"{name}:store"))
    for task, wanted in recipe.prompts.items():
        yield from EXAMPLE_MAKERS[task](store, random.Random(f"{name}:{task}"), wanted)
