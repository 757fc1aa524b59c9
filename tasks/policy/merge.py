"""Merge of a trained policy into one model, verified to answer like base and adapter."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict

from schemas.errors import GateRefused, InputError
from schemas.progress import Progress, silent
from schemas.tables.prompts import PromptRow
from tasks.policy.generate import Message, as_messages
from tasks.policy.load import load_tokenizer, reset_generation_config

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

MERGED_FOLDER: Final = "merged"
CHECK_PROMPTS: Final = 20
"""Prompts on which the merged model is compared."""
ANSWER_TOKENS: Final = 24
"""Most greedy tokens compared after each prompt."""
MERGED_TOLERANCE: Final = 1e-3
"""Largest difference of a logit by merging in float32, in standard deviations of the logits."""
WRITTEN_TOLERANCE: Final = 5e-2
"""Root mean square difference of the logits by rounding the merged weights to the type of the base, usually bfloat16,
in standard deviations of the logits. At 28 layers rounding alone makes .008, and .017 if weights are twice as large.
The largest single difference indicates no fault: among millions of logits it is several times
that in a correct merge."""
_PHASES: Final = ("reading base and adapter", "answering", "merging", "writing", "reading what was written")


class MergeCheck(BaseModel):
    """Comparison of the merged model with base and adapter."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompts: int
    """Prompts that both answered."""
    tokens: int
    """Greedy tokens of those answers; all are equal after the merge in float32."""
    tokens_same_as_written: int
    """Number of them that the written weights, rounded to the base's type, choose too."""
    merged_difference: float
    """Largest difference of a logit by merging, in standard deviations of the logits."""
    written_difference: float
    """Root mean square difference of the written weights' logits, in standard deviations of the logits."""
    dtype: str
    """Type of the written weights."""


class _Answers:
    """Greedy answers after their prompts, with masks."""

    def __init__(self, ids: "torch.Tensor", prompt_mask: "torch.Tensor", end_of_turn: int) -> None:
        import torch

        self.ids = ids
        self.longest = ids.shape[1] - prompt_mask.shape[1]
        ends = torch.eq(ids[:, prompt_mask.shape[1] :], end_of_turn)
        self.counted = ends.cumsum(dim=1) - ends.long() == 0
        """Mask of the answers' tokens, including their ends: (prompts, longest)."""
        self.mask = torch.cat([prompt_mask, self.counted.long()], dim=1)


def check_prompts(rows: Sequence[PromptRow]) -> list[list[Message]]:
    """Return the conversations for the comparison: some of the rows, spread evenly, or all."""
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

    An adapter trained beside a quantized base is merged into the unquantized base: quantized weights would round it to
    their few values. All is computed in float32, so that rounding hides no fault: on a GPU if there is one, whose 24 GB
    have room for 3.7B parameters, unlike its host's 16 GB; and in a separate process, without a trainer. The written
    files are read back and compared too.
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
    # The base's own may set a temperature or a penalty: answers would not be greedy, and the evaluation did not use it.
    reset_generation_config(model)
    own_type = model.config.dtype
    try:
        adapted = PeftModel.from_pretrained(model.float(), adapter).eval()
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(
            f"no adapter of {base} can be read from {adapter} ({type(error).__name__}); train it again on this base, "
            f"or {remedy}"
        ) from error
    begin()
    answers = _answer(adapted, tokenizer, prompts)
    wanted = _logits(adapted, answers)
    begin()
    merged = adapted.merge_and_unload()
    found = _logits(merged, answers)
    # If each choice after the same tokens is equal, so is the greedy answer.
    if not torch.equal(found.argmax(dim=-1), wanted.argmax(dim=-1)):
        raise GateRefused(f"the base {base} with {adapter} merged into it answers with other words; {remedy}")
    merged_difference = _require_close(_largest(found - wanted), wanted, MERGED_TOLERANCE, "merged", remedy)
    begin()
    merged.to(own_type).save_pretrained(output)
    tokenizer.save_pretrained(output)
    del adapted, merged, model
    begin()
    found = _logits(_load_exact(output, remedy).float().eval(), answers)
    written_difference = _require_close(
        _root_mean_square(found - wanted), wanted, WRITTEN_TOLERANCE, f"written to {output}", remedy
    )
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
    """Load a model onto the GPU, or the CPU without one, in its saved precision."""
    import torch
    from transformers import AutoModelForCausalLM

    device = "cuda:0" if torch.cuda.is_available() else "cpu"
    try:
        return AutoModelForCausalLM.from_pretrained(folder, dtype="auto", device_map={"": device})
    except (OSError, ValueError) as error:
        raise InputError(
            f"no model can be read from {folder} ({type(error).__name__}); give the folder of a whole downloaded "
            f"model, or {remedy}"
        ) from error


def _answer(model: Any, tokenizer: "PreTrainedTokenizerBase", prompts: Sequence[list[Message]]) -> _Answers:
    """Answer all prompts greedily in one batch: the weights of a large model are read once for all."""
    import torch
    from transformers import GenerationConfig

    rendered = [
        tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True) for messages in prompts
    ]
    encoded = tokenizer(rendered, return_tensors="pt", padding=True, padding_side="left", add_special_tokens=False).to(
        model.device
    )
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
    """Return the logits of each answer token, given those before it: (tokens, vocabulary)."""
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


def _largest(differences: "torch.Tensor") -> float:
    return float(differences.abs().max())


def _root_mean_square(differences: "torch.Tensor") -> float:
    return float(differences.square().mean().sqrt())


def _require_close(difference: float, wanted: "torch.Tensor", tolerance: float, how: str, remedy: str) -> float:
    apart = difference / float(wanted.std())
    # Not `apart > tolerance`: NaN must not pass.
    if not apart <= tolerance:
        raise GateRefused(
            f"the model {how} differs from base and adapter by {apart:.1e} standard deviations of a logit, limit "
            f"{tolerance:.0e}; {remedy}"
        )
    return apart
