"""The plan of a training as a value: a JSON document, and lines for a terminal."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from schemas.config.evaluate import BASELINES
from schemas.tasks import TaskName
from tasks.plan.scores import WORDING

Learner = Literal["nothing", "grammar", "wording", "SFT", "GRPO"]
LEARNERS: Final[Mapping[str, Learner]] = {
    "base": "nothing",
    "base-guided": "grammar",
    WORDING: "wording",
    "sft": "SFT",
}
"""Cheap ways that take a model, the cheapest first, with what each asks for."""
TRAINED: Final[Learner] = "GRPO"
COLUMNS: Final = ("no model", "base", "grammar", "wording", "SFT", "pass@1", "pass@8", "shown", "power")
WIDTH: Final = 9
TASK_WIDTH: Final = 10


@dataclass(frozen=True)
class TaskPlan:
    """Plan of one task; rewards are means over its validation prompts."""

    prompts: int
    test_prompts: int
    rungs: Mapping[str, float]
    """Reward by cheap way."""
    best: str
    """The cheap way with a model that reaches most."""
    pass_1: float | None
    """Mean reward of free answers; None where no group was drawn."""
    pass_k: float | None
    """Mean best of a group."""
    expected: float | None
    """Gain over the best cheap way if half of the room is reached: below 0 where the training starts below it."""
    shown: float | None
    """Smallest true gain over it that the test split shows four times in five."""
    power: float | None
    """Probability that the test split shows the expected gain."""
    learner: Learner
    """The way that is recommended."""

    @property
    def best_without_model(self) -> str | None:
        """The baseline that reaches most; None where none was scored."""
        return max((name for name in self.rungs if name in BASELINES), key=self.rungs.__getitem__, default=None)

    def cells(self) -> dict[str, str]:
        """Return the text of each column; empty where there is none."""
        numbers = {"base" if rung == "base" else way: self.rungs.get(rung) for rung, way in LEARNERS.items()}
        numbers |= {"no model": self.rungs.get(self.best_without_model or "")}
        numbers |= {"pass@1": self.pass_1, "pass@8": self.pass_k, "power": self.power}
        texts = {name: "" if value is None else f"{value:.3f}" for name, value in numbers.items()}
        return {**texts, "shown": "" if self.shown is None else f"+{self.shown:.3f}"}


@dataclass(frozen=True)
class Price:
    """Cost of trainings; None where unknown."""

    hours: float | None = None
    dollars: float | None = None
    spot_dollars: float | None = None
    reais_per_dollar: float | None = None
    unknown: str = "nobody asked"
    """Why hours and dollars are not known."""

    def __str__(self) -> str:
        """Return hours, dollars and reais in words."""
        if self.hours is None or self.dollars is None:
            return f"price unknown: {self.unknown}"
        if not self.dollars:
            return f"{self.hours:.1f} h of a machine whose hour has no price"
        price = f"{self.hours:.1f} h, {in_dollars(self.dollars, self.reais_per_dollar)}"
        return price if self.spot_dollars is None else f"{price}, {in_dollars(self.spot_dollars)} on Spot"


def in_dollars(amount: float, reais_per_dollar: float | None = None) -> str:
    """Return US dollars in words, with reais beside them where a rate is given."""
    return f"${amount:.2f}" if reais_per_dollar is None else f"${amount:.2f} (R$ {amount * reais_per_dollar:.2f})"


@dataclass(frozen=True)
class TrainingPlan:
    """Plan of a whole training."""

    algorithm: str
    tasks: Mapping[TaskName, TaskPlan]
    against: str
    """Model that the gate compares the policy with: the base, or the best rung where it requires a gain over that."""
    must_gain: float | None
    """Gain over its start with which the gate would promote the policy four times in five; 0 where the start has it."""
    tokens: int
    """Tokens that were sampled for the plan."""
    price: Price = Price()
    """Price of a training of all tasks."""
    price_of_worth: Price = Price()
    """Price of a training of only the tasks that are worth it."""
    commands: tuple[str, ...] = ()
    """Ways to have what is recommended, each a sentence with a command."""

    @property
    def worth(self) -> tuple[TaskName, ...]:
        """The tasks for which the training is recommended."""
        return tuple(task for task, plan in self.tasks.items() if plan.learner == TRAINED)

    def as_json(self) -> dict[str, Any]:
        """Return the plan as a JSON document."""
        without = {task: plan.best_without_model for task, plan in self.tasks.items()}
        tasks = {task: {**asdict(plan), "best_without_model": without[task]} for task, plan in self.tasks.items()}
        return {**asdict(self), "tasks": tasks, "worth": [*self.worth], "commands": [*self.commands]}

    def table(self) -> list[str]:
        """Return a line for each task of at most 100 characters, and three or four sentences around them."""
        cells = {task: plan.cells() for task, plan in self.tasks.items()}
        columns = [name for name in COLUMNS if any(row[name] for row in cells.values())]
        lines = [f"{'validation':<{TASK_WIDTH}}" + "".join(f"{name:>{WIDTH}}" for name in columns) + "  learner"]
        for task, row in cells.items():
            values = "".join(f"{row[name] or '-':>{WIDTH}}" for name in columns)
            lines.append(f"{task:<{TASK_WIDTH}}{values}  {self.tasks[task].learner}")
        return [*lines, *self._sentences()]

    def _sentences(self) -> Iterator[str]:
        gain = f"+{self.must_gain:.3f}" if self.must_gain else "nothing"
        gain = gain if self.must_gain is not None else "an unknown gain"
        tests = sum(plan.test_prompts for plan in self.tasks.values())
        yield f"{self.algorithm.upper()} must add {gain} to beat {self.against} on {tests} test prompts; {self.price}"
        found = {
            learner: [task for task, plan in self.tasks.items() if plan.learner == learner]
            for learner in (*LEARNERS.values(), TRAINED)
        }
        yield "recommended: " + "; ".join(f"{learner} for {', '.join(of)}" for learner, of in found.items() if of)
        yield from self.commands
