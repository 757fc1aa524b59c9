"""Dry run of one training step: its effect and memory, measured before the first real step."""

import copy
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

import numpy as np
import torch

from schemas.tables.prompts import PromptRow
from tasks.policy.vllm_sleep import asleep_bytes
from tasks.train.grpo.rollouts import RolloutGroups

COUNTED: Final = (
    "state",
    "generation_config",
    "current_gradient_accumulation_steps",
    "_step",
    "_metrics",
    "_logs",
    "_pending_extra_logs",
    "_pending_metrics",
    "_buffered_inputs",
    "_current_train_step_time",
    "_total_train_tokens",
    "entropy_coef",
    "_last_world_entropy",
    "_entropy_window_stats",
    "seconds",
    "sampled_tokens",
    "draws",
)
"""Attributes of the trainer, and of its generator, that count steps or decide how completions are sampled."""

# Of `CommerceGRPOTrainer`.
GENERATOR: Final = "rollout_generator"
ADVANTAGES: Final = "_advantages"
ON_ROLLOUTS: Final = "_on_rollouts"


@dataclass(frozen=True)
class DryStep:
    """Measurements of a trial training step."""

    loss: float
    gradient_norm: float
    """Norm of all gradients together, before clipping."""
    moved: frozenset[str]
    """Names of the parameters that the step changed."""
    seconds: float
    peak_bytes: int | None
    """Peak of the GPU's memory; None without one."""

    @property
    def finite(self) -> bool:
        """Return whether loss and gradients are finite."""
        return torch.isfinite(torch.tensor([self.loss, self.gradient_norm])).all().item() is True


def dry_run_step(trainer: Any, learning_rate: float, longest: PromptRow | None = None) -> DryStep:
    """Take one optimizer step on the trainer's next batches, and restore everything."""
    on_gpu = torch.cuda.is_available()
    passes = trainer.args.gradient_accumulation_steps
    model = trainer.model
    with unchanged(trainer), _something_to_learn(trainer), _at_full_length(trainer, longest) as sampling:
        trainer.current_gradient_accumulation_steps = passes
        batches = _first_batches(trainer, passes) if longest is None else _longest_batches(trainer, passes)
        # On the host, where the copies do not count toward the measured peak.
        before = {name: parameter.detach().to("cpu", copy=True) for name, parameter in model.named_parameters()}
        # Weight decay moves parameters without a gradient, and would hide that they have none.
        optimizer = torch.optim.AdamW(
            [parameter for parameter in model.parameters() if parameter.requires_grad],
            lr=learning_rate,
            weight_decay=0.0,
        )
        if on_gpu:
            torch.cuda.reset_peak_memory_stats()
        started = time.perf_counter()
        model.train()
        loss = sum(float(trainer.training_step(model, batch, None)) for batch in batches)
        gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients) if gradients else torch.tensor(0.0)
        optimizer.step()
        optimizer.zero_grad()
        seconds = time.perf_counter() - started
        peak = max(sampling.peak, torch.cuda.max_memory_allocated() - asleep_bytes()) if on_gpu else None
        # Detached: `cpu()` of an NF4 weight moves its quantization state too, in place, but not the weight.
        moved = frozenset(
            name
            for name, parameter in model.named_parameters()
            if not torch.equal(before[name], parameter.detach().to("cpu"))
        )
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if name in moved:
                    parameter.copy_(before[name])
    return DryStep(loss, float(norm), moved, seconds, peak)


def _first_batches(trainer: Any, count: int) -> list[Any]:
    loader = trainer.get_train_dataloader()
    batches = list(islice(loader, count))
    # An unfinished loader would remain accelerate's active one.
    loader.end()
    return batches


def _longest_batches(trainer: Any, count: int) -> list[Any]:
    if hasattr(trainer, GENERATOR):
        # It draws its own prompts and ignores the batch.
        return _first_batches(trainer, count)
    pairs = trainer.train_dataset
    columns = (pairs["prompt_ids"], pairs["chosen_ids"], pairs["rejected_ids"])
    lengths = [len(prompt) + max(len(chosen), len(rejected)) for prompt, chosen, rejected in zip(*columns, strict=True)]
    by_length = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    batch = trainer.data_collator([pairs[place] for place in by_length[: trainer.args.per_device_train_batch_size]])
    return [batch] * count


