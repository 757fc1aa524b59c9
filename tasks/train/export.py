"""The trained policy as one model: the adapter merged into the base, and proven to answer as the two together do."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemas.errors import GateRefused, InputError
from tasks.policy.generate import as_messages
from tasks.policy.load import load_tokenizer, reset_generation_config

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

MERGED_FOLDER: Final = "merged"
PROMPTS: Final = (
    "Extraia os campos desta avaliação em JSON: nota 1, o produto chegou quebrado e com dez dias de atraso.",
    "Quantos pedidos foram entregues em São Paulo no mês de maio?",
    "Escreva uma notificação push: tênis de corrida com 20% de desconto até domingo.",
)
ANSWER_TOKENS: Final = 24
"""Greedy tokens that are compared after each prompt."""
MERGED_TOLERANCE: Final = 1e-3
"""Largest difference of a logit by merging in float32, in standard deviations of the logits."""
WRITTEN_TOLERANCE: Final = 5e-2
"""Largest difference of a logit by rounding the merged weights to the type of the base, bfloat16 as a rule."""
_REMEDY: Final = "set train.export_merged=false and serve the adapter beside its base"


def write_merged(base: Path, adapter: Path, output: Path) -> None:
    """Write the base with the adapter merged into it, in the base's own precision, and its tokenizer.

    An adapter that was trained beside a quantized base is merged into the base as it was before: merged into quantized
    weights it would be rounded to their few values. All is computed in float32 on the CPU, where no rounding hides a
    fault and the trainer holds no memory. What was written is read back and compared too.

    Args:
        base: Folder of the base model.
        adapter: Folder of the LoRA adapter that was trained on it.
        output: Empty folder, or none yet, for the merged model.

    Raises:
        InputError: The base or the adapter cannot be read, or they do not belong together.
        GateRefused: The merged model answers otherwise than base and adapter do.
    """
    import torch
    from peft import PeftModel

    tokenizer = load_tokenizer(base)
    model = _load_exact(base)
    own_type = model.config.dtype
    try:
        adapted = PeftModel.from_pretrained(model.float(), adapter).eval()
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(
            f"no adapter of {base} can be read from {adapter} ({type(error).__name__}); train it anew on this base, or "
            f"{_REMEDY}"
        ) from error
    prompts = [_encode(tokenizer, prompt) for prompt in PROMPTS]
    answers = [_answer(adapted, tokenizer, prompt) for prompt in prompts]
    wanted = [_logits(adapted, answer) for answer in answers]
    merged = adapted.merge_and_unload()
    again = [_answer(merged, tokenizer, prompt) for prompt in prompts]
    if not all(torch.equal(first, second) for first, second in zip(answers, again, strict=True)):
        raise GateRefused(f"the base {base} with {adapter} merged into it answers with other words; {_REMEDY}")
    _refuse_apart(merged, answers, wanted, MERGED_TOLERANCE, "merged")
    # The base's own may hold a temperature or a penalty that nothing was evaluated with.
    reset_generation_config(merged)
    merged.to(own_type).save_pretrained(output)
    tokenizer.save_pretrained(output)
    _refuse_apart(_load_exact(output).float().eval(), answers, wanted, WRITTEN_TOLERANCE, f"written to {output}")


def _load_exact(folder: Path) -> "PreTrainedModel":
    """Read a model onto the CPU in the precision that it was saved in."""
    from transformers import AutoModelForCausalLM

    try:
        return AutoModelForCausalLM.from_pretrained(folder, dtype="auto", device_map={"": "cpu"})
    except (OSError, ValueError) as error:
        raise InputError(
            f"no model can be read from {folder} ({type(error).__name__}); give the folder of a whole downloaded "
            f"model, or {_REMEDY}"
        ) from error


def _encode(tokenizer: "PreTrainedTokenizerBase", prompt: str) -> "torch.Tensor":
    text = tokenizer.apply_chat_template(as_messages("", prompt), tokenize=False, add_generation_prompt=True)
    encoded: Any = tokenizer(text, return_tensors="pt", add_special_tokens=False)
    ids: torch.Tensor = encoded["input_ids"]
    return ids


def _answer(model: Any, tokenizer: "PreTrainedTokenizerBase", prompt: "torch.Tensor") -> "torch.Tensor":
    """Return the prompt with the greedy answer after it, (1, tokens)."""
    import torch
    from transformers import GenerationConfig

    greedy = GenerationConfig(
        do_sample=False,
        max_new_tokens=ANSWER_TOKENS,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    with torch.inference_mode():
        answer: torch.Tensor = model.generate(
            input_ids=prompt, attention_mask=torch.ones_like(prompt), generation_config=greedy
        )
    return answer


def _logits(model: Any, ids: "torch.Tensor") -> "torch.Tensor":
    import torch

    with torch.inference_mode():
        logits: torch.Tensor = model(input_ids=ids).logits
    return logits


def _refuse_apart(
    model: Any, answers: "list[torch.Tensor]", wanted: "list[torch.Tensor]", tolerance: float, how: str
) -> None:
    apart = max(
        ((_logits(model, answer) - logits).abs().max() / logits.std()).item()
        for answer, logits in zip(answers, wanted, strict=True)
    )
    # Not `apart > tolerance`: what is no number must not pass.
    if not apart <= tolerance:
        raise GateRefused(
            f"the model {how} differs from base and adapter by {apart:.1e} standard deviations of a logit, limit "
            f"{tolerance:.0e}; {_REMEDY}"
        )
