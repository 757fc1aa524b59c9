"""The preflight: all checks in order.

Every check runs whatever the earlier ones found, except those that depend on them. The state is restored: training
after a preflight is identical to training without one.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from schemas.audit_record import AuditRecord
from schemas.progress import Progress
from schemas.tables.prompts import PromptRow
from tasks.policy.generate import as_messages
from tasks.train.grpo.rewards import ComponentRewards
from tasks.train.preflight import inputs
from tasks.train.preflight.answers import answer, check_answers, check_generation_settings
from tasks.train.preflight.check import FINITE_REMEDY, Check
from tasks.train.preflight.model import check_adapter, check_cache
from tasks.train.preflight.step import check_step, unchanged
from tasks.train.request import TrainRequest

Obstacle = tuple[str, str]
"""Reason why some checks cannot run, and its remedy."""


def preflight(
    trainer: Any,
    tokenizer: Any,
    request: TrainRequest,
    audit: AuditRecord,
    rows: Sequence[PromptRow],
    rewards: ComponentRewards,
    progress: Progress,
) -> tuple[Check, ...]:
    """Check a training that has not begun; return every check, in order. The trainer stays as it is."""
    with unchanged(trainer):
        torch.manual_seed(request.seed)
        # In the modes in which it generates and learns while it trains.
        trainer.model.train()
        return _run(trainer, tokenizer, request, audit, rows, rewards, progress)


def _run(
    trainer: Any,
    tokenizer: Any,
    request: TrainRequest,
    audit: AuditRecord,
    rows: Sequence[PromptRow],
    rewards: ComponentRewards,
    progress: Progress,
) -> tuple[Check, ...]:
    recipe, limits, seed = request.config, request.config.preflight, request.seed
    asked = inputs.choose_rows(rows, limits.prompts, seed)
    context = trainer.model.config.max_position_embeddings
    fault = inputs.cannot_render(tokenizer)
    unrendered: Obstacle | None = None if fault is None else (fault, inputs.TEMPLATE_REMEDY)
    speechless = unrendered
    ids = torch.zeros(1, 0, dtype=torch.long)
    if unrendered is None:
        text = inputs.render(tokenizer, as_messages(asked[0].system, asked[0].prompt), to_answer=True)
        ids = torch.tensor([tokenizer.encode(text)], device=trainer.model.device)
        with torch.no_grad():
            # Sampling from logits that are not finite crashes.
            finite = torch.isfinite(trainer.model(input_ids=ids).logits).all().item()
        speechless = None if finite else ("the model's logits are not finite", FINITE_REMEDY)
    audited = Check(
        "audit",
        # `require_audit` has refused any other.
        True,
        f"{audit.spec} {audit.reward_version[:12]} passed, {len(audit.tasks)} tasks",
        "these rewards passed, for each task",
        inputs.AUDIT_REMEDY,
    )
    # Without a GPU there is no GPU memory to fill, and the longest step takes minutes.
    of_longest = torch.cuda.is_available() and unrendered is None
    longest = inputs.longest_prompt(tokenizer, rows) if of_longest else None
    rate, most = recipe.learning_rate_for(len(rows)), request.max_prompt_tokens
    groups: tuple[tuple[str, Callable[[], Sequence[Check]], Obstacle | None], ...] = (
        ("audit", lambda: [audited], None),
        ("chat_template", lambda: [inputs.check_template(tokenizer)], None),
        ("control_tokens", lambda: [inputs.check_control_tokens(tokenizer)], unrendered),
        ("end_of_turn", lambda: [inputs.check_end_of_turn(tokenizer)], unrendered),
        ("padding round_trip", lambda: [inputs.check_padding(tokenizer), inputs.check_round_trip(tokenizer)], None),
        ("prompt_budget", lambda: [inputs.check_prompt_budget(tokenizer, rows, context, most, recipe)], unrendered),
        ("prompts_per_task", lambda: [inputs.check_prompts_per_task(rows, limits)], None),
        ("generation_settings", lambda: [check_generation_settings(trainer, recipe)], None),
        (
            "distinct_completions thinking ceiling reward_spread zero_variance",
            lambda: check_answers(answer(trainer, tokenizer, asked, recipe, seed), tokenizer, rewards, recipe),
            speechless,
        ),
        ("cache", lambda: [check_cache(trainer, ids, limits)], speechless),
        ("moved_by_a_step finite_step memory", lambda: check_step(trainer, rate, limits, longest), speechless),
        ("adapter_reload merge_drift", lambda: check_adapter(trainer, request.base, ids, limits, seed), unrendered),
    )
    total = sum(len(names.split()) for names, _, _ in groups)
    checks: list[Check] = []
    for names, run, obstacle in groups:
        progress(len(checks), total, f"preflight: {', '.join(names.split()).replace('_', ' ')}")
        started = time.perf_counter()
        if obstacle is None:
            first, *others = run()
            checks += [replace(first, seconds=time.perf_counter() - started), *others]
        else:
            reason, remedy = obstacle
            checks += [Check(name, False, f"not run, because {reason}", "can be run", remedy) for name in names.split()]
    progress(total, total, "preflight done")
    return tuple(checks)
