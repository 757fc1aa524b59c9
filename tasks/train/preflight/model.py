"""Preflight checks of the model and its adapter.

Logits are finite, the key-value cache works, a step moves the adapter alone, and that survives saving and merging.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import torch
from trl.models.utils import disable_gradient_checkpointing

from schemas.config.train_sections import PreflightSection
from schemas.scratch import scratch_folder
from schemas.tables.prompts import PromptRow
from tasks.policy.generate import as_messages
from tasks.train.preflight.check import CHECKED_LAYERS, Check
from tasks.train.preflight.dry_step import DryStep, dry_run_step
from tasks.train.preflight.inputs import render
from tasks.train.resume.adapter_files import WEIGHTS_FILE, adapter_config, adapter_weights, write_adapter

CACHED_TOKENS: Final = 24
"""Tokens generated to test the cache."""
REPEATS: Final = 3
"""Repetitions of each timing; the smallest counts."""
CYCLES: Final = 50
"""Times that the adapter is merged into the base and subtracted again."""
LORA: Final = "lora_"
"""Part of PEFT's names of adapter parameters."""
TRIAL_SPREAD: Final = 0.02
"""Standard deviation of trial weights; a fresh adapter changes nothing."""
FINITE_REMEDY: Final = "look for weights that are not finite, and train in bfloat16 or float32 instead of float16"


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


def check_step(
    trainer: Any, learning_rate: float, limits: PreflightSection, longest: PromptRow | None = None
) -> list[Check]:
    """Take a trial training step; check what it moved, that it is finite, and its memory."""
    dry_step = dry_run_step(trainer, learning_rate, longest)
    total = torch.cuda.get_device_properties(0).total_memory if torch.cuda.is_available() else None
    return [
        _check_moved(dry_step),
        Check(
            name="finite_step",
            passed=dry_step.finite,
            measured=f"loss {dry_step.loss:.4g}, gradient norm {dry_step.gradient_norm:.4g}",
            limit="both finite",
            remedy=FINITE_REMEDY,
        ),
        check_memory(dry_step.peak_bytes, total, limits),
    ]


def _check_moved(dry_step: DryStep) -> Check:
    adapter = [name for name in dry_step.moved if LORA in name]
    others = sorted(dry_step.moved.difference(adapter))
    measured = f"{len(adapter)} tensors of the adapter and {len(others)} others moved"
    return Check(
        name="moved_by_a_step",
        passed=bool(adapter) and not others,
        measured=measured + (f", {others[0]} the first of them" if others else ""),
        limit="the adapter, and nothing else",
        remedy=(
            "freeze the base (requires_grad) before the adapter is put on it"
            if others
            else "see that the adapter is trainable and that not every completion is masked"
        ),
    )


def check_memory(peak: int | None, total: int | None, limits: PreflightSection) -> Check:
    """Check a step's peak memory against the GPU."""
    share = None if peak is None or total is None else peak / total
    return Check(
        name="memory",
        passed=share is None or share <= limits.max_memory_share,
        measured="no GPU" if share is None or peak is None else f"{peak / 2**30:.1f} GiB, {share:.0%} of the card",
        limit=f"at most {limits.max_memory_share:.0%} of the card, with the longest prompts and completions",
        remedy=(
            "raise train.accumulation, set train.gradient_checkpointing='torch', or lower train.generations, "
            "train.max_completion_tokens or train.vllm.memory_share"
        ),
    )


def check_adapter(trainer: Any, base: Path, ids: torch.Tensor, limits: PreflightSection, seed: int) -> list[Check]:
    """Save the adapter with non-trivial weights, load it onto the base, merge it and subtract it again."""
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
            name="adapter_reload",
            passed=not lost,
            measured=f"{len(saved) - len(lost)} of {len(saved)} tensors came back as they were",
            limit="all of them, bit for bit",
            remedy="align the versions of peft and of the backend that saves the adapter",
        ),
        Check(
            name="merge_drift",
            passed=drift <= limits.max_merge_drift,
            measured=f"the base's logits moved by {drift:.1e} in {CYCLES} merges",
            limit=f"at most {limits.max_merge_drift:g}",
            remedy="merge in float32, or lower train.lora.alpha: the adapter outweighs the base",
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
    """Load the first decoder layers of a base in float32, with its embedding and its head."""
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
