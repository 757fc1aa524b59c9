"""Preflight checks of one trial training step, whose every effect is undone: what it moves, and its memory."""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

import numpy as np
import torch

from schemas.config.train_sections import PreflightSection
from schemas.tables.prompts import PromptRow
from tasks.policy.batch import asleep_bytes
from tasks.train.grpo.rollouts import RolloutGroups, SampledRollout
from tasks.train.preflight.check import LORA, Check, checked
from tasks.train.resume.resumable import random_state, set_random_state

COUNTED: Final = (
    *("state", "generation_config", "current_gradient_accumulation_steps", "_step", "_metrics", "_logs"),
    *("_pending_extra_logs", "_pending_metrics", "_buffered_inputs", "_current_train_step_time", "_total_train_tokens"),
    *("entropy_coef", "_last_world_entropy", "_entropy_window_stats", "seconds", "sampled_tokens", "draws"),
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
    peak_bytes: int | None
    """Peak of the GPU's memory; None without one."""


def check_step(
    trainer: Any, learning_rate: float, limits: PreflightSection, longest: PromptRow | None = None
) -> list[Check]:
    """Take a trial training step; check what it moved, that it is finite, and its memory."""
    step = dry_run_step(trainer, learning_rate, longest)
    share, memory = 0.0, "no GPU"
    if step.peak_bytes is not None:
        share = step.peak_bytes / torch.cuda.get_device_properties(0).total_memory
        memory = f"{step.peak_bytes / 2**30:.1f} GiB, {share:.0%} of the card"
    adapter = [name for name in step.moved if LORA in name]
    others = sorted(step.moved.difference(adapter))
    moved = f"{len(adapter)} tensors of the adapter and {len(others)} others moved"
    moved += f", {others[0]} the first of them" if others else ""
    finite = bool(np.isfinite([step.loss, step.gradient_norm]).all())
    return [
        checked("moved_by_a_step", bool(adapter) and not others, moved, key="moved_base" if others else ""),
        checked("finite_step", finite, f"loss {step.loss:.4g}, gradient norm {step.gradient_norm:.4g}"),
        checked("memory", share <= limits.max_memory_share, memory, most=limits.max_memory_share),
    ]


def dry_run_step(trainer: Any, learning_rate: float, longest: PromptRow | None = None) -> DryStep:
    """Take one step of a separate optimizer on the trainer's next batches, and restore everything.

    With the longest prompt the step takes as much memory as any can: each of its prompts is this one, and each
    completion has the recipe's maximum length. DPO, which has its completions already, takes its longest pairs. The
    learning rate is the recipe's highest: the first step of a warm-up would move nothing.
    """
    on_gpu = torch.cuda.is_available()
    passes, model = trainer.args.gradient_accumulation_steps, trainer.model
    with unchanged(trainer), _something_to_learn(trainer), _at_full_length(trainer, longest) as sampling_peak:
        trainer.current_gradient_accumulation_steps = passes
        # GRPO draws its own prompts and ignores the batch.
        chosen = longest is None or hasattr(trainer, GENERATOR)
        batches = _first_batches(trainer, passes) if chosen else [_longest_pairs(trainer)] * passes
        # On the host, where the copies do not count toward the measured peak.
        before = {name: parameter.detach().to("cpu", copy=True) for name, parameter in model.named_parameters()}
        # Weight decay moves parameters without a gradient, and would hide that they have none.
        trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
        optimizer = torch.optim.AdamW(trained, lr=learning_rate, weight_decay=0.0)
        if on_gpu:
            torch.cuda.reset_peak_memory_stats()
        model.train()
        loss = sum(float(trainer.training_step(model, batch, None)) for batch in batches)
        gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients) if gradients else torch.tensor(0.0)
        optimizer.step()
        optimizer.zero_grad()
        peak = max(*sampling_peak, torch.cuda.max_memory_allocated() - asleep_bytes()) if on_gpu else None
        moved = set()
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                # Detached: `cpu()` of an NF4 weight moves its quantization state too, in place, but not the weight.
                if not torch.equal(before[name], parameter.detach().to("cpu")):
                    moved.add(name)
                    parameter.copy_(before[name])
    return DryStep(loss, float(norm), frozenset(moved), peak)


def _first_batches(trainer: Any, count: int) -> list[Any]:
    loader = trainer.get_train_dataloader()
    batches = list(islice(loader, count))
    # An unfinished loader would remain accelerate's active one.
    loader.end()
    return batches


