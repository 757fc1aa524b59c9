"""Preflight checks of the model: its key-value cache works, and its adapter survives saving."""

from typing import Any, Final

import torch
from trl.models.utils import disable_gradient_checkpointing

from schemas.config.train_sections import PreflightSection
from schemas.disk import scratch_folder
from tasks.train.preflight.check import LORA, Check, checked
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
