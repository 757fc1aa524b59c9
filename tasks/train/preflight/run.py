"""The preflight: all checks in order.

Every check runs whatever the earlier ones found, except those that depend on them. The state is restored: training
after a preflight is identical to training without one.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import torch

from schemas.audit_record import AuditRecord
from schemas.progress import Progress
from schemas.tables.prompts import PromptRow
from tasks.policy.generate import as_messages
from tasks.train.grpo.rewards import ComponentRewards
from tasks.train.preflight.answers import answer, check_answers, check_generation_settings
from tasks.train.preflight.check import FINITE_REMEDY, Check
from tasks.train.preflight.inputs import (
    AUDIT_REMEDY,
    TEMPLATE_REMEDY,
    cannot_render,
    check_control_tokens,
    check_end_of_turn,
    check_padding,
    check_prompt_budget,
    check_prompts_per_task,
    check_round_trip,
    check_template,
    choose_rows,
    longest_prompt,
    render,
)
from tasks.train.preflight.model import check_adapter, check_cache
from tasks.train.preflight.step import check_step, unchanged
from tasks.train.request import TrainRequest

Obstacle = tuple[str, str]
"""Reason why some checks cannot run, and its remedy."""
NOT_FINITE: Final[Obstacle] = ("the model's logits are not finite", FINITE_REMEDY)
CheckGroup = tuple[tuple[str, ...], Callable[[], Sequence[Check]], Obstacle | None]
"""Names of checks that share their work, their work, and why it cannot be done."""


def preflight(
    trainer: Any,
    tokenizer: Any,
    request: TrainRequest,
    audit: AuditRecord,
    rows: Sequence[PromptRow],
    rewards: ComponentRewards,
    progress: Progress,
) -> tuple[Check, ...]:
    """Check a training that has not begun; return every check, in order.

    Args:
        trainer: A TRL trainer for GRPO or DPO, whose `model` has the adapter on it; it is left unchanged.
        tokenizer: The policy's, padding on the left.
        request: The training.
        audit: The audit that permits it.
        rows: The training prompts.
        rewards: Scores the completions.
        progress: Called with the checks done and the total.
    """
    with unchanged(trainer):
        torch.manual_seed(request.seed)
        # In the modes in which it generates and learns while it trains.
        trainer.model.train()
        return _run(_groups(trainer, tokenizer, request, audit, rows, rewards), progress)


def _groups(
    trainer: Any,
    tokenizer: Any,
    request: TrainRequest,
    audit: AuditRecord,
    rows: Sequence[PromptRow],
    rewards: ComponentRewards,
) -> list[CheckGroup]:
    recipe, limits, seed = request.config, request.config.preflight, request.seed
    asked = choose_rows(rows, limits.prompts, seed)
    context = trainer.model.config.max_position_embeddings
    fault = cannot_render(tokenizer)
    unrendered: Obstacle | None = None if fault is None else (fault, TEMPLATE_REMEDY)
    speechless = unrendered
    ids = torch.zeros(1, 0, dtype=torch.long)
    if unrendered is None:
        text = render(tokenizer, as_messages(asked[0].system, asked[0].prompt), to_answer=True)
        ids = torch.tensor([tokenizer.encode(text)], device=trainer.model.device)
        with torch.no_grad():
            # Sampling from logits that are not finite crashes.
            finite = torch.isfinite(trainer.model(input_ids=ids).logits).all().item()
        speechless = None if finite else NOT_FINITE
    audited = Check(
        "audit",
        # `require_audit` has refused any other.
        True,
        f"{audit.spec} {audit.reward_version[:12]} passed, {len(audit.tasks)} tasks",
        "these rewards passed, for each task",
        AUDIT_REMEDY,
    )
    # Without a GPU there is no GPU memory to fill, and the longest step takes minutes.
    longest = longest_prompt(tokenizer, rows) if torch.cuda.is_available() and unrendered is None else None
    rate = recipe.learning_rate_for(len(rows))
    return [
        (("audit",), lambda: [audited], None),
        (("chat_template",), lambda: [check_template(tokenizer)], None),
        (("control_tokens",), lambda: [check_control_tokens(tokenizer)], None),
        (("end_of_turn",), lambda: [check_end_of_turn(tokenizer)], unrendered),
        (("padding", "round_trip"), lambda: [check_padding(tokenizer), check_round_trip(tokenizer)], None),
        (
            ("prompt_budget",),
            lambda: [check_prompt_budget(tokenizer, rows, context, request.max_prompt_tokens, recipe)],
            unrendered,
        ),
        (("prompts_per_task",), lambda: [check_prompts_per_task(rows, limits)], None),
        (("generation_settings",), lambda: [check_generation_settings(trainer, recipe)], None),
        (
            ("distinct_completions", "thinking", "ceiling", "reward_spread", "zero_variance"),
            lambda: check_answers(answer(trainer, tokenizer, asked, recipe, seed), tokenizer, rewards, recipe),
            speechless,
        ),
        (("cache",), lambda: [check_cache(trainer, ids, limits)], speechless),
        (("moved_by_a_step", "finite_step", "memory"), lambda: check_step(trainer, rate, limits, longest), speechless),
        (
            ("adapter_reload", "merge_drift"),
            lambda: check_adapter(trainer, request.base, ids, limits, seed),
            unrendered,
        ),
    ]


def _run(groups: Sequence[CheckGroup], progress: Progress) -> tuple[Check, ...]:
    total = sum(len(names) for names, _, _ in groups)
    checks: list[Check] = []
    for names, run, obstacle in groups:
        progress(len(checks), total, f"preflight: {', '.join(names).replace('_', ' ')}")
        started = time.perf_counter()
        if obstacle is None:
            first, *others = run()
            checks += [replace(first, seconds=time.perf_counter() - started), *others]
        else:
            reason, remedy = obstacle
            checks += [Check(name, False, f"not run, because {reason}", "can be run", remedy) for name in names]
    progress(total, total, "preflight done")
    return tuple(checks)
