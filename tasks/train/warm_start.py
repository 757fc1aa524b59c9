"""The base model: the child process of the base stage.

Where the profile has a stand-in, it is built here and given an SFT warm start on imperfect demonstrations of training
prompts; otherwise the named model is read and kept as an artifact, so that later stages never go to a hub.
"""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from schemas.config import PolicyConfig, WarmStartConfig
from schemas.errors import InputError
from schemas.prompts import PromptRow, read_prompts
from tasks.policy.child import Channel, serve

SUMMARY_FILE = "warm_start.json"


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
    """Folder of the dataset artifact; only its training split is read."""
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
    generator = random.Random(request.seed)
    demonstrations = list(_demonstrations(rows, request.warm_start, generator))
    tokenizer = build_tokenizer(_texts(demonstrations), request.policy.vocabulary_size)
    steps = request.warm_start.steps
    trainer = WarmStartTrainer(
        model=build_model(request.policy, tokenizer, request.seed),
        args=SFTConfig(
            output_dir=str(work),
            seed=request.seed,
            max_steps=steps,
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
        "log": [entry for entry in trainer.state.log_history if "loss" in entry],
    }
    (request.output / SUMMARY_FILE).write_text(json.dumps(summary, indent=1), encoding="utf-8")


def _demonstrations(
    rows: Sequence[PromptRow], config: WarmStartConfig, generator: random.Random
) -> Iterator[dict[str, Any]]:
    """Yield as many demonstrations as the steps will read, every training prompt before any again."""
    from tasks.policy.demonstrations import demonstrate
    from tasks.policy.generate import as_messages

    wanted = config.steps * config.batch_size
    while wanted > 0:
        for row in generator.sample(rows, k=min(wanted, len(rows))):
            answer = demonstrate(row.task, row.reference, generator)
            yield {
                "prompt": as_messages(row.system, row.prompt),
                "completion": [{"role": "assistant", "content": answer}],
            }
            wanted -= 1


def _texts(demonstrations: Sequence[dict[str, Any]]) -> Iterator[str]:
    for demonstration in demonstrations:
        for message in demonstration["prompt"] + demonstration["completion"]:
            yield message["content"]


if __name__ == "__main__":
    serve(main)
