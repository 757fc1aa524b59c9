"""Preflight checks of the model: its key-value cache works, and its adapter survives saving and merging."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import torch
from trl.models.utils import disable_gradient_checkpointing

from schemas.config.train_sections import PreflightSection
from schemas.scratch import scratch_folder
from tasks.train.preflight.check import CHECKED_LAYERS, LORA, Check
from tasks.train.resume.adapter_files import WEIGHTS_FILE, adapter_config, adapter_weights, write_adapter

CACHED_TOKENS: Final = 4
"""Tokens generated to test the cache."""
CYCLES: Final = 50
"""Times that the adapter is merged into the base and subtracted again."""
TRIAL_SPREAD: Final = 0.02
"""Standard deviation of trial weights; a fresh adapter changes nothing."""


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
    return Check(
        "cache",
        widest == 1 and error <= limits.max_cache_error,
        f"at most {widest} token(s) read a step after the first, logits off by {error:.1e} of their standard deviation",
        f"1 token a step, {limits.max_cache_error:g}",
        "set use_cache=true in the model's configuration",
    )


def check_adapter(trainer: Any, base: Path, ids: torch.Tensor, limits: PreflightSection, seed: int) -> list[Check]:
    """Save the adapter with non-trivial weights, load it onto the base, merge it and subtract it again.

    The base's first layers are read in full precision: in NF4 each merge rounds once more. The logits of a prompt,
    (1, tokens), reveal drift.
    """
    from peft import PeftModel, get_peft_model_state_dict
    from safetensors.torch import load_file

    with scratch_folder() as folder, _trial_weights(trainer.model, seed):
        # As checkpoints and policies are written.
        write_adapter(folder, adapter_weights(trainer.model), adapter_config(trainer.model))
        saved = {
            # Copies, since the trial weights are removed.
            name: tensor.detach().to("cpu", torch.float32, copy=True)
            for name, tensor in get_peft_model_state_dict(trainer.model).items()
        }
        few, depth = _first_layers(base, ids.device)
        fresh = PeftModel.from_pretrained(few, folder).eval()
        # For the first layers PEFT's result, for all others the file contents, under the same names.
        read = load_file(folder / WEIGHTS_FILE) | get_peft_model_state_dict(fresh)
    lost = sorted(
        name for name, tensor in saved.items() if name not in read or not torch.equal(tensor, read[name].float().cpu())
    )
    # Each layer adds its own rounding.
    drift = _drift(fresh, ids) * depth
    return [
        Check(
            "adapter_reload",
            not lost,
            f"{len(saved) - len(lost)} of {len(saved)} tensors came back as they were",
            "all of them, bit for bit",
            "align the versions of peft and of the backend that saves the adapter",
        ),
        Check(
            "merge_drift",
            drift <= limits.max_merge_drift,
            f"the base's logits moved by {drift:.1e} in {CYCLES} merges",
            f"at most {limits.max_merge_drift:g}",
            "merge in float32, or lower train.lora.alpha: the adapter outweighs the base",
        ),
    ]


@contextmanager
def _trial_weights(model: Any, seed: int) -> Iterator[None]:
    """Give the adapter non-zero weights: half of a fresh one is zero, and zeros survive any damage."""
    parameters = [parameter for name, parameter in model.named_parameters() if f"{LORA}B" in name]
    before = [parameter.detach().clone() for parameter in parameters]
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in parameters:
            parameter.add_(torch.randn(parameter.shape, generator=generator).to(parameter) * TRIAL_SPREAD)
        try:
            yield
        finally:
            for parameter, values in zip(parameters, before, strict=True):
                parameter.copy_(values)


def _first_layers(base: Path, device: torch.device) -> tuple[Any, float]:
    """Load the first decoder layers of a base in float32; return them, and the ratio of the base's layers to them."""
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.utils import logging

    config = AutoConfig.from_pretrained(base)
    whole = config.num_hidden_layers
    config.num_hidden_layers = few = min(CHECKED_LAYERS, whole)
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types[:few]
    verbosity = logging.get_verbosity()
    # Silences the warning on the omitted layers.
    logging.set_verbosity_error()
    try:
        model = AutoModelForCausalLM.from_pretrained(base, config=config, dtype=torch.float32, device_map={"": device})
    finally:
        logging.set_verbosity(verbosity)
    return model, whole / few


def _drift(model: Any, ids: torch.Tensor) -> float:
    """Return the largest change of the base's logits after merging and subtracting the adapter many times.

    Measured without the adapter: one that outweighs the base would hide the damage.
    """
    with torch.no_grad(), model.disable_adapter():
        before = model(input_ids=ids).logits
    for _ in range(CYCLES):
        model.merge_adapter()
        model.unmerge_adapter()
    with torch.no_grad(), model.disable_adapter():
        return float((model(input_ids=ids).logits - before).abs().max())
