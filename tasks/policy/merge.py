"""Merge of a trained policy into one model, verified to answer like base and adapter: a child process."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict

from schemas.disk import write_whole
from schemas.errors import GateRefused, InputError
from schemas.progress import Progress, silent
from schemas.tables.prompts import VALIDATION_FILE, PromptRow, read_prompts
from tasks.policy.child import Channel, as_child
from tasks.policy.generate import Message, Rendered, as_messages, draw_by_engine, draw_by_transformers, render
from tasks.policy.load import load_tokenizer, read_folder
from tasks.policy.unpacked import engine_draws

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

MERGED_FOLDER: Final = "merged"
MODEL_FOLDER: Final = "model"  # Of a policy that is a whole model.
CHECK_FILE: Final = "merge.json"
"""Artifact file beside the model's own: the comparison with base and adapter."""
CHECK_PROMPTS: Final = 20
"""Prompts on which the merged model is compared."""
ANSWER_TOKENS: Final = 24
"""Most greedy tokens compared after each prompt."""
GREEDY: Final = 1e-9
"""Temperature with noise that no difference of float32 logits is as small as."""
MERGED_TOLERANCE: Final = 1e-3
"""Largest difference of a logit by merging in float32, in standard deviations of the logits."""
WRITTEN_TOLERANCE: Final = 5e-2
"""Root mean square difference of the logits by rounding the merged weights to the type of the base, usually bfloat16,
in standard deviations of the logits. At 28 layers rounding alone makes .008, and .017 if weights are twice as large.
The largest single difference indicates no fault: among millions of logits it is several times
that in a correct merge."""
REMEDY: Final = "nothing is promoted; train the policy again"
_PHASES: Final = 5


class MergeRequest(BaseModel):
    """Request of the merge stage to its child process."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base: Path
    """Folder of the base model."""
    adapter: Path
    """Folder of the policy's adapter for all tasks, or of the whole model that it is."""
    dataset: Path
    """Folder of the dataset artifact; only its validation split is read."""
    output: Path
    """Folder for the merged model and its comparison."""


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


def main(request_file: Path, channel: Channel) -> None:
    """Write the merged model and its comparison."""
    request = MergeRequest.model_validate_json(request_file.read_text(encoding="utf-8"))
    channel.progress(0, 1, "loading torch")

    import transformers

    transformers.utils.logging.disable_progress_bar()
    rows = spread_evenly(read_prompts(request.dataset / VALIDATION_FILE), CHECK_PROMPTS)
    prompts = [as_messages(row.system, row.prompt) for row in rows]
    check = write_merged(
        request.base, request.adapter, request.output, prompts, remedy=REMEDY, progress=channel.progress
    )
    write_whole(request.output / CHECK_FILE, check.model_dump_json(indent=1))


def read_check(folder: Path) -> MergeCheck:
    """Read the comparison of a merged artifact with base and adapter."""
    return MergeCheck.model_validate_json((folder / CHECK_FILE).read_text(encoding="utf-8"))


