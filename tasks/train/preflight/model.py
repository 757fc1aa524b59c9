"""Preflight checks of the model: its logits are finite, and its key-value cache works."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import torch
from trl.models.utils import disable_gradient_checkpointing

from schemas.config.train_sections import PreflightSection
from schemas.tables.prompts import PromptRow
from tasks.policy.generate import as_messages
from tasks.train.preflight.check import Check
from tasks.train.preflight.inputs import render

CACHED_TOKENS: Final = 24
"""Tokens generated to test the cache."""
REPEATS: Final = 3
"""Repetitions of each timing; the smallest counts."""


def prompt_ids(trainer: Any, tokenizer: Any, row: PromptRow) -> torch.Tensor:
    """Return a prompt as token ids, (1, tokens), on the model's device."""
    text = render(tokenizer, as_messages(row.system, row.prompt), to_answer=True)
    return torch.tensor([tokenizer.encode(text)], device=trainer.model.device)


def logits_are_finite(trainer: Any, ids: torch.Tensor) -> bool:
    """Return whether the logits of a prompt, (1, tokens), are finite: sampling from others crashes."""
    with torch.no_grad():
        return bool(torch.isfinite(trainer.model(input_ids=ids).logits).all().item())


def check_cache(trainer: Any, ids: torch.Tensor, limits: PreflightSection) -> Check:
    """Check that the key-value cache saves work and changes no answer.

    With a working cache the model reads one token a step; counting embedded tokens shows that even on a noisy machine,
    where timing does not. A cache that loses the context is as fast but answers differently.

    Args:
        trainer: The trainer of the model, which is checked as it generates in training.
        ids: A prompt, (1, tokens).
        limits: The allowed values.
    """
    model = trainer.model
    # As TRL samples: layers with gradient checkpointing use no cache.
    with disable_gradient_checkpointing(model, trainer.args.gradient_checkpointing_kwargs):
        with _tokens_read(model) as read:
            sequence, logits = _generated(model, ids)
        widest = max(read[1:], default=0)
        with torch.no_grad():
            whole = model(input_ids=sequence[:, :-1], use_cache=False).logits[0, ids.size(1) - 1 :].float()
        error = ((logits - whole).square().mean().sqrt() / whole.std()).item()
        ratio = _least_seconds(model, ids, use_cache=True) / _least_seconds(model, ids, use_cache=False)
    return Check(
        name="cache",
        passed=widest == 1 and error <= limits.max_cache_error and ratio <= limits.max_cache_ratio,
        measured=(
            f"at most {widest} token(s) read a step after the first, logits off by {error:.1e} of their standard "
            f"deviation, {ratio:.2f} times the time without"
        ),
        limit=f"1 token a step, {limits.max_cache_error:g} and {limits.max_cache_ratio:g} times",
        remedy="set use_cache=true in the model's configuration",
    )


@contextmanager
def _tokens_read(model: Any) -> Iterator[list[int]]:
    """Record the number of tokens that the model embeds at each call."""
    read: list[int] = []

    def count(_module: Any, _inputs: Any, output: torch.Tensor) -> None:
        read.append(output.shape[-2])

    hook = model.get_input_embeddings().register_forward_hook(count)
    try:
        yield read
    finally:
        hook.remove()


def _generate(model: Any, ids: torch.Tensor, **settings: Any) -> Any:
    from transformers import GenerationConfig

    decoding = GenerationConfig(
        do_sample=False, min_new_tokens=CACHED_TOKENS, max_new_tokens=CACHED_TOKENS, pad_token_id=0, **settings
    )
    with torch.no_grad():
        return model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), generation_config=decoding)


def _generated(model: Any, ids: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return a greedy sequence, (1, tokens), and the logits of its completion, (completion, vocabulary).

    The model's own settings decide on the use of a cache, as in training.
    """
    output = _generate(model, ids, output_logits=True, return_dict_in_generate=True)
    return output.sequences, torch.cat(output.logits).float()


def _least_seconds(model: Any, ids: torch.Tensor, *, use_cache: bool) -> float:
    seconds = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        _generate(model, ids, use_cache=use_cache)
        if ids.device.type == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - started)
    return min(seconds)
