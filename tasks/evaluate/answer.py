"""Base and tuned answer the test split: the child process of the evaluate stage."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from schemas.prompts import read_prompts
from tasks.policy.child import Channel, serve

BASE_FILE = "base.rollouts.jsonl"
TUNED_FILE = "tuned.rollouts.jsonl"


class AnswerRequest(BaseModel):
    """What the evaluate stage asks of its child."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base: Path
    """Folder of the base model."""
    adapter: Path
    """Folder of the tuned adapter."""
    load_in_4bit: bool
    """Whether the base's weights are quantized, as they were in training."""
    dataset: Path
    """Folder of the dataset artifact; only its test split is read."""
    temperature: float
    """Sampling temperature, the same for both."""
    max_tokens: int
    """Longest completion, in tokens."""
    batch_size: int
    """Prompts answered at once."""
    seed: int
    """Decides every sampled token, the same for both."""
    output: Path
    """Folder for the two files of rollouts."""


def main(request_file: Path, channel: Channel) -> None:
    """Write the rollouts of the base and of the tuned model."""
    request = AnswerRequest.model_validate_json(request_file.read_text(encoding="utf-8"))
    channel.progress(0, 1, "loading torch")

    import transformers

    from tasks.policy.generate import as_messages, generate, write_rollouts
    from tasks.policy.load import load_policy, load_tokenizer

    transformers.utils.logging.disable_progress_bar()
    rows = read_prompts(request.dataset / "data" / "test.parquet")
    tokenizer = load_tokenizer(request.base)
    for index, (name, adapter) in enumerate(((BASE_FILE, None), (TUNED_FILE, request.adapter))):
        model = load_policy(request.base, adapter, four_bit=request.load_in_4bit)
        completions = generate(
            model,
            tokenizer,
            [as_messages(row.system, row.prompt) for row in rows],
            temperature=request.temperature,
            max_tokens=request.max_tokens,
            batch_size=request.batch_size,
            seed=request.seed,
            progress=lambda done, total, text, before=index: channel.progress(before * total + done, 2 * total, text),
        )
        write_rollouts(request.output / name, rows, completions)


if __name__ == "__main__":
    serve(main)
