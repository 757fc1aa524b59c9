"""A trained policy as one model: the adapter merged into the base, and proven to answer as the two together do."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict

from schemas.errors import GateRefused, InputError
from schemas.progress import Progress, silent
from schemas.prompts import PromptRow
from tasks.policy.generate import Message, as_messages
from tasks.policy.load import load_tokenizer, reset_generation_config

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

MERGED_FOLDER: Final = "merged"
CHECK_PROMPTS: Final = 20
"""Prompts that the merged model is compared on."""
ANSWER_TOKENS: Final = 24
"""Greedy tokens that are compared after each prompt, at most."""
MERGED_TOLERANCE: Final = 1e-3
"""Largest difference of a logit by merging in float32, in standard deviations of the logits."""
WRITTEN_TOLERANCE: Final = 5e-2
"""Largest difference of a logit by rounding the merged weights to the type of the base, bfloat16 as a rule."""
_PHASES: Final = ("reading base and adapter", "answering", "merging", "writing", "reading what was written")


class MergeCheck(BaseModel):
    """How the merged model compares with base and adapter."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompts: int
    """Prompts that both answered."""
    tokens: int
    """Greedy tokens of those answers: merged in float32, all of them are the same."""
    tokens_same_as_written: int
    """How many of them are the greedy choice of the written weights too, which are rounded to the base's type."""
    merged_difference: float
    """Largest difference of a logit by merging, in standard deviations of the logits."""
    written_difference: float
    """The same, of the written weights."""
    dtype: str
    """The type that the weights were written in."""


class _Answers:
    """Greedy answers after their prompts, and where they stand."""

    def __init__(self, ids: "torch.Tensor", prompt_mask: "torch.Tensor", end_of_turn: int) -> None:
        """Tell prompts, answers and padding apart.

        Args:
            ids: Prompts, padded on the left, with their answers, padded on the right: (prompts, tokens).
            prompt_mask: 1 for each token of a prompt, 0 for its padding.
            end_of_turn: The token that ends an answer.
        """
        import torch

        self.ids = ids
        self.longest = ids.shape[1] - prompt_mask.shape[1]
        ends = torch.eq(ids[:, prompt_mask.shape[1] :], end_of_turn)
        self.counted = ends.cumsum(dim=1) - ends.long() == 0
        """Which tokens are of an answer, its end included: (prompts, longest)."""
        self.mask = torch.cat([prompt_mask, self.counted.long()], dim=1)


