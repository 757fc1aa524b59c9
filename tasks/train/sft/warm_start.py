"""The base model: the child process of the base stage.

Where the profile has a stand-in, it is built here and given an SFT warm start on imperfect demonstrations of training
prompts, so that GRPO has something to teach. A named model is read and kept as an artifact, so that later stages never
go to a hub; where the profile asks for it, it is first given a warm start on the reference answers, by an adapter that
is merged into its full-precision weights. General instructions of the dataset are mixed in, if it has any.
"""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl
from pydantic import BaseModel, ConfigDict

from schemas.config import PolicyConfig, WarmStartConfig
from schemas.errors import InputError
from schemas.instructions import COLUMNS, GENERAL_FILE
from schemas.prompts import PromptRow, read_prompts
from tasks.policy.child import Channel, serve

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

SUMMARY_FILE = "warm_start.json"

Shown = TypeVar("Shown")
Demonstrate = Callable[[PromptRow, random.Random], str]
"""Answers a prompt the way that is to be learnt."""


class WarmStartRequest(BaseModel):
    """What the base stage asks of its child."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    policy: PolicyConfig
    """Which model."""
    warm_start: WarmStartConfig
    """The supervised fine-tuning."""
    seed: int
    """Decides the stand-in's or the adapter's first weights, the demonstrations and their order."""
    dataset: Path
    """Folder of the dataset artifact; only its training split and its general instructions are read."""
    output: Path
    """Empty folder for the model."""


def main(request_file: Path, channel: Channel) -> None:
    """Write the base model and its tokenizer to the request's output folder."""
    request = WarmStartRequest.model_validate_json(request_file.read_text(encoding="utf-8"))
    work = request_file.parent / "warm_start"
    channel.progress(0, request.warm_start.steps, "loading torch and TRL")
    if request.policy.stand_in:
        _teach_stand_in(request, work, channel)
    elif request.warm_start.steps:
        _teach_named(request, work, channel)
    else:
        _write_model(*_fetch(request.policy.name, "auto"), request.output)


def _fetch(name: str, dtype: Any) -> "tuple[PreTrainedModel, PreTrainedTokenizerBase]":
    """Read a model by hub name or folder, with a generation configuration that decides nothing.

    Raises:
        InputError: There is none, it is damaged, or no chat can be rendered for it.
    """
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from tasks.policy.load import reset_generation_config

    try:
        # The tokenizer first: it is small, and may tell that the weights need not be downloaded.
        tokenizer = AutoTokenizer.from_pretrained(name)
        _require_chat(tokenizer, name)
        model = AutoModelForCausalLM.from_pretrained(name, dtype=dtype)
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise InputError(f"policy.name {name!r} cannot be loaded ({reason}); give a hub name or a folder") from error
    # Some that are published cannot be written again: a temperature beside greedy decoding is refused.
    reset_generation_config(model)
    return model, tokenizer


def _require_chat(tokenizer: Any, name: str) -> None:
    # Where a folder has no tokenizer's files, transformers makes one up that knows no token.
    if not tokenizer.encode("a", add_special_tokens=False):
        raise InputError(f"policy.name {name!r} has no tokenizer; add its files, or give another model")
    if tokenizer.chat_template is None:
        raise InputError(f"policy.name {name!r} has no chat template; give an Instruct model, or add one to it")