@dataclass
class _Sampling:
    """Memory of the trial step's sampling."""

    peak: int = 0
    """Peak bytes of the GPU until the completions were sampled; 0 if nothing was sampled, or without a GPU."""


@contextmanager
def _at_full_length(trainer: Any, longest: PromptRow | None) -> Iterator[_Sampling]:
    """Make a trainer that samples its own completions sample full-length ones of one prompt.

    They end where they stop: some recipes mask truncated completions, which would leave nothing to learn. The peak of
    sampling is recorded separately: a vLLM that sleeps afterwards releases memory that torch still counts.
    """
    sampling = _Sampling()
    if longest is None or not hasattr(trainer, GENERATOR):
        yield sampling
        return
    generator = getattr(trainer, GENERATOR)
    real = generator.sample
    limit, end = trainer.max_completion_length, trainer.eos_token_ids[0]

    def sample(prompts: Sequence[PromptRow], _: int) -> RolloutGroups:
        if not trainer.use_vllm:
            # vLLM holds the memory of its cache whatever it samples.
            trainer.generation_config.min_new_tokens = limit
        rollouts: RolloutGroups = real([longest] * len(prompts), limit)
        if torch.cuda.is_available():
            sampling.peak = max(sampling.peak, torch.cuda.max_memory_allocated())
            torch.cuda.reset_peak_memory_stats()
        sampled = rollouts.log_probabilities
        return replace(
            rollouts,
            completion_ids=[[*(ids + [end] * limit)[: limit - 1], end] for ids in rollouts.completion_ids],
            log_probabilities=None
            if sampled is None
            else [(of_tokens + [0.0] * limit)[:limit] for of_tokens in sampled],
        )

    # A grammar that ends an answer and a least length forbid every token between them.
    with _replaced(generator, "sample", sample), _replaced(generator, "guided", False):
        yield sampling


@contextmanager
def _replaced(owner: Any, name: str, value: Callable[..., Any] | bool) -> Iterator[None]:
    vars(owner)[name] = value
    try:
        yield
    finally:
        del vars(owner)[name]


@contextmanager
def _something_to_learn(trainer: Any) -> Iterator[None]:
    """Substitute advantages for a batch whose completions all earned the same; otherwise nothing would move.

    Differing rewards are a separate check; this one shows what a step moves in any case.
    """
    if not hasattr(trainer, ADVANTAGES):
        yield
        return
    real = getattr(trainer, ADVANTAGES)

    def advantages(chosen: RolloutGroups, output: Mapping[str, Any]) -> torch.Tensor:
        found: torch.Tensor = real(chosen, output)
        if found.any():
            return found
        signs = torch.ones_like(found)
        signs[1::2] = -1
        return signs

    with _replaced(trainer, ADVANTAGES, advantages):
        yield


@contextmanager
def unchanged(trainer: Any) -> Iterator[None]:
    """Restore, after the block, the random states and the trainer's counters, metrics and drawn prompts.

    No rollouts are reported meanwhile. vLLM's own random state advances.
    """
    devices = [trainer.accelerator.device] if trainer.accelerator.device.type == "cuda" else []
    own = vars(trainer)
    counting = [own, *([vars(own[GENERATOR])] if GENERATOR in own else [])]
    kept = [{name: values[name] for name in COUNTED if name in values} for values in counting]
    on_rollouts = own.get(ON_ROLLOUTS)
    parts = trainer.state_dict() if hasattr(trainer, "state_dict") else None
    training = trainer.model.training
    python_state, numpy_state = random.getstate(), np.random.get_state()
    # The block works on copies, so that no reference to a replaced object needs updating.
    for values, was in zip(counting, kept, strict=True):
        values.update({name: copy.deepcopy(value) for name, value in was.items()})
    if ON_ROLLOUTS in own:
        own[ON_ROLLOUTS] = None
    with torch.random.fork_rng(devices=devices):
        try:
            yield
        finally:
            for values, was in zip(counting, kept, strict=True):
                for name in COUNTED:
                    values.pop(name, None)
                values.update(was)
            if ON_ROLLOUTS in own:
                own[ON_ROLLOUTS] = on_rollouts
            trainer.model.train(training)
            if parts is not None:
                trainer.load_state_dict(parts)
            random.setstate(python_state)
            np.random.set_state(numpy_state)
