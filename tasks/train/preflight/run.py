"""The preflight: all checks in order.

Every check runs whatever the earlier ones found, except those that depend on them. The state is restored: training
after a preflight is identical to training without one.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import torch

from schemas.audit_record import AuditRecord
from schemas.config.train import TrainConfig
from schemas.progress import Progress
from schemas.tables.prompts import PromptRow
from schemas.tasks import SpecName
from tasks.train.grpo.rewards import ComponentRewards
from tasks.train.preflight.answers import answer, check_answers, check_generation_settings
from tasks.train.preflight.check import Check
from tasks.train.preflight.dry_step import unchanged
from tasks.train.preflight.inputs import (
    TEMPLATE_REMEDY,
    cannot_render,
    check_audit,
    check_control_tokens,
    check_end_of_turn,
    check_prompt_budget,
    check_prompts_per_task,
    check_template,
    check_tokens,
    choose_rows,
    longest_prompt,
)
from tasks.train.preflight.model import (
    FINITE_REMEDY,
    check_adapter,
    check_cache,
    check_step,
    logits_are_finite,
    prompt_ids,
)


@dataclass(frozen=True)
class PlannedTraining:
    """A training that has not begun."""

    trainer: Any
    """A TRL trainer for GRPO or DPO, whose `model` has the adapter on it."""
    audit: AuditRecord
    """The audit that permits it."""
    spec: SpecName
    """The reward specification to train on."""
    tokenizer: Any
    """The policy's, padding on the left."""
    base: Path
    """Folder of the base model."""
    rows: Sequence[PromptRow]
    """The training prompts."""
    rewards: ComponentRewards
    """Scores the completions."""
    recipe: TrainConfig
    """The recipe, with the limits of the checks in `preflight`."""
    max_prompt_tokens: int
    """Longest prompt that the dataset allows, in tokens."""
    learning_rate: float
    """Learning rate of the trial step."""
    seed: int
    """Decides which prompts are asked, and the answers."""


Obstacle = tuple[str, str]
"""Reason why some checks cannot run, and its remedy."""
NOT_FINITE: Final[Obstacle] = ("the model's logits are not finite", FINITE_REMEDY)


@dataclass(frozen=True)
class _CheckGroup:
    """Checks that share their work."""

    names: tuple[str, ...]
    run: Callable[[], Sequence[Check]]
    obstacle: Obstacle | None = None


def preflight(training: PlannedTraining, progress: Progress) -> tuple[Check, ...]:
    """Check a training that has not begun."""
    with unchanged(training.trainer):
        torch.manual_seed(training.seed)
        # In the modes in which it generates and learns while it trains.
        training.trainer.model.train()
        return _run(_groups(training), progress)


def _groups(training: PlannedTraining) -> list[_CheckGroup]:
    trainer, tokenizer, rows, recipe = training.trainer, training.tokenizer, training.rows, training.recipe
    limits = recipe.preflight
    asked = choose_rows(rows, limits.prompts, training.seed)
    context = trainer.model.config.max_position_embeddings
    fault = cannot_render(tokenizer)
    unrendered: Obstacle | None = None if fault is None else (fault, TEMPLATE_REMEDY)
    speechless = unrendered
    ids = torch.zeros(1, 0, dtype=torch.long)
    if unrendered is None:
        ids = prompt_ids(trainer, tokenizer, asked[0])
        speechless = None if logits_are_finite(trainer, ids) else NOT_FINITE
    return [
        _CheckGroup(("audit",), lambda: [check_audit(training.audit, training.spec, rows)]),
        _CheckGroup(("chat_template",), lambda: [check_template(tokenizer)]),
        _CheckGroup(("control_tokens",), lambda: [check_control_tokens(tokenizer)]),
        _CheckGroup(("end_of_turn",), lambda: [check_end_of_turn(tokenizer)], unrendered),
        _CheckGroup(("padding", "round_trip"), lambda: check_tokens(tokenizer)),
        _CheckGroup(
            ("prompt_budget",),
            lambda: [check_prompt_budget(tokenizer, rows, context, training.max_prompt_tokens, recipe)],
            unrendered,
        ),
        _CheckGroup(("prompts_per_task",), lambda: [check_prompts_per_task(rows, limits)]),
        _CheckGroup(("generation_settings",), lambda: [check_generation_settings(trainer, recipe)]),
        _CheckGroup(
            ("distinct_completions", "thinking", "ceiling", "reward_spread", "zero_variance"),
            lambda: check_answers(
                answer(trainer, tokenizer, asked, recipe, training.seed), tokenizer, training.rewards, recipe
            ),
            speechless,
        ),
        _CheckGroup(("cache",), lambda: [check_cache(trainer, ids, limits)], speechless),
        _CheckGroup(
            ("moved_by_a_step", "finite_step", "memory"),
            # Without a GPU there is no GPU memory to fill, and the longest step takes minutes.
            lambda: check_step(
                trainer,
                training.learning_rate,
                limits,
                longest_prompt(tokenizer, rows) if torch.cuda.is_available() else None,
            ),
            speechless,
        ),
        _CheckGroup(
            ("adapter_reload", "merge_drift"),
            lambda: check_adapter(trainer, training.base, ids, limits, training.seed),
            unrendered,
        ),
    ]


def _run(groups: Sequence[_CheckGroup], progress: Progress) -> tuple[Check, ...]:
    total = sum(len(group.names) for group in groups)
    checks: list[Check] = []
    for group in groups:
        progress(len(checks), total, f"preflight: {', '.join(group.names).replace('_', ' ')}")
        started = time.perf_counter()
        if group.obstacle is None:
            first, *others = group.run()
            checks += [replace(first, seconds=time.perf_counter() - started), *others]
        else:
            reason, remedy = group.obstacle
            checks += [Check(name, False, f"not run, because {reason}", "can be run", remedy) for name in group.names]
    progress(total, total, "preflight done")
    return tuple(checks)
