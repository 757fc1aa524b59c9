"""Configuration of evaluation and promotion: models, statistics and prices."""

import re
from collections.abc import Mapping
from typing import Final, Literal, Self

from pydantic import Field, JsonValue, field_validator, model_validator

from schemas.config.section import EndpointSection, Section, parts_are_whole
from schemas.references import Share
from schemas.tasks import TaskName

BASELINES: Final[Mapping[str, str]] = {
    "constant": "one answer to every prompt, the training split's that earns most there",
    "majority": "one answer to every prompt, each field the training split's most frequent value",
    "rule": "a constant for each value of the prompt's own lines, the rest unread",
    "bag-of-words": "a classifier of the words, or of the lines' values, trained in seconds on the same rows",
    "echo": "the prompt itself",
}
"""Answers that take no language model, by their name in the report, each with its kind."""
OverRungs = Literal["report", "require"]
General = Literal["off", "report", "require"]
INSTRUCTIONS: Final = 180
"""General instructions of `data/general`, each answered once by base and tuned."""
Rung = Literal["base-guided", "sft"]
RUNGS: Final[Mapping[Rung, str]] = {
    "base-guided": "the base under guided decoding: a grammar of each task's form lets nothing else be sampled",
    "sft": "the base after supervised fine-tuning on the reference answers",
}
"""What may be had of the base at less cost, by its name in the report, with its kind."""
OUR_MODELS: Final = frozenset({"base", "tuned", "published", "champion", "challenger", *BASELINES, *RUNGS})
"""Names of our own models, baselines and rungs in the report, which no rival may have."""
IN_EVERY_REQUEST: Final = frozenset(
    {"model", "messages", "temperature", "max_tokens", "max_completion_tokens", "seed", "stream", "n"}
)
"""Fields of a request that select the model, the prompt and the sampling; `body` sets none of them."""


