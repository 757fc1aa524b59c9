"""The preflight: all checks in order.

Every check runs whatever the earlier ones found, except those that depend on them. The state is restored: training
after a preflight is identical to training without one.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

import torch
from trl.models.utils import disable_gradient_checkpointing

from schemas.config.train_sections import PreflightSection
from schemas.disk import scratch_folder
from schemas.progress import Progress
from schemas.tables.prompts import PromptRow
from tasks.policy.generate import as_messages, tokens_of
from tasks.train.grpo.rewards import ComponentRewards
from tasks.train.preflight import inputs
from tasks.train.preflight.answers import answer, check_answers, check_generation_settings
from tasks.train.preflight.check import LORA, Check, checked
from tasks.train.preflight.step import check_step, unchanged
from tasks.train.request import TrainRequest
from tasks.train.resume.adapter_files import (
    adapter_config,
    adapter_parameters,
    adapter_weights,
    load_adapter_weights,
    write_adapter,
)

CACHED_TOKENS: Final = 4  # Tokens generated to test the cache.
TRIAL_SPREAD: Final = 0.02
"""Standard deviation of trial weights; a fresh adapter is half zeros, and zeros survive any damage."""


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
    said, most = trainer.model.config.max_position_embeddings, request.max_prompt_tokens
    context = min(said, request.context or said)
    with unchanged(trainer):
        torch.manual_seed(seed)
        # In the modes in which it generates and learns while it trains.
        trainer.model.train()
        asked = inputs.choose_rows(rows, limits.prompts, seed)
        question = as_messages(asked[0].system, asked[0].prompt)
        ids = torch.tensor([tokens_of(tokenizer, question)], device=trainer.model.device)
        with torch.no_grad():
            # Sampling from logits that are not finite crashes.
            finite = bool(torch.isfinite(trainer.model(input_ids=ids).logits).all())
        # Without a GPU there is no GPU memory to fill, and the longest step takes minutes.
        longest = inputs.longest_prompt(tokenizer, rows) if torch.cuda.is_available() else None
        rate = recipe.learning_rate_for(len(rows))
        of_tokenizer = "chat_template control_tokens end_of_turn padding round_trip"
        of_answers = "distinct_completions thinking ceiling reward_spread zero_variance"
        groups: tuple[tuple[str, bool, Callable[[], Sequence[Check]]], ...] = (
            (of_tokenizer, True, lambda: inputs.check_tokenizer(tokenizer)),
            ("prompt_budget", True, lambda: [inputs.check_prompt_budget(tokenizer, rows, context, most, recipe)]),
            ("prompts_per_task", True, lambda: [inputs.check_prompts_per_task(rows, limits)]),
            ("generation_settings", True, lambda: [check_generation_settings(trainer, recipe)]),
            (
                of_answers,
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


def check_cache(trainer: Any, ids: torch.Tensor, limits: PreflightSection) -> Check:
    """Check that the key-value cache saves work and changes no answer to a prompt, (1, tokens).

    With a working cache the model reads one token a step; counting embedded tokens shows that even on a noisy machine,
    where timing does not. A cache that loses the context is as fast but answers differently.
    """
    from transformers import GenerationConfig

    model = trainer.model
    decoding = GenerationConfig(
        do_sample=False, min_new_tokens=CACHED_TOKENS, max_new_tokens=CACHED_TOKENS, pad_token_id=0,
        output_logits=True, return_dict_in_generate=True,
    )  # fmt: skip
    read: list[int] = []
    hook = model.get_input_embeddings().register_forward_hook(lambda *called: read.append(called[2].shape[-2]))
    # As TRL samples: layers with gradient checkpointing use no cache.
    with disable_gradient_checkpointing(model, trainer.args.gradient_checkpointing_kwargs), torch.no_grad():
        try:
            output = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), generation_config=decoding)
        finally:
            hook.remove()
        whole = model(input_ids=output.sequences[:, :-1], use_cache=False).logits[0, ids.size(1) - 1 :].float()
    widest = max(read[1:], default=0)
    error = ((torch.cat(output.logits).float() - whole).square().mean().sqrt() / whole.std()).item()
    most = limits.max_cache_error
    read_a_step = f"at most {widest} token(s) read a step after the first"
    measured = f"{read_a_step}, logits off by {error:.1e} of their standard deviation"
    return checked("cache", widest == 1 and error <= most, measured, most=most)


def check_adapter(model: Any, seed: int) -> Check:
    """Save an adapter of trial weights as checkpoints and policies are written, and load it as a resume does."""
    parameters = [values for name, values in model.named_parameters() if f"{LORA}B" in name]
    before = adapter_weights(model)
    generator = torch.Generator().manual_seed(seed)
    with scratch_folder() as folder, torch.no_grad():
        for values in parameters:
            values.add_(torch.randn(values.shape, generator=generator).to(values) * TRIAL_SPREAD)
        trial = adapter_weights(model)
        write_adapter(folder / "trial", trial, adapter_config(model))
        for values in adapter_parameters(model).values():
            values.zero_()
        try:
            load_adapter_weights(model, folder / "trial")
            read = adapter_weights(model)
            came_back = sum(torch.equal(values, read[name]) for name, values in trial.items())
        except ValueError:
            came_back = 0
        finally:
            for name, values in adapter_parameters(model).items():
                values.copy_(before[name])
    measured = f"{came_back} of {len(trial)} tensors came back as they were"
    return checked("adapter_reload", came_back == len(trial), measured)
