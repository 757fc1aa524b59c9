"""Sections of models and training: base, warm start, adapter, optimizer, optional methods, vLLM, alarms and limits."""

from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator, model_validator

from schemas.config.section import Section, parts_are_whole
from schemas.timeouts import CHILD_SECONDS, NOTICE_SECONDS

AlarmName = Literal["entropy_collapse", "ceiling", "zero_variance", "reward_hacking", "one_answer", "non_finite"]
WRITTEN_BY_THE_RENDERER = {"messages", "add_generation_prompt", "tools", "documents"}
"""Variables of a chat template that are the conversation itself."""


class LoraSection(Section):
    """The adapter, on all linear layers."""

    rank: int = Field(default=16, ge=1)
    """LoRA's r."""
    alpha: int = Field(default=32, ge=1)
    """LoRA's alpha."""


class PolicyConfig(Section):
    """The model that is trained."""

    stand_in: bool = False
    """Load the laptop's shipped stand-in instead of `name`."""
    name: str = "Polygl0t/Tucano2-qwen-0.5B-Instruct"
    """The base model, by hub name or folder."""
    revision: str | None = Field(default=None, min_length=1)
    """Commit, tag or branch on the hub; the newest."""
    context: int | None = Field(default=None, ge=64)
    """Tokens that the model was trained on, where its own configuration says more."""
    chat_template: Literal["chatml"] | Path | None = None
    """A Jinja file, or `chatml`; the model's own."""
    chat_template_kwargs: dict[str, bool | int | float | str] = Field(default_factory=dict)
    """Fixed variables of the template, such as `{ enable_thinking = false }`."""

    @model_validator(mode="after")
    def _the_stand_in_has_its_own(self) -> "PolicyConfig":
        of_a_name = ("revision", "context", "chat_template", "chat_template_kwargs")
        given = next((name for name in of_a_name if getattr(self, name)), None)
        if self.stand_in and given:
            raise ValueError(
                f"{given} is of a model by name, and the stand-in is shipped with a chat template of its own; "
                "leave it out, or set stand_in=false"
            )
        return self

    @field_validator("chat_template_kwargs")
    @classmethod
    def _are_variables(cls, variables: dict[str, bool | int | float | str]) -> dict[str, bool | int | float | str]:
        for name in variables:
            if not name.isidentifier() or name in WRITTEN_BY_THE_RENDERER:
                raise ValueError(f"chat_template_kwargs.{name} is no variable that a template can be given; remove it")
        return variables


class WarmStartConfig(Section):
    """Supervised fine-tuning on reference answers before GRPO."""

    steps: int = Field(default=300, ge=0)
    """Optimizer steps; 0 leaves the model as published."""
    batch_size: int = Field(default=32, ge=1)
    """Demonstrations a step."""
    accumulation: int = Field(default=1, ge=1)
    """Forward passes a step."""
    learning_rate: float = Field(default=2e-3, gt=0)
    """Peak learning rate; a hub model needs a tenth of it."""
    lora: LoraSection = LoraSection()
    """Size of the adapter."""
    load_in_4bit: bool = False
    """Quantize the model while the adapter learns (QLoRA, 2305.14314)."""

    _parts = model_validator(mode="after")(parts_are_whole)


class OptimizerSection(Section):
    """AdamW."""

    name: Literal["adamw_torch", "adamw_8bit"] = "adamw_torch"
    """torch's, or bitsandbytes' with 8-bit state."""
    beta1: float = Field(default=0.9, ge=0, lt=1)
    """Decay of the mean gradient."""
    beta2: float = Field(default=0.999, ge=0, lt=1)
    """Decay of the mean squared gradient."""
    epsilon: float = Field(default=1e-8, gt=0)
    """Added to the denominator."""
    weight_decay: float = Field(default=0.0, ge=0)
    """Decoupled weight decay."""
    max_grad_norm: float = Field(default=1.0, gt=0)
    """Largest norm of gradients."""


class EntropySection(Section):
    """An entropy bonus in the loss (Skywork-OR1, 2505.22312)."""

    coefficient: float = Field(default=0.0, ge=0)
    """Weight of the bonus; the initial one where adaptive."""
    adaptive: bool = False
    """Move the weight towards the target entropy."""
    target: float = Field(default=0.2, ge=0)
    """Mean token entropy, in nats."""
    smallest: float = Field(default=0.0, ge=0)
    """Least adaptive weight."""
    largest: float = Field(default=0.005, ge=0)
    """Greatest adaptive weight."""
    step: float = Field(default=1e-4, gt=0)
    """Change of the weight a step."""

    @model_validator(mode="after")
    def _the_weight_has_room(self) -> "EntropySection":
        if self.smallest > self.largest:
            raise ValueError(f"smallest {self.smallest} is above largest {self.largest}; swap them")
        if self.adaptive and not self.smallest <= self.coefficient <= self.largest:
            raise ValueError(
                f"coefficient {self.coefficient} is outside of {self.smallest} to {self.largest}, where an adaptive "
                "one stays; set it in between"
            )
        return self


