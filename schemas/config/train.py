"""How a policy is trained: GRPO and what can be switched on beside it, or DPO on the same rewards."""

from math import log
from pathlib import Path
from typing import Literal, get_args

from pydantic import Field, model_validator

from schemas.section import Section

Backend = Literal["transformers", "unsloth"]
AlarmName = Literal["entropy_collapse", "ceiling", "zero_variance", "reward_hacking", "non_finite"]
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
    """What keeps its division from zero."""
    weight_decay: float = Field(default=0.0, ge=0)
    """Decoupled weight decay."""
    max_grad_norm: float = Field(default=1.0, gt=0)
    """Gradients with a larger norm are scaled down to it."""


class EntropySection(Section):
    """A bonus for the policy's entropy in the loss (Skywork-OR1, 2505.22312)."""

    coefficient: float = Field(default=0.0, ge=0)
    """Weight of the bonus, where it is adaptive the first one; 0 and not adaptive is no bonus."""
    adaptive: bool = False
    """Step the weight up while the entropy is at most the target, and down while it is above; above it none counts."""
    target: float = Field(default=0.2, ge=0)
    """Mean entropy of a completion's tokens, in nats."""
    smallest: float = Field(default=0.0, ge=0)
    """Least weight of an adaptive bonus."""
    largest: float = Field(default=0.005, ge=0)
    """Greatest weight of an adaptive bonus."""
    step: float = Field(default=1e-4, gt=0)
    """How far one optimizer step moves an adaptive bonus's weight."""

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
    """Groups whose completions all earned the same are replaced by others (DAPO, 2503.14476, 3.2)."""

    extra_groups: int = Field(default=0, ge=0)
    """Most groups that one step may sample beyond its own; 0 replaces none."""
    min_spread: float = Field(default=1e-4, gt=0, lt=1)
    """Standard deviation of a group's rewards below which there is nothing to learn from it."""


class TaskWeightsSection(Section):
    """Tasks that stagnate get more weight (MT-GRPO, 2602.05547)."""

    applies_to: Literal["nothing", "loss", "sampler"] = "nothing"
    """What the weights decide: each task's advantages, while prompts come in the dataset's mix; or, as the paper does,
    how many prompts of it a step has, more where many of them teach nothing."""
    rate: float = Field(default=0.3, ge=0)
    """The paper's beta: how fast weights move; at 0 all tasks stay alike, and the sampler alone acts. The authors leave
    their 0.025 to Adam; as a plain step it would move a share by less than 0.01 in 1,500 steps."""
    level: float = Field(default=0.2, ge=0)
    """The paper's lambda: how much a high reward, beside a rising one, lowers a task's weight."""
    every: int = Field(default=5, ge=1)
    """Steps whose mean rewards are compared with those before: one step has too few prompts of a task."""


class GuidedCorrectionSection(Section):
    """Groups without a right answer are sometimes given the reference's (EDGE-GRPO, 2507.21848)."""

    share: float = Field(default=0.0, ge=0, le=1)
    """Chance that such a group gets it, in place of its worst completion; the paper's is 0.25, and 0 gives none."""
    threshold: float = Field(default=0.5, gt=0, le=1)
    """Reward that a right answer earns."""


class CurriculumStage(Section):
    """A stretch of training with shorter completions."""

    until_step: int = Field(ge=1)
    """Last step of the stretch."""
    max_completion_tokens: int = Field(ge=16)
    """Longest completion in it, in tokens."""


class PreferencesSection(Section):
    """DPO on pairs that the same rewards make: the alternative to GRPO."""

    beta: float = Field(default=0.1, gt=0)
    """Strength of the pull to the reference policy (2305.18290)."""
    min_gap: float = Field(default=0.1, gt=0, le=1)
    """Least difference of two completions' rewards that makes them a pair."""
    prompts: int = Field(default=256, ge=1)
    """Training prompts whose completions are paired; all where there are fewer."""


class VllmSection(Section):
    """Rollouts by vLLM on the same GPU."""

    enabled: bool = False
    """Whether vLLM samples the completions; transformers does where not."""
    memory_share: float = Field(default=0.3, gt=0, lt=1)
    """Share of the GPU's memory that it takes."""


