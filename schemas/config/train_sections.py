"""Sections of the training configuration: adapter, optimizer, optional methods, vLLM, alarms and limits."""

from typing import Literal, get_args

from pydantic import Field, model_validator

from schemas.config.section import Section

AlarmName = Literal["entropy_collapse", "ceiling", "zero_variance", "reward_hacking", "one_answer", "non_finite"]
ALARM_NAMES: tuple[AlarmName, ...] = get_args(AlarmName)


class LoraSection(Section):
    """The adapter, on all linear layers."""

    rank: int = Field(default=16, ge=1)
    """LoRA's r."""
    alpha: int = Field(default=32, ge=1)
    """LoRA's alpha."""


class OptimizerSection(Section):
    """AdamW."""

    name: Literal["adamw_torch", "adamw_8bit"] = "adamw_torch"
    """torch's own, or bitsandbytes' with its state in 8 bits."""
    beta1: float = Field(default=0.9, ge=0, lt=1)
    """Decay of the mean of gradients."""
    beta2: float = Field(default=0.999, ge=0, lt=1)
    """Decay of the mean of squared gradients."""
    epsilon: float = Field(default=1e-8, gt=0)
    """Added to the denominator, so that it is not zero."""
    weight_decay: float = Field(default=0.0, ge=0)
    """Decoupled weight decay."""
    max_grad_norm: float = Field(default=1.0, gt=0)
    """Gradients with a larger norm are scaled down to it."""


class EntropySection(Section):
    """An entropy bonus in the loss (Skywork-OR1, 2505.22312)."""

    coefficient: float = Field(default=0.0, ge=0)
    """Weight of the bonus, or its initial weight where adaptive; 0 and not adaptive is no bonus."""
    adaptive: bool = False
    """Raise the weight while the entropy is at most the target, and lower it while above, where no bonus counts."""
    target: float = Field(default=0.2, ge=0)
    """Mean entropy of a completion's tokens, in nats."""
    smallest: float = Field(default=0.0, ge=0)
    """Least weight of an adaptive bonus."""
    largest: float = Field(default=0.005, ge=0)
    """Greatest weight of an adaptive bonus."""
    step: float = Field(default=1e-4, gt=0)
    """Change of an adaptive bonus's weight in one optimizer step."""

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
    """Replacement of groups whose completions all have the same reward (DAPO, 2503.14476, 3.2)."""

    extra_groups: int = Field(default=0, ge=0)
    """Most extra groups that one step may sample; 0 replaces none."""
    min_spread: float = Field(default=1e-4, gt=0, lt=1)
    """Standard deviation of a group's rewards below which it has no learning signal."""


class TaskWeightsSection(Section):
    """More weight for tasks that stagnate (MT-GRPO, 2602.05547)."""

    applies_to: Literal["nothing", "loss", "sampler"] = "nothing"
    """Effect of the weights: scale each task's advantages, while prompts come in the dataset's mix; or, as in the
    paper, set how many prompts of it a step has, more where many of them teach nothing."""
    rate: float = Field(default=0.3, ge=0)
    """The paper's beta, the rate at which weights move; at 0 all weights stay equal, and the sampler alone acts. The
    authors leave their 0.025 to Adam; as a plain step it would move a share by less than 0.01 in 1,500 steps."""
    level: float = Field(default=0.2, ge=0)
    """The paper's lambda: how much a high reward, as opposed to a rising one, lowers a task's weight."""
    every: int = Field(default=5, ge=1)
    """Steps whose mean rewards are compared with those before: one step has too few prompts of a task."""


class GuidedCorrectionSection(Section):
    """Reference answers, at random, for groups without a right answer (EDGE-GRPO, 2507.21848)."""

    share: float = Field(default=0.0, ge=0, le=1)
    """Probability that such a group gets one, in place of its worst completion; 0.25 in the paper, and 0 for none."""
    threshold: float = Field(default=0.5, gt=0, le=1)
    """Reward of a right answer."""


class PreferencesSection(Section):
    """DPO on preference pairs from the same rewards, as the alternative to GRPO."""

    beta: float = Field(default=0.1, gt=0)
    """Strength of the pull to the reference policy (2305.18290)."""
    min_gap: float = Field(default=0.1, gt=0, le=1)
    """Least difference of two completions' rewards for a pair."""
    prompts: int = Field(default=256, ge=1)
    """Training prompts whose completions are paired; all where there are fewer."""


