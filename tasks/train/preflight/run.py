"""The preflight: all checks in order.

Every check runs whatever the earlier ones found, except those that depend on them. The state is restored: training
after a preflight is identical to training without one.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from schemas.progress import Progress
from schemas.tables.prompts import PromptRow
from tasks.policy.generate import as_messages
from tasks.train.grpo.rewards import ComponentRewards
from tasks.train.preflight import inputs
from tasks.train.preflight.answers import answer, check_answers, check_generation_settings
from tasks.train.preflight.check import Check, checked
from tasks.train.preflight.model import check_adapter, check_cache
from tasks.train.preflight.step import check_step, unchanged
from tasks.train.request import TrainRequest


def preflight(
    trainer: Any,
    tokenizer: Any,
    request: TrainRequest,
    rows: Sequence[PromptRow],
    rewards: ComponentRewards,
    progress: Progress,
) -> tuple[Check, ...]:
    """Check a training that has not begun; return every check, in order. The trainer stays as it is."""
    recipe, limits, seed = request.config, request.config.preflight, request.seed
    context, most = trainer.model.config.max_position_embeddings, request.max_prompt_tokens
    with unchanged(trainer):
        torch.manual_seed(seed)
        # In the modes in which it generates and learns while it trains.
        trainer.model.train()
        asked = inputs.choose_rows(rows, limits.prompts, seed)
        text = inputs.render(tokenizer, as_messages(asked[0].system, asked[0].prompt), to_answer=True)
        ids = torch.tensor([tokenizer.encode(text)], device=trainer.model.device)
        with torch.no_grad():
            # Sampling from logits that are not finite crashes.
            finite = bool(torch.isfinite(trainer.model(input_ids=ids).logits).all())
        # Without a GPU there is no GPU memory to fill, and the longest step takes minutes.
        longest = inputs.longest_prompt(tokenizer, rows) if torch.cuda.is_available() else None
        rate = recipe.learning_rate_for(len(rows))
        groups: tuple[tuple[str, bool, Callable[[], Sequence[Check]]], ...] = (
            (
                "chat_template control_tokens end_of_turn padding round_trip",
                True,
                lambda: inputs.check_tokenizer(tokenizer),
            ),
            ("prompt_budget", True, lambda: [inputs.check_prompt_budget(tokenizer, rows, context, most, recipe)]),
            ("prompts_per_task", True, lambda: [inputs.check_prompts_per_task(rows, limits)]),
            ("generation_settings", True, lambda: [check_generation_settings(trainer, recipe)]),
            (
                "distinct_completions thinking ceiling reward_spread zero_variance",
                finite,
                lambda: check_answers(answer(trainer, tokenizer, asked, recipe, seed), rewards, recipe),
            ),
            ("cache", finite, lambda: [check_cache(trainer, ids, limits)]),
            ("moved_by_a_step finite_step memory", finite, lambda: check_step(trainer, rate, limits, longest)),
            ("adapter_reload", True, lambda: [check_adapter(trainer.model, seed)]),
        )
        return tuple(_run(groups, progress))


def _run(groups: Sequence[tuple[str, bool, Callable[[], Sequence[Check]]]], progress: Progress) -> list[Check]:
    """Run the checks of each group that can run, and return all."""
    total = sum(len(names.split()) for names, *_ in groups)
    checks: list[Check] = []
    for names, can_run, run in groups:
        progress(len(checks), total, f"preflight: {', '.join(names.split()).replace('_', ' ')}")
        started = time.perf_counter()
        if can_run:
            first, *others = run()
            checks += [replace(first, seconds=time.perf_counter() - started), *others]
        else:
            reason = "not run, because the model's logits are not finite"
            checks += [checked(name, False, reason, key="not_run") for name in names.split()]
    progress(total, total, "preflight done")
    return checks
