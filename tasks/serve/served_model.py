"""Model that answers in production, without its weights in memory."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal

from schemas.tasks import SpecName, TaskName
from tasks.bag_of_words.bag import BagOfWords
from tasks.policy.load import ADAPTER_FOLDER, adapters_of

CUT_OFF: Final = "a resposta foi cortada no limite de tokens"
"""Why nothing of an answer is shown that ended for its length."""
CHAMPION: Final = "champion"
"""Name by which an engine serves the weights."""
BASE: Final = "base"
Answerer = Literal["champion", "base", "bag-of-words"]
"""What answers: the version that serves, or what is compared with it."""


@dataclass(frozen=True)
class Decoding:
    """How answers are drawn; top-p and top-k are off."""

    temperature: float
    max_tokens: int
    """Longest answer, in tokens."""


def evaluated_decoding(config: Mapping[str, Any]) -> Decoding:
    """Return the decoding of an evaluation, by the configuration that its artifact recorded."""
    return Decoding(config["evaluate"]["temperature"], config["train"]["max_completion_tokens"])


@dataclass(frozen=True)
class ServedModel:
    """Weights that answer, and how they draw."""

    name: str
    """For people, such as `version 3`."""
    number: str
    version_name: str
    """NAME/VERSION in the registry, as logs name it."""
    weights: Path
    policy: Path | None
    """Folder of the policy whose adapters are loaded beside the weights; None where nothing is."""
    decoding: Decoding
    batch_size: int
    """Prompts answered at once."""
    seed: int
    """Decides every sampled token: the same prompt has the same answer."""
    store: Path | None
    """Folder of the store that queries are checked on; None without one."""
    spec: SpecName
    """How its training asked the tasks."""
    unlearned: Mapping[TaskName, str]
    """Tasks that its evaluation did not find learned, with the floors missed; empty where all may be asked."""
    bags: Mapping[TaskName, BagOfWords] = field(default_factory=dict)
    """Bags of words that answer tasks in its place."""

    @cached_property
    def adapters(self) -> dict[str, Path]:
        """Adapters that are loaded beside the weights, by name; empty where nothing is."""
        return {} if self.policy is None else adapters_of(self.policy)

    def name_of(self, task: TaskName) -> str:
        """Return the name by which an engine of this model answers a task: the weights', or an adapter's."""
        if self.policy is None:
            return CHAMPION
        return ADAPTER_FOLDER if ADAPTER_FOLDER in self.adapters else task

    def refusal(self, task: TaskName) -> str | None:
        """Return why it does not answer a task; None where it does."""
        if self.policy is not None and self.name_of(task) not in self.adapters:
            return f"{self.name} has no weights for {task}, on which it was not trained; ask another version"
        if task not in self.unlearned:
            return None
        return (
            f"{task} is not learned by {self.name} ({self.unlearned[task]}); ask another version, or this one all the "
            "same with `ask --any` or serve.answer_all=true"
        )
