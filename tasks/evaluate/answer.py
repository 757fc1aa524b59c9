"""Base and tuned policies answer the test split: the child process of the evaluate stage."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from schemas.progress import Progress
from schemas.prompts import PromptRow, read_prompts
from tasks.policy.adapters import adapter_for, switch_adapter
from tasks.policy.child import Channel, serve

if TYPE_CHECKING:
    from tasks.policy.generate import Completion

BASE_FILE = "base.rollouts.jsonl"


def tuned_file(seed: int, seeds: Collection[int]) -> str:
    """Name the file of one policy's rollouts: by its training seed, where several were trained."""
    return "tuned.rollouts.jsonl" if len(seeds) == 1 else f"tuned-seed{seed}.rollouts.jsonl"


class AnswerRequest(BaseModel):
    """What the evaluate stage asks of its child."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base: Path
    """Folder of the base model."""
    policies: dict[int, Path] = Field(min_length=1)
    """Folder of each tuned policy, by its training seed."""
    load_in_4bit: bool
    """Whether the base's weights are quantized, as they were in training."""
    dataset: Path
    """Folder of the dataset artifact; only its test split is read."""
    temperature: float
    """Sampling temperature, the same for all."""
    max_tokens: int
    """Longest completion, in tokens."""
    batch_size: int
    """Prompts answered at once."""
    seed: int
    """Decides every sampled token, the same for all."""
    output: Path
    """Folder for the files of rollouts."""


def main(request_file: Path, channel: Channel) -> None:
    """Write the rollouts of the base and of each tuned policy."""
    request = AnswerRequest.model_validate_json(request_file.read_text(encoding="utf-8"))
    channel.progress(0, 1, "loading torch")

    import transformers

    from tasks.policy.generate import write_rollouts
    from tasks.policy.load import load_tokenizer

    transformers.utils.logging.disable_progress_bar()
    rows = read_prompts(request.dataset / "data" / "test.parquet")
    tokenizer = load_tokenizer(request.base)
    answering: dict[str, dict[Path | None, list[int]]] = {BASE_FILE: {None: list(range(len(rows)))}}
    for seed, policy in request.policies.items():
        answering[tuned_file(seed, request.policies)] = _by_adapter(policy, rows)
    total = len(answering) * len(rows)
    for index, (name, by_adapter) in enumerate(answering.items()):
        before = index * len(rows)
        completions = _answer(
            request,
            tokenizer,
            rows,
            by_adapter,
            lambda done, _, text, before=before: channel.progress(before + done, total, text),
        )
        write_rollouts(request.output / name, rows, completions)


def _by_adapter(policy: Path, rows: Sequence[PromptRow]) -> dict[Path | None, list[int]]:
    """Return which rows each adapter of a policy answers, by their index."""
    indices: dict[Path | None, list[int]] = {}
    for index, row in enumerate(rows):
        indices.setdefault(adapter_for(policy, row.task), []).append(index)
    return indices


def _answer(
    request: AnswerRequest,
    tokenizer: Any,
    rows: Sequence[PromptRow],
    by_adapter: dict[Path | None, list[int]],
    progress: Progress,
) -> list["Completion"]:
    from tasks.policy.generate import as_messages, generate
    from tasks.policy.load import load_policy

    model: Any = None
    completions: dict[int, Completion] = {}
    for adapter, indices in by_adapter.items():
        if model is None:
            model = load_policy(request.base, adapter, four_bit=request.load_in_4bit)
        elif adapter is not None:
            switch_adapter(model, adapter)
        before = len(completions)
        answers = generate(
            model,
            tokenizer,
            [as_messages(rows[index].system, rows[index].prompt) for index in indices],
            temperature=request.temperature,
            max_tokens=request.max_tokens,
            batch_size=request.batch_size,
            seed=request.seed,
            progress=lambda done, _, text, before=before: progress(before + done, len(rows), text),
        )
        completions.update(zip(indices, answers, strict=True))
    return [completions[index] for index in range(len(rows))]


if __name__ == "__main__":
    serve(main)