def spread_evenly(rows: Sequence[PromptRow], most: int) -> Sequence[PromptRow]:
    """Return some of the rows, spread evenly, or all."""
    count = min(most, len(rows))
    return [rows[index * len(rows) // count] for index in range(count)]


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
    files are read back and compared too. GateRefused where the merged or the written model answers otherwise.
    """
    import torch
    from peft import PeftModel

    progress(0, _PHASES, "reading base and adapter")
    tokenizer, model = load_tokenizer(base), _load_exact(base)
    own_type, is_whole = model.config.dtype, adapter.name == MODEL_FOLDER
    try:
        adapted = (
            _load_exact(adapter).float() if is_whole else PeftModel.from_pretrained(model.float(), adapter)
        ).eval()
    except (OSError, ValueError, RuntimeError) as error:
        raise InputError(
            f"no adapter of {base} can be read from {adapter} ({type(error).__name__}); train it again on this base, "
            f"or {remedy}"
        ) from error
    progress(1, _PHASES, "answering")
    answers = _answer(adapted, tokenizer, prompts)
    wanted = _logits(adapted, answers)
    progress(2, _PHASES, "merging")
    merged = adapted if is_whole else adapted.merge_and_unload()
    found = _logits(merged, answers)
    # If each choice after the same tokens is equal, so is the greedy answer.
    if not torch.equal(found.argmax(dim=-1), wanted.argmax(dim=-1)):
        raise GateRefused(f"the base {base} with {adapter} merged into it answers with other words; {remedy}")
    merged_difference = _require_close((found - wanted).abs().max(), wanted, MERGED_TOLERANCE, "merged", remedy)
    progress(3, _PHASES, "writing")
    merged.to(own_type).save_pretrained(output)
    tokenizer.save_pretrained(output)
    del adapted, merged, model
    progress(4, _PHASES, "reading what was written")
    found = _logits(_load_exact(output).float().eval(), answers)
    mean = (found - wanted).square().mean().sqrt()
    written_difference = _require_close(mean, wanted, WRITTEN_TOLERANCE, f"written to {output}", remedy)
    progress(_PHASES, _PHASES, "merged")
    return MergeCheck(
        prompts=len(prompts),
        tokens=len(wanted),
        tokens_same_as_written=int((found.argmax(dim=-1) == wanted.argmax(dim=-1)).sum()),
        merged_difference=merged_difference,
        written_difference=written_difference,
        dtype=str(own_type).removeprefix("torch."),
    )


def _load_exact(folder: Path) -> "PreTrainedModel":
    """Load a model onto the GPU, or the CPU without one, in its saved precision."""
    import torch

    device = "cuda:0" if torch.cuda.is_available() else "cpu"
    return read_folder(folder, dtype="auto", device_map={"": device})


def _answer(
    model: Any, tokenizer: "PreTrainedTokenizerBase", prompts: Sequence[list[Message]]
) -> list[tuple[list[int], list[int]]]:
    """Answer all prompts greedily at once; return each one's tokens, and those of its answer with its end."""
    end: Any = tokenizer.eos_token_id
    rendered = [render(tokenizer, each) for each in prompts]
    asked = [tokenizer.encode(text, add_special_tokens=False) for text in rendered]
    greedy = Rendered(rendered, GREEDY, ANSWER_TOKENS, seeds=[0], guide=lambda _: None)
    draw = draw_by_engine if engine_draws(model) else draw_by_transformers
    ((_, _, ids),) = draw(model, tokenizer, greedy, [range(len(asked))])
    return [(prompt, own[: own.index(end) + 1] if end in own else own) for prompt, own in zip(asked, ids, strict=True)]


def _logits(model: Any, answers: Sequence[tuple[list[int], list[int]]]) -> "torch.Tensor":
    """Return the logits of each answer token, given those before it: (tokens, vocabulary)."""
    import torch

    with torch.inference_mode():
        # The prompts' own logits are left out: with a large vocabulary they would not fit into memory.
        found = [
            model(input_ids=torch.tensor([[*asked, *own]], device=model.device), logits_to_keep=len(own) + 1).logits
            for asked, own in answers
        ]
    return torch.cat([logits[0, :-1] for logits in found])


def _require_close(
    difference: "torch.Tensor", wanted: "torch.Tensor", tolerance: float, how: str, remedy: str
) -> float:
    apart = float(difference) / float(wanted.std())
    # Not `apart > tolerance`: NaN must not pass.
    if not apart <= tolerance:
        raise GateRefused(
            f"the model {how} differs from base and adapter by {apart:.1e} standard deviations of a logit, limit "
            f"{tolerance:.0e}; {remedy}"
        )
    return apart


if __name__ == "__main__":
    with as_child() as (request_file, channel):
        main(request_file, channel)