def check_prompts(rows: Sequence[PromptRow]) -> list[list[Message]]:
    """Return the conversations that a merged model is compared on: some of the rows, spread evenly, or all.

    Args:
        rows: Prompts that are free to be looked at: of the validation split, never of the test's.
    """
    count = min(CHECK_PROMPTS, len(rows))
    chosen = [rows[index * len(rows) // count] for index in range(count)]
    return [as_messages(row.system, row.prompt) for row in chosen]


def write_merged(
    base: Path,
    adapter: Path,
    output: Path,
    prompts: Sequence[list[Message]],
    *,
    remedy: str,
    progress: Progress = silent,
) -> MergeCheck:
    """Write the base with the adapter merged into it, in the base's own precision, and its tokenizer.

    An adapter that was trained beside a quantized base is merged into the base as it was before: merged into quantized
    weights it would be rounded to their few values. All is computed in float32 on the CPU, where no rounding hides a
    fault and a trainer holds no memory. What was written is read back and compared too.

    Args:
        base: Folder of the base model.
        adapter: Folder of the LoRA adapter that was trained on it.
        output: Empty folder, or none yet, for the merged model.
        prompts: What both are asked, one conversation or more.
        remedy: What the user can do where it cannot be merged: the end of a sentence.
        progress: Told how far it is.

    Raises:
        InputError: The base or the adapter cannot be read, or they do not belong together.
        GateRefused: The merged model answers otherwise than base and adapter do.
    """
    import torch
    from peft import PeftModel

    phases = iter(enumerate(_PHASES))

    def begin() -> None:
        index, phase = next(phases)
        progress(index, len(_PHASES), phase)

    begin()
    tokenizer = load_tokenizer(base)
    model = _load_exact(base, remedy)
    # The base's own may hold a temperature or a penalty: no answer would be greedy, and nothing was evaluated with it.
    reset_generation_config(model)
    own_type = model.config.dtype
    try:
        adapted = PeftModel.from_pretrained(model.float(), adapter).eval()
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(
            f"no adapter of {base} can be read from {adapter} ({type(error).__name__}); train it anew on this base, or "
            f"{remedy}"
        ) from error
    begin()
    answers = _answer(adapted, tokenizer, prompts)
    wanted = _logits(adapted, answers)
    begin()
    merged = adapted.merge_and_unload()
    found = _logits(merged, answers)
    # Where each choice after the same tokens is the same, so is the greedy answer.
    if not torch.equal(found.argmax(dim=-1), wanted.argmax(dim=-1)):
        raise GateRefused(f"the base {base} with {adapter} merged into it answers with other words; {remedy}")
    merged_difference = _require_close(found, wanted, MERGED_TOLERANCE, "merged", remedy)
    begin()
    merged.to(own_type).save_pretrained(output)
    tokenizer.save_pretrained(output)
    del adapted, merged, model
    begin()
    found = _logits(_load_exact(output, remedy).float().eval(), answers)
    written_difference = _require_close(found, wanted, WRITTEN_TOLERANCE, f"written to {output}", remedy)
    progress(len(_PHASES), len(_PHASES), "merged")
    return MergeCheck(
        prompts=len(prompts),
        tokens=len(wanted),
        tokens_same_as_written=int((found.argmax(dim=-1) == wanted.argmax(dim=-1)).sum()),
        merged_difference=merged_difference,
        written_difference=written_difference,
        dtype=str(own_type).removeprefix("torch."),
    )


def _load_exact(folder: Path, remedy: str) -> "PreTrainedModel":
    """Read a model onto the CPU in the precision that it was saved in."""
    from transformers import AutoModelForCausalLM

    try:
        return AutoModelForCausalLM.from_pretrained(folder, dtype="auto", device_map={"": "cpu"})
    except (OSError, ValueError) as error:
        raise InputError(
            f"no model can be read from {folder} ({type(error).__name__}); give the folder of a whole downloaded "
            f"model, or {remedy}"
        ) from error


def _answer(model: Any, tokenizer: "PreTrainedTokenizerBase", prompts: Sequence[list[Message]]) -> _Answers:
    """Answer all prompts greedily, at once: the weights of a large model are read once for all."""
    import torch
    from transformers import GenerationConfig

    rendered = [
        tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True) for messages in prompts
    ]
    encoded = tokenizer(rendered, return_tensors="pt", padding=True, add_special_tokens=False)
    greedy = GenerationConfig(
        do_sample=False,
        max_new_tokens=ANSWER_TOKENS,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    with torch.inference_mode():
        ids: torch.Tensor = model.generate(
            input_ids=encoded["input_ids"], attention_mask=encoded["attention_mask"], generation_config=greedy
        )
    end: Any = tokenizer.eos_token_id
    return _Answers(ids, encoded["attention_mask"], end)


def _logits(model: Any, answers: _Answers) -> "torch.Tensor":
    """Return what a model holds each token of the answers to be, after those before it: (tokens, vocabulary)."""
    import torch

    positions = (answers.mask.cumsum(dim=1) - 1).clamp(min=0)
    with torch.inference_mode():
        # The prompts' own logits are left out: with a large vocabulary they would not fit into memory.
        logits: torch.Tensor = model(
            input_ids=answers.ids,
            attention_mask=answers.mask,
            position_ids=positions,
            logits_to_keep=answers.longest + 1,
        ).logits
    return logits[:, :-1][answers.counted]


def _require_close(found: "torch.Tensor", wanted: "torch.Tensor", tolerance: float, how: str, remedy: str) -> float:
    apart = ((found - wanted).abs().max() / wanted.std()).item()
    # Not `apart > tolerance`: what is no number must not pass.
    if not apart <= tolerance:
        raise GateRefused(
            f"the model {how} differs from base and adapter by {apart:.1e} standard deviations of a logit, limit "
            f"{tolerance:.0e}; {remedy}"
        )
    return float(apart)