def _write_model(model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", output: Path) -> None:
    model.save_pretrained(output)
    tokenizer.save_pretrained(output)


def _teach_stand_in(request: WarmStartRequest, work: Path, channel: Channel) -> None:
    import transformers
    from datasets import Dataset
    from trl import SFTConfig

    from tasks.policy.demonstrations import demonstrate
    from tasks.policy.stand_in import build_model, build_tokenizer
    from tasks.train.callbacks import StepReporter
    from tasks.train.warm_start_trainer import WarmStartTrainer

    transformers.utils.logging.disable_progress_bar()
    demonstrations, general = _demonstrations_for(
        request, lambda row, generator: demonstrate(row.task, row.reference, generator)
    )
    tokenizer = build_tokenizer(_texts(demonstrations), request.policy.vocabulary_size)
    trainer = WarmStartTrainer(
        model=build_model(request.policy, tokenizer, request.seed),
        args=SFTConfig(**_arguments(request, work, spread=general > 0, on_gpu=False)),
        train_dataset=Dataset.from_list(demonstrations),
        processing_class=tokenizer,
        callbacks=[StepReporter(channel, request.warm_start.steps)],
    )
    trainer.train()
    _write_model(trainer.model, tokenizer, request.output)
    _write_summary(request, trainer, len(demonstrations), general)


def _teach_named(request: WarmStartRequest, work: Path, channel: Channel) -> None:
    import torch
    import transformers
    from datasets import Dataset
    from peft import LoraConfig
    from trl import SFTConfig, SFTTrainer

    from tasks.commerce.registry import TASKS
    from tasks.train.callbacks import StepReporter
    from tasks.train.plain_head import add_plain_head

    transformers.utils.logging.disable_progress_bar()
    # Not quantized, and not in bfloat16: what the adapter learnt is merged into these very weights.
    model, tokenizer = _fetch(request.policy.name, torch.float32)
    on_gpu = torch.cuda.is_available()
    demonstrations, general = _demonstrations_for(request, lambda row, _: TASKS[row.task].answer(row.reference))
    trainer = SFTTrainer(
        model=model,
        args=SFTConfig(**_arguments(request, work, spread=general > 0, on_gpu=on_gpu)),
        train_dataset=Dataset.from_list(demonstrations),
        processing_class=tokenizer,
        peft_config=LoraConfig(
            r=request.warm_start.lora.rank,
            lora_alpha=request.warm_start.lora.alpha,
            lora_dropout=0.0,
            target_modules="all-linear",
            task_type="CAUSAL_LM",
        ),
        callbacks=[StepReporter(channel, request.warm_start.steps)],
    )
    if not on_gpu:
        add_plain_head(trainer.model.get_base_model())
    try:
        trainer.train()
    except torch.OutOfMemoryError as error:
        raise InputError(
            f"the GPU's memory is too small for warm_start.batch_size {request.warm_start.batch_size}; lower it"
        ) from error
    trainer.model = trainer.model.merge_and_unload()
    _write_model(trainer.model, tokenizer, request.output)
    _write_summary(request, trainer, len(demonstrations), general)


def _arguments(request: WarmStartRequest, work: Path, *, spread: bool, on_gpu: bool) -> dict[str, Any]:
    steps = request.warm_start.steps
    return {
        "output_dir": str(work),
        "seed": request.seed,
        "max_steps": steps,
        # Their order is random already; shuffled once more, the general ones would not be spread evenly.
        "train_sampling_strategy": "sequential" if spread else "random",
        "per_device_train_batch_size": request.warm_start.batch_size,
        "learning_rate": request.warm_start.learning_rate,
        "lr_scheduler_type": "cosine",
        "warmup_steps": max(1, steps // 20),
        "weight_decay": 0.01,
        "max_grad_norm": 1.0,
        "max_length": None,
        "completion_only_loss": True,
        "bf16": on_gpu,
        "use_cpu": not on_gpu,
        # A batch of whole prompts does not fit into 24 GB with all activations kept.
        "gradient_checkpointing": on_gpu,
        "save_strategy": "no",
        "logging_steps": max(1, steps // 50),
        "report_to": "none",
        "disable_tqdm": True,
        "dataset_num_proc": None,
    }


def _write_summary(request: WarmStartRequest, trainer: Any, demonstrations: int, general: int) -> None:
    summary = {
        "seed": request.seed,
        "parameters": trainer.model.num_parameters(),
        "demonstrations": demonstrations,
        "general": general,
        "log": [entry for entry in trainer.state.log_history if "loss" in entry],
    }
    (request.output / SUMMARY_FILE).write_text(json.dumps(summary, indent=1), encoding="utf-8")


def _demonstrations_for(request: WarmStartRequest, demonstrate: Demonstrate) -> tuple[list[dict[str, Any]], int]:
    """Return what is shown, and how many of it are general instructions.

    Raises:
        InputError: The training split is empty.
    """
    rows = read_prompts(request.dataset / "data" / "train.parquet")
    if not rows:
        raise InputError(f"{request.dataset} has no training prompts; make some with `tucano synthesize`")
    general = _read_general(request.dataset)
    shown = list(_with_general(rows, general, request.warm_start, request.seed, demonstrate))
    return shown, _general_wanted(rows, general, len(shown))


def _read_general(dataset: Path) -> list[dict[str, str]]:
    file = dataset / GENERAL_FILE
    return pl.read_parquet(file, columns=list(COLUMNS)).to_dicts() if file.exists() else []


def _with_general(
    rows: Sequence[PromptRow],
    general: Sequence[dict[str, str]],
    config: WarmStartConfig,
    seed: int,
    demonstrate: Demonstrate,
) -> Iterator[dict[str, Any]]:
    """Yield as many demonstrations as the steps will read, the general instructions spread evenly among them."""
    wanted = config.steps * config.batch_size
    of_general = _general_wanted(rows, general, wanted)
    # A generator of its own: each kind's draws are the same whatever the other kind has.
    instructions = _instructions(general, of_general, random.Random(f"general:{seed}"))
    demonstrations = _demonstrations(rows, wanted - of_general, random.Random(seed), demonstrate)
    for place in range(wanted):
        is_general = (place + 1) * of_general // wanted > place * of_general // wanted
        yield next(instructions if is_general else demonstrations)


def _general_wanted(rows: Sequence[PromptRow], general: Sequence[dict[str, str]], wanted: int) -> int:
    """Return how many of the demonstrations are general: the share that they have in the dataset's training rows."""
    return round(wanted * len(general) / (len(rows) + len(general)))


def _demonstrations(
    rows: Sequence[PromptRow], wanted: int, generator: random.Random, demonstrate: Demonstrate
) -> Iterator[dict[str, Any]]:
    for row in _rounds(rows, wanted, generator):
        yield _shown(row.system, row.prompt, demonstrate(row, generator))


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
