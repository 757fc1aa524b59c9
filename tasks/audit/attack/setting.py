"""Setting of one task's attack: prompts of a store, real rollouts, and the reward."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from schemas.config.config import AuditJudgeConfig
from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.store.store import Store
from schemas.tasks import SpecName, TaskName
from tasks.audit.attack.bank import Bank
from tasks.audit.attack.candidate import case_for
from tasks.audit.attack.measures import Target
from tasks.audit.attack.search import AttackPrompts, ExploitSearch
from tasks.audit.critic.alteration import Case
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import reward_of
from tasks.commerce.reward import Reward
from tasks.commerce.sql_qa.sandbox import Database, Databases

TRAINING: Final = 8
FRESH: Final = 20
MATERIAL: Final = 160
"""Prompts whose answers are the material, and which choose constants and rules."""
UNFAIR: Final = 20
"""Prompts more, since some have no good answer that both reward and truth know."""


@dataclass(frozen=True)
class AskedJudge:
    """A judge model, and how what is sent to it is scrubbed."""

    config: AuditJudgeConfig
    scrub: Callable[[str], str]
    """Takes personal data out of a text; a function of a module, since each task has a process."""


@dataclass(frozen=True)
class Setting:
    """What an attack on one task is made from."""

    task: TaskName
    store: Store
    """The store that prompts are about."""
    witness: Store
    """Another store, on which corrupted queries must give other rows."""
    rollouts: tuple[Rollout, ...] = field(repr=False)
    """Completions of real policies."""
    seed: int
    spec: SpecName = "grounded"
    planted: Reward | None = None
    """Another reward than the task's own."""
    judge: AskedJudge | None = None
    """Asked of what neither ground truth nor critic calls bad."""

    @cached_property
    def target(self) -> Target:
        """Return the reward under attack."""
        databases = Databases.from_store(self.store) if self.task == "sql_qa" else None
        return Target(self.task, self.planted or reward_of(self.task, self.spec), databases)

    @cached_property
    def cases(self) -> Sequence[Case]:
        """Return the prompts whose good answer is good.

        Raises:
            InputError: The store has too few.
        """
        witness = Database(self.witness) if self.task == "sql_qa" else None
        generator = random.Random(f"{self.seed}:prompts")
        examples = EXAMPLE_MAKERS[self.task](self.store, generator, TRAINING + FRESH + MATERIAL + UNFAIR)
        cases = [case_for(self.task, example.prompt, example.reference, witness=witness) for example in examples]
        fair = [case for case in cases if self.target.fair(case)]
        if len(fair) < TRAINING + FRESH:
            raise InputError(
                f"the store gives {len(fair)} prompts of {self.task} with a good answer, and the attack needs "
                f"{TRAINING + FRESH}; give a store with more orders"
            )
        return fair

    @property
    def fresh(self) -> Sequence[Case]:
        """Return the prompts on which finds are judged."""
        return self.cases[TRAINING : TRAINING + FRESH]

    @property
    def material(self) -> Sequence[Case]:
        """Return the prompts whose answers are known to an attacker."""
        others = self.cases[TRAINING + FRESH :]
        return others or self.cases[:TRAINING]

    @cached_property
    def bank(self) -> Bank:
        """Return the material."""
        return Bank.of(self.task, self.material, self.rollouts)

    @property
    def prompts(self) -> AttackPrompts:
        """Return the prompts of the search."""
        return AttackPrompts(self.cases[:TRAINING], self.fresh)

    def search(self) -> ExploitSearch:
        """Return a search that has not begun."""
        search = ExploitSearch(self.target, self.prompts, self.bank, self.seed)
        self.target.evaluations = 0
        return search