class AlarmsSection(Section):
    """What is worth waking somebody up for."""

    stop_on: tuple[AlarmName, ...] = ("non_finite",)
    """Alarms that stop the training, with its checkpoints kept; the others are only shown."""
    patience: int = Field(default=5, ge=1)
    """Steps in a row that something must be wrong; a loss that is not finite waits for none."""
    min_entropy: float = Field(default=0.02, ge=0)
    """Mean entropy of completion tokens, in nats, below which the policy has collapsed. With `iterations` above 1 it
    has only where no probability ratio is clipped either; with 1 none ever is, and the entropy alone decides."""
    max_ceiling_share: float = Field(default=0.5, gt=0, le=1)
    """Share of completions cut off at the token limit from which on that limit is too low."""
    max_zero_variance: float = Field(default=0.9, gt=0, le=1)
    """Share of groups whose completions all earned the same from which on too little is learnt."""
    min_hacking_rise: float = Field(default=0.02, ge=0)
    """Rise of a task's validation reward since step 0 that is suspicious where its ground truth fell."""
    min_hacking_fall: float = Field(default=0.05, ge=0)
    """Fall of a task's ground truth, the mean of its metrics, since step 0 that makes a rising reward suspicious."""
    hacking_patience: int = Field(default=2, ge=1)
    """Validations in a row that reward and ground truth must have parted so."""


class PreflightSection(Section):
    """Two minutes that save 22 hours: limits of what is checked before training starts."""

    prompts: int = Field(default=4, ge=1)
    """Training prompts that get a group of 8 completions each."""
    min_distinct: int = Field(default=8, ge=1, le=8)
    """Distinct completions of the 8 that one prompt gets: fewer are a temperature that leaks."""
    max_ceiling_share: float = Field(default=0.5, gt=0, le=1)
    """Largest share of completions cut off at the token limit."""
    min_spread: float = Field(default=0.01, ge=0)
    """Least mean standard deviation of rewards within a group."""
    max_zero_variance: float = Field(default=0.75, gt=0, le=1)
    """Largest share of groups whose completions all earn the same."""
    max_cache_error: float = Field(default=0.1, gt=0)
    """Largest error of the logits with the key-value cache, as a share of their standard deviation; bfloat16 alone
    makes some hundredths."""
    max_cache_ratio: float = Field(default=5.0, gt=0)
    """Largest time of generation with the key-value cache, as a multiple of the time without. Whether it spares work is
    counted in tokens: on a small model, time does not tell."""
    max_merge_drift: float = Field(default=1e-2, gt=0)
    """Largest change of a logit by 50 cycles of merging and unmerging the adapter."""
    max_memory_share: float = Field(default=0.92, gt=0, le=1)
    """Largest share of the GPU's memory that a training step may take at its peak."""
    min_prompts_per_task: int = Field(default=150, ge=1)
    """Fewest training prompts of a task: the final report's push learned nothing from some 150."""


class PreemptionSection(Section):
    """A machine that may be taken away at any moment: what is kept, and how fast it leaves."""

    notice_url: str | None = None
    """Where the machine's end is announced: asked again and again, each time until the answer is `TRUE` or a while has
    passed; a signal alone tells of it where not set."""
    seconds: float = Field(default=25.0, gt=0, le=27)
    """Time from the notice to the exit, of the 30 seconds that a Spot machine gives: what is left of it decides whether
    the step under way is finished."""
    snapshot_share: float = Field(default=0.02, ge=0, le=1)
    """Share of the time that checkpoints on the local disk may cost, beside those that are mirrored: one after every
    step where a step is long enough, after every few where it is not; 0 writes none."""
    lease_seconds: float = Field(default=60.0, ge=1, le=3600)
    """How long a worker that says nothing keeps others from going on with its training."""


