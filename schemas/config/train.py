"""Configuration of training: GRPO with its optional methods, or DPO on the same rewards."""

from math import log
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from schemas.config.section import Section
from schemas.config.train_sections import (
    AlarmsSection,
    DynamicSamplingSection,
    EntropySection,
    GuidedCorrectionSection,
    LoraSection,
    OptimizerSection,
    PreemptionSection,
    PreferencesSection,
    PreflightSection,
    TaskWeightsSection,
    VllmSection,
)
from schemas.tasks import Guided, TaskName

Backend = Literal["transformers", "unsloth"]
GradientCheckpointing = Literal["none", "torch", "unsloth"]


class TrainConfig(Section):
    """GRPO on the adapter, or DPO."""

    interpreter: Path | None = None
    """Python of the trainer's own environment; the running one."""
    algorithm: Literal["grpo", "dpo"] = "grpo"
    """GRPO, or DPO on the same rewards."""
    backend: Backend = "transformers"
    """`unsloth` needs a GPU."""
    seeds: tuple[int, ...] = ()
    """Seeds, each of which trains a policy; the run's own."""
    tasks: Literal["all", "worth"] | tuple[TaskName, ...] = "all"
    """Tasks to train; `worth`: the plan's."""
    adapter_per_task: bool = False
    """Train an adapter for each task instead of one for all."""
    load_in_4bit: bool = True
    """Quantize the frozen weights to NF4."""
    lora: LoraSection = LoraSection()
    """The adapter's size."""
    max_steps: int = Field(default=60, ge=0)
    """Optimizer steps; 0 keeps the model after SFT."""
    prompts_per_step: int = Field(default=4, ge=1)
    """Prompts a sampling step."""
    generations: int = Field(default=8, ge=2)
    """Completions a prompt: the group's size."""
    iterations: int = Field(default=1, ge=1)
    """Optimizer steps on the same completions (GRPO's mu)."""
    accumulation: int = Field(default=1, ge=1)
    """Forward passes a step."""
    gradient_checkpointing: GradientCheckpointing = "none"
    """Recompute activations to save memory (1604.06174)."""
    max_completion_tokens: int = Field(default=128, ge=16)
    """Longest completion, in tokens."""
    temperature: float = Field(default=1.0, gt=0)
    """Sampling temperature of the rollouts."""
    stock_generation: bool = False
    """Use transformers' `generate` on a CPU too."""
    stock_update: bool = False
    """Compute a prompt once for each completion, as TRL does."""
    guided: Guided = "none"
    """Tasks whose rollouts a grammar guides."""
    learning_rate: float = Field(default=1e-3, gt=0)
    """Learning rate for 1,500 training prompts or fewer."""
    learning_rate_at_scale: float | None = Field(default=None, gt=0)
    """For 40,000 prompts or more, log-log between; `learning_rate`."""
    schedule: Literal["constant_with_warmup", "linear", "cosine"] = "constant_with_warmup"
    """Schedule of the learning rate."""
    warmup_share: float = Field(default=0.05, ge=0, lt=1)
    """Share of the steps in which it rises."""
    optimizer: OptimizerSection = OptimizerSection()
    """The optimizer."""
    beta: float = Field(default=0.0, ge=0)
    """Weight of the KL penalty; 0 needs no reference model."""
    epsilon_low: float = Field(default=0.2, gt=0)
    """Lower clip of the probability ratio."""
    epsilon_high: float = Field(default=0.28, gt=0)
    """Upper clip (DAPO's Clip-Higher, 2503.14476, 3.1)."""
    loss: Literal["grpo", "bnpo", "dr_grpo", "dapo"] = "dr_grpo"
    """Aggregation of token losses."""
    scale_rewards: Literal["none", "group", "batch"] = "none"
    """Divisor of advantages; none is Dr. GRPO (2503.20783)."""
    aggregation: Literal["normalize_then_sum", "sum_then_normalize"] = "normalize_then_sum"
    """Normalize each component first is GDPO (2601.05242)."""
    mask_truncated: bool = False
    """Exclude truncated completions (DAPO)."""
    entropy: EntropySection = EntropySection()
    """An entropy bonus in the loss."""
    dynamic_sampling: DynamicSamplingSection = DynamicSamplingSection()
    """Replacement of groups without a learning signal."""
    task_weights: TaskWeightsSection = TaskWeightsSection()
    """More weight for tasks that stagnate."""
    guided_correction: GuidedCorrectionSection = GuidedCorrectionSection()
    """Reference answers for groups without a right one."""
    preferences: PreferencesSection = PreferencesSection()
    """DPO's preference pairs."""
    vllm: VllmSection = VllmSection()
    """Sampling with vLLM."""
    save_every: int = Field(default=10, ge=1)
    """Steps between mirrored checkpoints."""
    keep_checkpoints: int = Field(default=3, ge=1)
    """Newest checkpoints kept beside the best."""
    evaluate_every: int = Field(default=10, ge=1)
    """Steps between evaluations on validation prompts."""
    patience: int = Field(default=4, ge=1)
    """Evaluations without improvement that end training."""
    alarms: AlarmsSection = AlarmsSection()
    """Alarms during training."""
    preflight: PreflightSection = PreflightSection()
    """Checks before training."""
    preemption: PreemptionSection = PreemptionSection()
    """Protection against the loss of the machine."""
    device_memory_gb: float | None = Field(default=None, gt=0)
    """Memory of the recipe's GPU in 10^9 bytes; unchecked."""
    price_per_hour: float = Field(default=0.0, ge=0)
    """US dollars an hour of the training machine."""

    @property
    def completions_per_step(self) -> int:
        """Return how many completions are sampled per step."""
        return self.prompts_per_step * self.generations

    @property
    def sampled_completions(self) -> int:
        """Return how many completions a whole training samples."""
        return self.max_steps // self.iterations * self.completions_per_step

    @property
    def completions_per_pass(self) -> int:
        """Return the number of completions in one forward pass."""
        return self.completions_per_step // self.accumulation

    def learning_rate_for(self, prompts: int) -> float:
        """Return the learning rate for so many training prompts."""
        if self.learning_rate_at_scale is None:
            return self.learning_rate
        few, many = 1_500, 40_000
        place = log(min(max(prompts, few), many) / few) / log(many / few)
        return float(self.learning_rate ** (1 - place) * self.learning_rate_at_scale**place)

    @model_validator(mode="after")
    def _settings_fit_together(self) -> "TrainConfig":
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
        if self.adapter_per_task and self.task_weights.applies_to != "nothing":
            raise ValueError(
                "adapter_per_task trains each task alone, and task_weights weighs tasks against each other; set "
                "task_weights.applies_to='nothing' with it"
            )
        if len(set(self.seeds)) != len(self.seeds) or any(seed < 0 for seed in self.seeds):
            raise ValueError(f"seeds {list(self.seeds)} must be different, and each 0 or more")
        if self.guided != "none" and self.algorithm == "dpo":
            raise ValueError(
                f"guided '{self.guided}' with algorithm 'dpo' is not possible, because its loss compares whole answers "
                "of the unguided policy; set guided='none'"
            )
        if self.guided != "none" and self.vllm.enabled:
            # As of TRL 1.15.
            raise ValueError(
                f"guided '{self.guided}' with vllm.enabled is not possible, because TRL hands vLLM one grammar for all "
                "prompts; set vllm.enabled=false, or guided='none'"
            )
        return self

    @model_validator(mode="after")
    def _the_backend_can_do_it(self) -> "TrainConfig":
        if self.backend == "transformers":
            if self.gradient_checkpointing == "unsloth":
                raise ValueError(
                    "gradient_checkpointing 'unsloth' needs backend='unsloth'; set gradient_checkpointing='torch'"
                )
            if self.vllm.enabled and self.load_in_4bit:
                # TRL pushes the packed weights, which vLLM has no parameter for: TRL's issue 4973.
                raise ValueError(
                    "vllm.enabled with load_in_4bit needs backend='unsloth', because TRL cannot hand quantized weights "
                    "to vLLM; set load_in_4bit=false, which takes 0.6 GB more for 0.5B parameters"
                )
            return self
        left_out: dict[str, object] = {
            # Its loss ignores an adaptive coefficient, with a warning; a fixed one counts.
            "entropy.adaptive": self.entropy.adaptive,
            # Its configuration silently puts "none" in the place of "group".
            "scale_rewards 'group' with loss 'dr_grpo'": self.scale_rewards == "group" and self.loss == "dr_grpo",
            # Only its replacements in the GRPO trainer were reviewed.
            "algorithm 'dpo'": self.algorithm == "dpo",
            # Its loss computes log-probabilities from hidden states, where no token can be forbidden.
            f"guided '{self.guided}'": self.guided != "none",
            # Its vLLM shares the policy's own weights, which must be neither freed nor on another device.
            "vllm.sleep": self.vllm.enabled and self.vllm.sleep,
        }
        for setting, asked_for in left_out.items():
            if asked_for:
                raise ValueError(f"{setting} is not possible with backend 'unsloth'; set backend='transformers'")
        return self
