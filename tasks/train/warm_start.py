"""The base model: the child process of the base stage.

Where the profile has a stand-in, it is built here and given an SFT warm start on imperfect demonstrations of training
prompts, with the dataset's general instructions among them if it has any; otherwise the named model is read and kept as
an artifact, so that later stages never go to a hub.
"""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
from pydantic import BaseModel, ConfigDict

from schemas.config import PolicyConfig, WarmStartConfig
from schemas.errors import InputError
from schemas.instructions import COLUMNS, GENERAL_FILE
from schemas.prompts import PromptRow, read_prompts
from tasks.policy.child import Channel, serve

SUMMARY_FILE = "warm_start.json"

Shown = TypeVar("Shown")


class WarmStartRequest(BaseModel):
    """What the base stage asks of its child."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    policy: PolicyConfig
    """Which model."""
    warm_start: WarmStartConfig
    """The stand-in's supervised fine-tuning."""
    seed: int
    """Decides the stand-in's first weights, its demonstrations and their order."""
    dataset: Path
    """Folder of the dataset artifact; only its training split and its general instructions are read."""
    output: Path
    """Empty folder for the model."""


def main(request_file: Path, channel: Channel) -> None:
    """Write the base model and its tokenizer to the request's output folder."""
    request = WarmStartRequest.model_validate_json(request_file.read_text(encoding="utf-8"))
    channel.progress(0, request.warm_start.steps, "loading torch and TRL")
    if request.policy.stand_in:
        _warm_start(request, request_file.parent / "warm_start", channel)
    else:
        _fetch(request)


def _fetch(request: WarmStartRequest) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    name = request.policy.name
    try:
        model = AutoModelForCausalLM.from_pretrained(name, dtype="auto")
        tokenizer = AutoTokenizer.from_pretrained(name)
    except (OSError, ValueError) as error:
        raise InputError(f"policy.name {name!r} cannot be loaded; give a hub name or a folder: {error}") from error
    model.save_pretrained(request.output)
    tokenizer.save_pretrained(request.output)


def _warm_start(request: WarmStartRequest, work: Path, channel: Channel) -> None:
    import transformers
    from datasets import Dataset
    from trl import SFTConfig

    from tasks.policy.stand_in import build_model, build_tokenizer
    from tasks.train.callbacks import LossReporter
    from tasks.train.trainer import WarmStartTrainer

    transformers.utils.logging.disable_progress_bar()
    rows = read_prompts(request.dataset / "data" / "train.parquet")
    general = _read_general(request.dataset)
    demonstrations = list(_with_general(rows, general, request.warm_start, request.seed))
    tokenizer = build_tokenizer(_texts(demonstrations), request.policy.vocabulary_size)
    steps = request.warm_start.steps
    trainer = WarmStartTrainer(
        model=build_model(request.policy, tokenizer, request.seed),
        args=SFTConfig(
            output_dir=str(work),
            seed=request.seed,
            max_steps=steps,
            # Their order is random already; shuffled once more, the general ones would not be spread evenly.
            train_sampling_strategy="sequential" if general else "random",
            per_device_train_batch_size=request.warm_start.batch_size,
            learning_rate=request.warm_start.learning_rate,
            lr_scheduler_type="cosine",
            warmup_steps=max(1, steps // 20),
            weight_decay=0.01,
            max_grad_norm=1.0,
            max_length=None,
            completion_only_loss=True,
            bf16=False,
            use_cpu=True,
            gradient_checkpointing=False,
            save_strategy="no",
            logging_steps=max(1, steps // 50),
            report_to="none",
            disable_tqdm=True,
            dataset_num_proc=None,
        ),
        train_dataset=Dataset.from_list(demonstrations),
        processing_class=tokenizer,
        callbacks=[LossReporter(channel, steps)],
    )
    trainer.train()
    trainer.model.save_pretrained(request.output)
    tokenizer.save_pretrained(request.output)
    summary = {
        "seed": request.seed,
        "parameters": trainer.model.num_parameters(),
        "demonstrations": len(demonstrations),
        "general": _general_wanted(rows, general, len(demonstrations)),
        "log": [entry for entry in trainer.state.log_history if "loss" in entry],
    }
    (request.output / SUMMARY_FILE).write_text(json.dumps(summary, indent=1), encoding="utf-8")


def _read_general(dataset: Path) -> list[dict[str, str]]:
    file = dataset / GENERAL_FILE
    return pl.read_parquet(file, columns=list(COLUMNS)).to_dicts() if file.exists() else []


def _with_general(
    rows: Sequence[PromptRow], general: Sequence[dict[str, str]], config: WarmStartConfig, seed: int
) -> Iterator[dict[str, Any]]:
    """Yield as many demonstrations as the steps will read, the general instructions spread evenly among them."""
    wanted = config.steps * config.batch_size
    of_general = _general_wanted(rows, general, wanted)
    # A generator of its own: each kind's draws are the same whatever the other kind has.
    instructions = _instructions(general, of_general, random.Random(f"general:{seed}"))
    demonstrations = _demonstrations(rows, wanted - of_general, random.Random(seed))
    for place in range(wanted):
        is_general = (place + 1) * of_general // wanted > place * of_general // wanted
        yield next(instructions if is_general else demonstrations)


def _general_wanted(rows: Sequence[PromptRow], general: Sequence[dict[str, str]], wanted: int) -> int:
    """Return how many of the demonstrations are general: the share that they have in the dataset's training rows."""
    return round(wanted * len(general) / (len(rows) + len(general)))


def _demonstrations(rows: Sequence[PromptRow], wanted: int, generator: random.Random) -> Iterator[dict[str, Any]]:
    from tasks.policy.demonstrations import demonstrate

    for row in _rounds(rows, wanted, generator):
        yield _shown(row.system, row.prompt, demonstrate(row.task, row.reference, generator))


def _instructions(general: Sequence[dict[str, str]], wanted: int, generator: random.Random) -> Iterator[dict[str, Any]]:
    for row in _rounds(general, wanted, generator):
        yield _shown(row["system"], row["prompt"], row["completion"])


def _rounds(rows: Sequence[Shown], wanted: int, generator: random.Random) -> Iterator[Shown]:
    """Yield so many rows in random order, every one before any again."""
    while wanted > 0:
        for row in generator.sample(rows, k=min(wanted, len(rows))):
            yield row
            wanted -= 1


def _shown(system: str, prompt: str, completion: str) -> dict[str, Any]:
    from tasks.policy.generate import as_messages

    return {"prompt": as_messages(system, prompt), "completion": [{"role": "assistant", "content": completion}]}


def _texts(demonstrations: Sequence[dict[str, Any]]) -> Iterator[str]:
    for demonstration in demonstrations:
        for message in demonstration["prompt"] + demonstration["completion"]:
            yield message["content"]


if __name__ == "__main__":
    serve(main)