class RivalConfig(EndpointSection):
    """A model that answers the scrubbed test prompts too."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", max_length=40)
    """Its name in reports."""
    body: dict[str, JsonValue] = Field(default_factory=dict)
    """Further fields of each request, such as `reasoning_effort`."""
    max_tokens: int | None = Field(default=None, ge=1)
    """Longest completion, reasoning included; `train.max_completion_tokens`."""
    price_input: float = Field(default=0.0, ge=0)
    """US dollars of a million input tokens."""
    price_output: float = Field(default=0.0, ge=0)
    """US dollars of a million output tokens."""

    @field_validator("name")
    @classmethod
    def _is_no_model_of_ours(cls, name: str) -> str:
        if name in OUR_MODELS:
            raise ValueError(f"{name!r} is the report's name of a model of ours; choose another")
        return name

    @field_validator("body")
    @classmethod
    def _sets_nothing_that_every_request_has(cls, body: dict[str, JsonValue]) -> dict[str, JsonValue]:
        if taken := sorted(IN_EVERY_REQUEST & body.keys()):
            raise ValueError(
                f"body sets {', '.join(taken)}, which every request has already; leave it out, and set model or "
                "max_tokens beside the body"
            )
        return body


class ReferenceTuningConfig(Section):
    """Fine-tuning on the training split's reference answers."""

    batch_size: int = Field(default=32, ge=1)
    """Answers a step."""
    accumulation: int = Field(default=8, ge=1)
    """Forward passes a step."""
    learning_rate: float = Field(default=2e-4, gt=0)
    """Peak learning rate."""
    max_epochs: int = Field(default=3, ge=1)
    """Most times that it reads an answer."""

    _parts = model_validator(mode="after")(parts_are_whole)

    def steps(self, sampled: int, prompts: int) -> int:
        """Return the optimizer steps: as many answers as the training samples completions, up to `max_epochs`."""
        return -(-min(sampled, self.max_epochs * prompts) // self.batch_size)


class CostConfig(Section):
    """Prices of an analysis."""

    price_per_hour: float = Field(default=0.8, ge=0)
    """US dollars an hour of the serving machine."""
    api_price_per_analysis: float = Field(default=0.01, ge=0)
    """US dollars of an analysis by an API."""

    @property
    def break_even(self) -> float | None:
        """Analyses a day at which the API costs as much as the machine; None where the API costs nothing."""
        return 24 * self.price_per_hour / self.api_price_per_analysis if self.api_price_per_analysis else None


TRUTH_LOSS: Final = 0.25
"""Share of the base's ground truth on a task that may be lost where nothing else is set."""
FLOORS: Final[Mapping[TaskName, Mapping[str, float]]] = {
    "extraction": {"exact": 0.10},
    "sql_qa": {"execution_accuracy": 0.25},
    "insights": {"all_kept": 0.25},
    "push": {"all_kept": 0.60},
    "sentiment": {"macro_f1": 0.50},
    "churn": {"auc": 0.60},
}
"""By task, the least of the ground-truth metrics that a useful model keeps up.

A constant has an AUC of .5 and a macro-F1 of a third at most; one push for all is seen by its variety.
"""


class EvaluateConfig(Section):
    """Base, champion and challenger on the test split."""

    temperature: float = Field(default=0.1, gt=0)
    """Sampling temperature of every model's answers."""
    samples: int = Field(default=1, ge=1, le=64)
    """Answers of each model to each prompt."""
    batch_size: int = Field(default=48, ge=1)
    """Prompts answered at once."""
    margin: float = Field(default=0.05, ge=1e-4, lt=1)
    """Non-inferiority margin, in reward."""
    truth_loss: float = Field(default=TRUTH_LOSS, gt=0, lt=1)
    """Share of the base's ground truth that may be lost."""
    general: General = "off"
    """Whether instructions that no task trains are followed too; `require` must exclude a loss."""
    general_loss: float = Field(default=0.2, gt=0, lt=1)
    """Share of these that may be lost."""
    floors: Mapping[TaskName, Mapping[str, Share]] = FLOORS
    """Least ground truth with which a task counts as learned; given tasks replace theirs."""
    min_variety: Share = 0.5
    """Least variety of a task's answers, as a share of its references'."""
    resamples: int = Field(default=10_000, ge=1000, le=1_000_000)
    """Bootstrap and permutation resamples."""
    against_champion: bool = True
    """Hold a challenger that is worse than the champion."""
    rungs: tuple[Rung, ...] = ()
    """Cheaper rungs to compare: the guided base, or the base tuned on references."""
    sft: ReferenceTuningConfig = ReferenceTuningConfig()
    """Fine-tuning of the rung `sft`."""
    rivals: tuple[RivalConfig, ...] = ()
    """Models at endpoints that are compared without effect on the gate."""
    cost: CostConfig = CostConfig()
    """Prices for the cost of an analysis."""

    @field_validator("floors")
    @classmethod
    def _floors_are_known_metrics(
        cls, floors: Mapping[TaskName, Mapping[str, float]]
    ) -> Mapping[TaskName, Mapping[str, float]]:
        for task, metrics in floors.items():
            known = FLOORS.get(task, {})
            if unknown := sorted(metrics.keys() - known.keys()):
                raise ValueError(f"{task} has no floor of {', '.join(unknown)}; it has {', '.join(known) or 'none'}")
        return {**FLOORS, **floors}

    @field_validator("rivals")
    @classmethod
    def _names_are_unique(cls, rivals: tuple[RivalConfig, ...]) -> tuple[RivalConfig, ...]:
        names = [rival.name for rival in rivals]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two rivals are named {', '.join(twice)}; give each a name of its own")
        return rivals


class PromoteConfig(Section):
    """The registered model."""

    model_name: str = Field(default="tucano2-commerce", pattern=r"^[\w.-]+$")
    """Name in MLflow's registry."""
    alias: str = Field(default="champion", pattern=r"^[\w.-]+$")
    """The alias that moves if the gate allows it."""
    over_rungs: OverRungs = "report"
    """Whether a gain not above the best rung's holds the model."""
    previous_alias: str = Field(default="previous", pattern=r"^[\w.-]+$")
    """The alias of the previous holder, for a rollback."""

    @field_validator("alias", "previous_alias")
    @classmethod
    def _alias_is_no_version(cls, alias: str) -> str:
        if alias.lower() == "latest" or re.fullmatch(r"[vV]\d+", alias):
            raise ValueError(f"{alias!r} is what MLflow calls versions by themselves; choose another alias")
        return alias

    @model_validator(mode="after")
    def _aliases_differ(self) -> Self:
        if self.alias == self.previous_alias:
            raise ValueError(f"alias and previous_alias are both {self.alias!r}, so that nothing could be rolled back")
        return self