class TrainConfig(Section):
    """GRPO on the adapter, or DPO."""

    interpreter: Path | None = None
    """Python of the trainer's own environment; the running one where not set."""
    algorithm: Literal["grpo", "dpo"] = "grpo"
    """DPO reads of what follows the adapter, the optimizer, the sampling, the steps and `preferences`."""
    backend: Backend = "transformers"
    """`transformers` with PEFT and bitsandbytes runs everywhere; `unsloth` needs a GPU."""
    seeds: tuple[int, ...] = ()
    """Seeds that a policy each is trained with, on the same data; the run's own where none is named."""
    concurrent_trainings: int = Field(default=1, ge=1)
    """Trainings under way at once, of several seeds or tasks."""
    adapter_per_task: bool = False
    """Train an adapter for each task on that task's prompts alone, instead of one for all."""
    load_in_4bit: bool = True
    """Quantize the frozen weights to NF4 with bitsandbytes."""
    lora: LoraSection = LoraSection()
    """The adapter's size."""
    max_steps: int = Field(default=60, ge=1)
    """Optimizer steps; in TRL this always wins over epochs."""
    prompts_per_step: int = Field(default=4, ge=1)
    """Prompts that completions are sampled for at once; each gets `generations` of them."""
    generations: int = Field(default=8, ge=2)
    """Completions a prompt: the size of the group that advantages are relative to."""
    iterations: int = Field(default=1, ge=1)
    """Optimizer steps on the same completions (GRPO's mu). With 1, the probability ratio is 1, and no clip acts."""
    accumulation: int = Field(default=1, ge=1)
    """Forward passes that a step's completions are divided among, to save memory."""
    max_completion_tokens: int = Field(default=128, ge=16)
    """Longest completion, in tokens."""
    curriculum: tuple[CurriculumStage, ...] = ()
    """Stretches with shorter completions, in their order (Skywork-OR1); afterwards the longest are allowed."""
    temperature: float = Field(default=1.0, gt=0)
    """Sampling temperature of the rollouts."""
    top_p: float = Field(default=1.0, gt=0, le=1)
    """Probability mass that tokens are sampled from."""
    top_k: int = Field(default=0, ge=0)
    """Likeliest tokens that are sampled from; 0 is all."""
    learning_rate: float = Field(default=1e-3, gt=0)
    """Learning rate after the warm-up, for 1,500 training prompts or fewer."""
    learning_rate_at_scale: float | None = Field(default=None, gt=0)
    """Learning rate for 40,000 training prompts or more, for which published rates are made; in between it follows a
    straight line of both logarithms. `learning_rate` for any number where not set."""
    schedule: Literal["constant_with_warmup", "linear", "cosine"] = "constant_with_warmup"
    """The source project's cosine had fallen to nothing after a fifth of its steps."""
    warmup_share: float = Field(default=0.05, ge=0, lt=1)
    """Share of the steps over which the learning rate rises."""
    optimizer: OptimizerSection = OptimizerSection()
    """What applies the gradients."""
    beta: float = Field(default=0.0, ge=0)
    """Weight of the KL penalty; 0 needs no reference model (Dr. GRPO, 2503.20783)."""
    epsilon_low: float = Field(default=0.2, gt=0)
    """Lower clip of the probability ratio."""
    epsilon_high: float = Field(default=0.28, gt=0)
    """Upper clip of the probability ratio (DAPO's Clip-Higher, 2503.14476, 3.1)."""
    loss: Literal["grpo", "bnpo", "dr_grpo", "dapo"] = "dr_grpo"
    """How token losses become one: means of means, or one mean over all tokens, over B x L, over the batch."""
    scale_rewards: Literal["none", "group", "batch"] = "none"
    """What advantages are divided by: nothing (Dr. GRPO), or a standard deviation. GDPO has its own scale."""
    aggregation: Literal["normalize_then_sum", "sum_then_normalize"] = "normalize_then_sum"
    """GDPO (2601.05242) normalizes each component by itself; the other sums them first."""
    baseline: Literal["mean", "median"] = "mean"
    """What a completion's reward is compared with: its group's mean, or median (MC-GRPO, 2601.22582)."""
    entropy_advantages: bool = False
    """Scale advantages by the inverse of each completion's entropy (EDGE-GRPO, 2507.21848)."""
    block_advantages: bool = False
    """Give an answer's parts advantages of their own (BAE, 2602.10231): the fields of a JSON object, or reasoning and
    answer."""
    content_threshold: float = Field(default=0.0, ge=0, le=1)
    """Content that a completion must reach before its form counts (GDPO, 3.2); 0 always counts it."""
    mask_truncated: bool = False
    """Leave completions that were cut off out of the loss (DAPO's overlong masking)."""
    entropy: EntropySection = EntropySection()
    """A bonus for entropy in the loss."""
    dynamic_sampling: DynamicSamplingSection = DynamicSamplingSection()
    """Replacement of groups that teach nothing."""
    task_weights: TaskWeightsSection = TaskWeightsSection()
    """More weight for tasks that stagnate."""
    guided_correction: GuidedCorrectionSection = GuidedCorrectionSection()
    """Right answers for groups that have none."""
    preferences: PreferencesSection = PreferencesSection()
    """DPO's pairs."""
    vllm: VllmSection = VllmSection()
    """Who samples completions."""
    save_every: int = Field(default=10, ge=1)
    """Steps between checkpoints that are mirrored; one with a better adapter than before is mirrored too."""
    keep_checkpoints: int = Field(default=3, ge=1)
    """Newest checkpoints that the mirror keeps, beside the best one; each holds the best adapter so far."""
    evaluate_every: int = Field(default=10, ge=1)
    """Steps between evaluations on the validation split."""
    patience: int = Field(default=4, ge=1)
    """Evaluations without improvement after which training stops."""
    export_merged: bool = False
    """Write the base with the adapter merged into it beside the adapter."""
    alarms: AlarmsSection = AlarmsSection()
    """What is watched while it trains."""
    preflight: PreflightSection = PreflightSection()
    """What is checked before it trains."""
    preemption: PreemptionSection = PreemptionSection()
    """What is done against the loss of the machine."""
    price_per_hour: float = Field(default=0.0, ge=0)
    """Price of an hour of the machine that trains, in US dollars."""

    @property
    def completions_per_step(self) -> int:
        """Return how many completions are sampled at once."""
        return self.prompts_per_step * self.generations

    def learning_rate_for(self, prompts: int) -> float:
        """Return the learning rate for so many training prompts."""
        if self.learning_rate_at_scale is None:
            return self.learning_rate
        few, many = 1_500, 40_000
        place = log(min(max(prompts, few), many) / few) / log(many / few)
        return float(self.learning_rate ** (1 - place) * self.learning_rate_at_scale**place)

    @model_validator(mode="after")
    def _steps_fit_together(self) -> "TrainConfig":
        if self.completions_per_step % self.accumulation:
            raise ValueError(
                f"accumulation {self.accumulation} does not divide the {self.completions_per_step} completions of a "
                f"step ({self.prompts_per_step} prompts x {self.generations} generations); set one that does"
            )
        if self.epsilon_high < self.epsilon_low:
            raise ValueError(
                f"epsilon_high {self.epsilon_high} is below epsilon_low {self.epsilon_low}, which would hold "
                "exploration back; Clip-Higher needs it higher"
            )
        steps = [stage.until_step for stage in self.curriculum]
        lengths = [*(stage.max_completion_tokens for stage in self.curriculum), self.max_completion_tokens]
        if steps != sorted(set(steps)) or lengths != sorted(lengths):
            raise ValueError(
                "curriculum must have its stages in order, each longer than the one before and none longer than "
                f"max_completion_tokens {self.max_completion_tokens}"
            )
        return self

    @model_validator(mode="after")
    def _the_backend_can_do_it(self) -> "TrainConfig":
        if self.backend == "transformers":
            if self.vllm.enabled and self.load_in_4bit:
                # TRL pushes the packed weights, for which vLLM has no place: TRL's issue 4973.
                raise ValueError(
                    "vllm.enabled with load_in_4bit needs backend='unsloth', because TRL cannot hand quantized weights "
                    "to vLLM; set load_in_4bit=false, which takes 0.6 GB more for 0.5B parameters"
                )
            return self
        left_out = {
            # Its loss ignores an adaptive coefficient, with a warning; a fixed one counts.
            "entropy.adaptive": self.entropy.adaptive,
            # Its log-probabilities come without entropies.
            "entropy_advantages": self.entropy_advantages,
            # It moves completions to the left of their padding, and advantages by token stay where they were.
            "block_advantages": self.block_advantages,
            # Only its trainer for GRPO was read for what it replaces.
            "algorithm 'dpo'": self.algorithm == "dpo",
        }
        for setting, asked_for in left_out.items():
            if asked_for:
                raise ValueError(f"{setting} is not possible with backend 'unsloth'; set backend='transformers'")
        return self

    @model_validator(mode="after")
    def _advantages_fit_together(self) -> "TrainConfig":
        if self.baseline == "median":
            if self.generations % 2 == 0:
                raise ValueError(
                    f"baseline 'median' needs an odd number of generations, of which the median is one, and there are "
                    f"{self.generations}; set generations={self.generations + 1}"
                )
            if self.aggregation == "normalize_then_sum" or self.block_advantages:
                raise ValueError(
                    "baseline 'median' is one of the whole reward, and GDPO and block_advantages have their own; set "
                    "aggregation='sum_then_normalize' and block_advantages=false with it"
                )
        if self.adapter_per_task and self.task_weights.applies_to != "nothing":
            raise ValueError(
                "adapter_per_task trains each task alone, and task_weights weighs tasks against each other; set "
                "task_weights.applies_to='nothing' with it"
            )
        if self.algorithm == "dpo" and (self.top_p != 1 or self.top_k):
            raise ValueError(
                f"algorithm 'dpo' samples from all tokens, and top_p is {self.top_p} and top_k {self.top_k}; set "
                "top_p=1.0 and top_k=0"
            )
        if len(set(self.seeds)) != len(self.seeds) or any(seed < 0 for seed in self.seeds):
            raise ValueError(f"seeds {list(self.seeds)} must be different, and each 0 or more")
        return self