def _longest_pairs(trainer: Any) -> Any:
    pairs = trainer.train_dataset
    columns = (pairs["prompt_ids"], pairs["chosen_ids"], pairs["rejected_ids"])
    lengths = [len(prompt) + max(len(chosen), len(rejected)) for prompt, chosen, rejected in zip(*columns, strict=True)]
    by_length = sorted(range(len(lengths)), key=lengths.__getitem__, reverse=True)
    return trainer.data_collator([pairs[place] for place in by_length[: trainer.args.per_device_train_batch_size]])


@contextmanager
def _at_full_length(trainer: Any, longest: PromptRow | None) -> Iterator[list[int]]:
    """Make a trainer that samples its own completions sample full-length ones of one prompt; give the peaks in bytes.

    They end where they stop: some recipes mask truncated completions, which would leave nothing to learn. The peak of
    sampling is recorded separately: a vLLM that sleeps afterwards releases memory that torch still counts.
    """
    peaks = [0]
    if longest is None or not hasattr(trainer, GENERATOR):
        yield peaks
        return
    generator = getattr(trainer, GENERATOR)
    real = generator.sample
    limit, end = trainer.max_completion_length, trainer.eos_token_ids[0]

    def sample(prompts: Sequence[PromptRow]) -> RolloutGroups:
        if not trainer.use_vllm:
            # vLLM holds the memory of its cache whatever it samples.
            trainer.generation_config.min_new_tokens = limit
        rollouts: RolloutGroups = real([longest] * len(prompts))
        if torch.cuda.is_available():
            peaks.append(torch.cuda.max_memory_allocated())
            torch.cuda.reset_peak_memory_stats()
        return replace(rollouts, groups=[[lengthened(rollout) for rollout in group] for group in rollouts.groups])

    def lengthened(rollout: SampledRollout) -> SampledRollout:
        ids = [*(rollout.completion_ids + [end] * limit)[: limit - 1], end]
        told = rollout.log_probabilities
        return replace(
            rollout, completion_ids=ids, log_probabilities=None if told is None else (told + [0.0] * limit)[:limit]
        )

    # A grammar that ends an answer and a least length forbid every token between them.
    with _replaced(generator, "sample", sample), _replaced(generator, "guided", False):
        yield peaks


@contextmanager
def _replaced(owner: Any, name: str, value: Callable[..., Any] | bool) -> Iterator[None]:
    vars(owner)[name] = value
    try:
        yield
    finally:
        del vars(owner)[name]


@contextmanager
def _something_to_learn(trainer: Any) -> Iterator[None]:
    """Substitute advantages for a batch whose completions all earned the same; otherwise nothing would move."""
    if not hasattr(trainer, ADVANTAGES):
        yield
        return
    real = getattr(trainer, ADVANTAGES)

    def advantages(chosen: RolloutGroups, output: Mapping[str, Any]) -> torch.Tensor:
        found: torch.Tensor = real(chosen, output)
        if not found.any():
            found = torch.ones_like(found)
            found[1::2] = -1
        return found

    with _replaced(trainer, ADVANTAGES, advantages):
        yield


@contextmanager
def unchanged(trainer: Any) -> Iterator[None]:
    """Restore, after the block, the random states and the trainer's counters, metrics and drawn prompts.

    No rollouts are reported meanwhile. vLLM's own random state advances.
    """
    counting = [vars(trainer), *([vars(vars(trainer)[GENERATOR])] if GENERATOR in vars(trainer) else [])]
    kept = [{name: values[name] for name in (*COUNTED, ON_ROLLOUTS) if name in values} for values in counting]
    parts = trainer.state_dict() if hasattr(trainer, "state_dict") else None
    training = trainer.model.training
    random_before = random_state()
    # The block works on copies, so that no reference to a replaced object needs updating.
    for values, was in zip(counting, kept, strict=True):
        values.update({name: None if name == ON_ROLLOUTS else copy.deepcopy(value) for name, value in was.items()})
    try:
        yield
    finally:
        for values, was in zip(counting, kept, strict=True):
            for name in COUNTED:
                values.pop(name, None)
            values.update(was)
        trainer.model.train(training)
        if parts is not None:
            trainer.load_state_dict(parts)
        set_random_state(random_before)