class DynamicSamplingSection(Section):
    """Replacement of groups with equal rewards (DAPO, 2503.14476, 3.2)."""

    extra_groups: int = Field(default=0, ge=0)
    """Most extra groups a step; 0 replaces none."""
    min_spread: float = Field(default=1e-4, gt=0, lt=1)
    """Standard deviation of rewards that is a signal."""


class TaskWeightsSection(Section):
    """More weight for tasks that stagnate (MT-GRPO, 2602.05547)."""

    applies_to: Literal["nothing", "loss", "sampler"] = "nothing"
    """Scale advantages, or set how many prompts of a task a step has."""
    rate: float = Field(default=0.3, ge=0)
    """The paper's beta: how fast weights move."""
    level: float = Field(default=0.2, ge=0)
    """The paper's lambda: how much a high reward lowers a weight."""
    every: int = Field(default=5, ge=1)
    """Steps whose mean rewards are compared."""


class GuidedCorrectionSection(Section):
    """Reference answers for groups without a right one (EDGE-GRPO, 2507.21848)."""

    share: float = Field(default=0.0, ge=0, le=1)
    """Probability that a group's worst completion is replaced; .25 in the paper."""
    threshold: float = Field(default=0.5, gt=0, le=1)
    """Reward of a right answer."""


class PreferencesSection(Section):
    """DPO's pairs from the same rewards."""

    beta: float = Field(default=0.1, gt=0)
    """Pull to the reference policy (2305.18290)."""
    min_gap: float = Field(default=0.1, gt=0, le=1)
    """Least difference of a pair's rewards."""
    prompts: int = Field(default=256, ge=1)
    """Training prompts whose completions are paired."""


class VllmSection(Section):
    """Rollouts by vLLM."""

    enabled: bool = False
    """Sample with vLLM."""
    memory_share: float = Field(default=0.3, gt=0, lt=1)
    """Share of the GPU's memory that it takes."""
    sleep: bool = False
    """Free that memory while nothing is sampled."""


class AlarmsSection(Section):
    """Alarms that are worth a person's attention."""

    stop_on: tuple[AlarmName, ...] = ("non_finite", "one_answer")
    """Alarms that stop the training."""
    patience: int = Field(default=5, ge=1)
    """Steps in a row for which a condition must hold."""
    min_entropy: float = Field(default=0.02, ge=0)
    """Token entropy, in nats, below which the policy has collapsed."""
    max_ceiling_share: float = Field(default=0.5, gt=0, le=1)
    """Share of cut completions that is too high."""
    max_zero_variance: float = Field(default=0.9, gt=0, le=1)
    """Share of groups with equal rewards that is too high."""
    min_hacking_rise: float = Field(default=0.02, ge=0)
    """Rise of a validation reward that is suspicious with a fall:"""
    min_hacking_fall: float = Field(default=0.05, ge=0)
    """Fall of its ground truth at the same time."""
    hacking_patience: int = Field(default=2, ge=1)
    """Validations in a row of both."""
    min_variety: float = Field(default=0.5, ge=0, le=1)
    """Variety of answers, as a share of references', that is too low."""


class PreflightSection(Section):
    """Limits of the checks before training."""

    prompts: int = Field(default=4, ge=1)
    """Prompts that get 8 completions each; for the plan, of each task."""
    wordings: int = Field(default=0, ge=0)
    """Prompts of a task that choose its best wording for the plan."""
    min_distinct: int = Field(default=8, ge=1, le=8)
    """Fewest distinct completions of the 8."""
    max_ceiling_share: float = Field(default=0.5, gt=0, le=1)
    """Largest share of cut completions."""
    min_spread: float = Field(default=0.01, ge=0)
    """Least mean standard deviation of rewards in a group."""
    max_zero_variance: float = Field(default=0.75, gt=0, le=1)
    """Largest share of groups with equal rewards."""
    max_cache_error: float = Field(default=0.1, gt=0)
    """Largest error of logits with the cache, in standard deviations."""
    max_memory_share: float = Field(default=0.92, gt=0, le=1)
    """Largest share of the GPU's memory at the peak."""
    min_prompts_per_task: int = Field(default=150, ge=1)
    """Fewest training prompts of a task."""


class PreemptionSection(Section):
    """A machine that may be preempted."""

    notice_url: str | None = None
    """URL that announces the machine's end; only signals do."""
    notice_seconds: float = Field(default=0.0, ge=0, le=NOTICE_SECONDS)
    """Time from that to a signal, as the machine asks for."""
    seconds: float = Field(default=22.0, gt=0, le=CHILD_SECONDS)
    """Time from a signal to the exit."""
    snapshot_share: float = Field(default=0.02, ge=0, le=1)
    """Share of the time that local checkpoints may cost."""
    lease_seconds: float = Field(default=60.0, ge=1, le=3600)
    """Silence after which others may resume a training."""