class VllmSection(Section):
    """Rollouts by vLLM, on the same GPU."""

    enabled: bool = False
    """Sample completions with vLLM instead of transformers."""
    memory_share: float = Field(default=0.3, gt=0, lt=1)
    """Share of the GPU's memory that it takes."""
    sleep: bool = False
    """Free that memory whenever nothing is sampled, so that it and a step's peak never add up; vLLM then receives all
    weights before each sampling, not only after a step."""

    @property
    def share_of_card(self) -> float:
        """Return the share of the trainer's GPU that vLLM takes: during sampling if it sleeps, else all the time."""
        return self.memory_share if self.enabled else 0.0


class AlarmsSection(Section):
    """Alarms that are worth a person's attention."""

    stop_on: tuple[AlarmName, ...] = ("non_finite",)
    """Alarms that stop the training, with its checkpoints kept; the others are only shown."""
    patience: int = Field(default=5, ge=1)
    """Steps in a row for which a condition must hold; a loss that is not finite raises its alarm at once."""
    min_entropy: float = Field(default=0.02, ge=0)
    """Mean entropy of completion tokens, in nats, below which the policy has collapsed. With `iterations` above 1 also
    no probability ratio may be clipped; with 1 none ever is, and the entropy alone decides."""
    max_ceiling_share: float = Field(default=0.5, gt=0, le=1)
    """Share of completions cut off at the token limit above which that limit is too low."""
    max_zero_variance: float = Field(default=0.9, gt=0, le=1)
    """Share of groups with equal rewards above which too little is learnt."""
    min_hacking_rise: float = Field(default=0.02, ge=0)
    """Rise of a task's validation reward since step 0 that is suspicious if its ground truth fell."""
    min_hacking_fall: float = Field(default=0.05, ge=0)
    """Fall of a task's ground truth, the mean of its metrics, since step 0 that makes a rising reward suspicious."""
    hacking_patience: int = Field(default=2, ge=1)
    """Validations in a row in which reward and ground truth must have diverged so."""
    min_variety: float = Field(default=0.5, ge=0, le=1)
    """Variety of a task's validation answers, as a share of its references', below which a policy that was more varied
    at step 0 answers all prompts alike; 0 is a constant text."""


class PreflightSection(Section):
    """Limits of the checks before training: two minutes that save 22 hours."""

    prompts: int = Field(default=4, ge=1)
    """Training prompts that get a group of 8 completions each."""
    min_distinct: int = Field(default=8, ge=1, le=8)
    """Distinct completions of the 8 of one prompt: fewer mean that a temperature other than the configured one is in
    effect."""
    max_ceiling_share: float = Field(default=0.5, gt=0, le=1)
    """Largest share of completions cut off at the token limit."""
    min_spread: float = Field(default=0.01, ge=0)
    """Least mean standard deviation of rewards within a group."""
    max_zero_variance: float = Field(default=0.75, gt=0, le=1)
    """Largest share of groups whose completions all have the same reward."""
    max_cache_error: float = Field(default=0.1, gt=0)
    """Largest error of the logits with the key-value cache, as a share of their standard deviation; bfloat16 alone
    causes some hundredths."""
    max_merge_drift: float = Field(default=1e-2, gt=0)
    """Largest change of a logit by 50 cycles of merging and unmerging the adapter, in float32: measured on the base's
    first two layers, and extrapolated to all of them."""
    max_memory_share: float = Field(default=0.92, gt=0, le=1)
    """Largest share of the GPU's memory at the peak of a training step."""
    min_prompts_per_task: int = Field(default=150, ge=1)
    """Fewest training prompts of a task: the V4.2 report's push learned nothing from some 150."""


class PreemptionSection(Section):
    """Handling of a machine that may be preempted: snapshots, leases, and time to exit."""

    notice_url: str | None = None
    """URL that announces the machine's end: polled, each request lasting until the answer is `TRUE` or a while has
    passed; only a signal announces it where not set."""
    seconds: float = Field(default=25.0, gt=0, le=27)
    """Time from the notice to the exit, of the 30 seconds that a Spot machine gives: the rest of it decides whether the
    current step is finished."""
    snapshot_share: float = Field(default=0.02, ge=0, le=1)
    """Share of the time that local checkpoints may cost, in addition to the mirrored ones: one after every step where a
    step is long enough, after every few where it is not; 0 writes none."""
    lease_seconds: float = Field(default=60.0, ge=1, le=3600)
    """Time without a sign of life after which others may resume a worker's training."""
