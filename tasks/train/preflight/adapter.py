"""Preflight checks of the adapter: that a step moves it alone, and that it survives saving and merging."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import torch

from schemas.prompts import PromptRow
from schemas.train_config import PreflightSection
from tasks.train.adapter_files import adapter_config, adapter_weights, write_adapter
from tasks.train.preflight.check import Check
from tasks.train.rehearsal import Rehearsal, rehearse

CYCLES: Final = 50
"""Times that the adapter is merged into the base and taken out again."""
LORA: Final = "lora_"
"""What PEFT's names of an adapter's parameters have in them."""
TRIAL_SPREAD: Final = 0.02
"""Standard deviation of the weights that a fresh adapter, which changes nothing, is tried with."""
FINITE_REMEDY: Final = "look for weights that are not finite, and train in bfloat16 or float32 instead of float16"


def check_step(
    trainer: Any, learning_rate: float, limits: PreflightSection, longest: PromptRow | None = None
) -> list[Check]:
    """Rehearse a training step, and check what it moved, whether it is made of numbers, and its memory.

    Args:
        trainer: Whose step it is.
        learning_rate: Of the step.
        limits: What is allowed.
        longest: The longest prompt, where the step is to be as large as any; the next one where it is None.
    """
    rehearsal = rehearse(trainer, learning_rate, longest)
    total = torch.cuda.get_device_properties(0).total_memory if torch.cuda.is_available() else None
    return [
        _check_moved(rehearsal),
        Check(
            name="finite_step",
            passed=rehearsal.finite,
            measured=f"loss {rehearsal.loss:.4g}, gradient norm {rehearsal.gradient_norm:.4g}",
            limit="both finite",
            remedy=FINITE_REMEDY,
        ),
        check_memory(rehearsal.peak_bytes, total, limits),
    ]


def _check_moved(rehearsal: Rehearsal) -> Check:
    adapter = [name for name in rehearsal.moved if LORA in name]
    others = sorted(rehearsal.moved.difference(adapter))
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
    """Check the peak memory of a step against the card.

    Args:
        peak: Bytes at the peak; None without a GPU.
        total: Bytes of the card; None without a GPU.
        limits: What is allowed.
    """
    share = None if peak is None or total is None else peak / total
    return Check(
        name="memory",
        passed=share is None or share <= limits.max_memory_share,
        measured="no GPU" if share is None or peak is None else f"{peak / 2**30:.1f} GiB, {share:.0%} of the card",
        limit=f"at most {limits.max_memory_share:.0%} of the card, with the longest prompts and completions",
        remedy=(
            "raise train.accumulation, or lower train.generations, train.max_completion_tokens or "
            "train.vllm.memory_share"
        ),
    )


def check_adapter(trainer: Any, base: Path, ids: torch.Tensor, limits: PreflightSection, seed: int) -> list[Check]:
    """Save the adapter with weights that do something, read it onto the base, merge it and take it out again.

    Args:
        trainer: Whose adapter it is; its weights are put back.
        base: Folder of the base, which is read in full precision: in NF4 each merge rounds anew.
        ids: A prompt, (1, tokens), whose logits tell of drift.
        limits: What is allowed.
        seed: Decides the weights.
    """
    from peft import PeftModel, get_peft_model_state_dict

    with tempfile.TemporaryDirectory() as folder, _trial_weights(trainer.model, seed):
        # As checkpoints and policies are written.
        write_adapter(Path(folder), adapter_weights(trainer.model), adapter_config(trainer.model))
        saved = {
            # Copies: the trial weights are taken back.
            name: tensor.detach().to("cpu", torch.float32, copy=True)
            for name, tensor in get_peft_model_state_dict(trainer.model).items()
        }
        # Here the base is loaded without quantization in float32, whatever it is trained in.
        fresh = PeftModel.from_pretrained(_in_full_precision(base, ids.device), folder).eval()
    read = get_peft_model_state_dict(fresh)
    lost = sorted(
        name for name, tensor in saved.items() if name not in read or not torch.equal(tensor, read[name].float().cpu())
    )
    drift = _drift(fresh, ids)
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
    """Let the adapter do something: fresh, half of it is zero, and zeros survive whatever happens to them."""
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


def _in_full_precision(base: Path, device: torch.device) -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32, device_map={"": device})


def _drift(model: Any, ids: torch.Tensor) -> float:
    """Return the largest change of the base's logits by merging the adapter and taking it out again, many times.

    Without the adapter: one that outweighs the base would hide what it did to it.
    """
    with torch.no_grad(), model.disable_adapter():
        before = model(input_ids=ids).logits
    for _ in range(CYCLES):
        model.merge_adapter()
        model.unmerge_adapter()
    with torch.no_grad(), model.disable_adapter():
        return float((model(input_ids=ids).logits - before).abs().max())
