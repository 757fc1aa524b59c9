"""The base model: the child process of the base stage.

A published model is downloaded, or the shipped stand-in is read, and kept as an artifact, so that later stages need no
hub. If the profile asks for it, it first gets a warm start on the reference answers, by an adapter beside frozen
weights, quantized or not, which is then merged into the published ones, or kept beside them. General instructions of
the dataset are mixed in, if it has any.
"""

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl
from pydantic import BaseModel, ConfigDict

from schemas.config.train import TrainConfig
from schemas.config.train_sections import PolicyConfig, WarmStartConfig
from schemas.errors import InputError
from schemas.references import knows_anything
from schemas.tables.prompts import GENERAL_FILE, INSTRUCTION_COLUMNS, TRAIN_FILE, PromptRow, read_prompts
from tasks.commerce.registry import TASKS
from tasks.policy.child import Channel, as_child
from tasks.policy.load import ADAPTER_FOLDER, keep_weights_trainable, loading_arguments
from tasks.policy.published import PUBLISHED_FILE, read_weights
from tasks.train.backend.trainable import lora_config, refuse_unfit_machine
from tasks.train.preflight.inputs import read_fit_tokenizer
from tasks.train.resume.adapter_files import adapter_config, adapter_weights, write_adapter

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

SUMMARY_FILE = "warm_start.json"

Shown = TypeVar("Shown")


class WarmStartRequest(BaseModel):
    """Request of the base stage to its child process."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    policy: PolicyConfig
    """The model."""
    base: Path | None = None
    """Folder of a base that learns the reference answers further, instead of the policy by its name."""
    chat_template: str | None = None
    """Chat template to give the model, as text; its own if not set."""
    warm_start: WarmStartConfig
    """The supervised fine-tuning."""
    recipe: TrainConfig | None = None
    """The subsequent training, usually on this machine, which is checked against it first; None if unknown."""
    gradient_checkpointing: bool = False
    """Whether the model recomputes its activations in the backward pass instead of keeping them."""
    seed: int
    """Decides the initial weights of the adapter, the demonstrations and their order."""
    dataset: Path
    """Folder of the dataset artifact; only its training split and its general instructions are read."""
    output: Path
    """Empty folder for the model."""


def main(request_file: Path, channel: Channel) -> None:
    """Write the base model and its tokenizer to the request's output folder."""
    request = WarmStartRequest.model_validate_json(request_file.read_text(encoding="utf-8"))
    if request.base is not None:
        request = request.model_copy(update={"policy": PolicyConfig(name=str(request.base))})
    work = request_file.parent / "warm_start"
    channel.progress(0, request.warm_start.steps, "loading torch and TRL")
    if request.recipe is not None:
        refuse_unfit_machine(request.recipe)
    # It is small, and may show that the weights need not be downloaded.
    tokenizer = read_fit_tokenizer(request.policy, request.chat_template)
    if request.warm_start.steps:
        _fine_tune(request, tokenizer, work, channel)
    else:
        _write_published(read_weights(request.policy, dtype="auto"), tokenizer, request)


def _write_published(model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", request: WarmStartRequest) -> None:
    ends = model.generation_config.eos_token_id
    if tokenizer.eos_token_id not in (ends if isinstance(ends, list) else [ends]):
        # A server would let the model continue after the end of its turn.
        model.generation_config.eos_token_id = model.config.eos_token_id = tokenizer.eos_token_id
    model.save_pretrained(request.output)
    tokenizer.save_pretrained(request.output)
    published = {
        "name": "stand-in" if request.policy.stand_in else request.policy.name,
        "revision": request.policy.revision,
        # A local folder has none.
        "commit": getattr(model.config, "_commit_hash", None),
    }
    (request.output / PUBLISHED_FILE).write_text(json.dumps(published, indent=1), encoding="utf-8")


def _fine_tune(request: WarmStartRequest, tokenizer: "PreTrainedTokenizerBase", work: Path, channel: Channel) -> None:
    import transformers

    from tasks.train.watch.out_of_memory import memory_errors_translated
    from tasks.train.watch.reporter import StepReporter

    transformers.utils.logging.disable_progress_bar()
    demonstrations, general = demonstrations_for(request)
    with memory_errors_translated():
        watched = StepReporter(channel, request.warm_start.steps)
        trainer = sft_trainer(request, tokenizer, demonstrations, work, [watched], spread=general > 0)
        trainer.train()
    adapter, log = work / ADAPTER_FOLDER, trainer.state.log_history
    write_adapter(adapter, adapter_weights(trainer.model), adapter_config(trainer.model))
    # The published weights are read again, into the memory of the trained ones, which may be rounded to NF4.
    del trainer
    model = read_weights(request.policy, dtype="auto", device_map={"": "cpu"})
    from peft import PeftModel

    # In float32 layer by layer: all of 3.7B parameters would take 15 GB, which an L4's host does not have.
    model = PeftModel.from_pretrained(model, adapter).merge_and_unload()
    _write_published(model, tokenizer, request)
    summary = {
        "seed": request.seed,
        "parameters": model.num_parameters(),
        "demonstrations": len(demonstrations),
        "general": general,
        "log": [entry for entry in log if "loss" in entry],
    }
    (request.output / SUMMARY_FILE).write_text(json.dumps(summary, indent=1), encoding="utf-8")


def sft_trainer(
    request: WarmStartRequest,
    tokenizer: "PreTrainedTokenizerBase",
    demonstrations: Sequence[dict[str, Any]],
    work: Path,
    callbacks: Sequence[Any],
    *,
    spread: bool = False,
) -> Any:
    """Return the trainer of an adapter on demonstrations beside frozen weights; `spread` keeps their order."""
    import torch
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    from tasks.train.backend.cpu import keep_adapter_in_float32
    from tasks.train.backend.fused_head import add_fused_head

    four_bit = request.warm_start.load_in_4bit
    model = read_weights(request.policy, **loading_arguments(four_bit=four_bit))
    if four_bit:
        keep_weights_trainable(model)
    on_gpu = torch.cuda.is_available()
    trainer = SFTTrainer(
        model=model,
        args=SFTConfig(**_arguments(request, work, spread=spread, on_gpu=on_gpu)),
        train_dataset=Dataset.from_list(list(demonstrations)),
        processing_class=tokenizer,
        peft_config=lora_config(request.warm_start.lora),
        callbacks=list(callbacks),
    )
    keep_adapter_in_float32(trainer.model)
    if not on_gpu:
        add_fused_head(trainer.model.get_base_model(), tokenizer.eos_token_id)
    return trainer


def _arguments(request: WarmStartRequest, work: Path, *, spread: bool, on_gpu: bool) -> dict[str, Any]:
    steps = request.warm_start.steps
    return {
        "output_dir": str(work),
        "seed": request.seed,
        "max_steps": steps,
        # Already in random order; another shuffle would not spread the general ones evenly.
        "train_sampling_strategy": "sequential" if spread else "random",
        "per_device_train_batch_size": request.warm_start.batch_size // request.warm_start.accumulation,
        "gradient_accumulation_steps": request.warm_start.accumulation,
        "learning_rate": request.warm_start.learning_rate,
        "lr_scheduler_type": "cosine",
        "warmup_steps": max(1, steps // 20),
        "weight_decay": 0.01,
        "max_grad_norm": 1.0,
        "max_length": None,
        "completion_only_loss": True,
        "bf16": on_gpu,
        "use_cpu": not on_gpu,
        "gradient_checkpointing": request.gradient_checkpointing,
        "gradient_checkpointing_kwargs": {"use_reentrant": False},
        "save_strategy": "no",
        "logging_steps": max(1, steps // 50),
        "report_to": "none",
        "disable_tqdm": True,
        "dataset_num_proc": None,
    }


def demonstrations_for(request: WarmStartRequest) -> tuple[list[dict[str, Any]], int]:
    """Return the demonstrations, and the number of general instructions among them.

    A row without any reference is none: an answer made of it would teach one guess for all prompts.
    """
    rows = [row if knows_anything(row.reference) else None for row in read_prompts(request.dataset / TRAIN_FILE)]
    if not any(rows):
        raise InputError(
            "no training prompt has a reference for the warm start to show; map the right answers of your files "
            "([prompts.reference] of the column map), or set warm_start.steps=0"
        )
    file = request.dataset / GENERAL_FILE
    general = pl.read_parquet(file, columns=list(INSTRUCTION_COLUMNS)).to_dicts() if file.exists() else []
    shown = list(_with_general(rows, general, request.warm_start, request.seed))
    return shown, _general_wanted(rows, general, len(shown))


def demonstration(system: str, prompt: str, completion: str) -> dict[str, Any]:
    """Return a prompt with the completion that the model shall learn, as TRL reads both."""
    from tasks.policy.generate import as_answer, as_messages

    return {"prompt": as_messages(system, prompt), "completion": [as_answer(completion)]}


def _with_general(
    rows: Sequence[PromptRow | None], general: Sequence[dict[str, str]], config: WarmStartConfig, seed: int
) -> Iterator[dict[str, Any]]:
    """Yield as many demonstrations as the steps read, the general instructions spread evenly among them."""
    wanted = config.steps * config.batch_size
    of_general = _general_wanted(rows, general, wanted)
    # A separate generator: each kind's draws do not depend on the other kind.
    instructions = _rounds(general, of_general, random.Random(f"general:{seed}"))
    demonstrations = _rounds(rows, wanted - of_general, random.Random(seed))
    for place in range(wanted):
        if (place + 1) * of_general // wanted > place * of_general // wanted:
            yield demonstration(**next(instructions))
        else:
            row = next(demonstrations)
            yield demonstration(row.system, row.prompt, TASKS[row.task].answer(row.reference))


def _general_wanted(rows: Sequence[PromptRow | None], general: Sequence[dict[str, str]], wanted: int) -> int:
    """Return the number of general demonstrations: their share of the dataset's training rows."""
    return round(wanted * len(general) / (len(rows) + len(general)))


def _rounds(rows: Sequence[Shown | None], wanted: int, generator: random.Random) -> Iterator[Shown]:
    """Yield the wanted number of rows in random order, every one before any repeats.

    None has its turn and is passed over, so that the draws of the others do not depend on which have no reference.
    """
    while wanted > 0:
        for row in generator.sample(rows, k=min(wanted, len(rows))):
            if row is not None:
                yield row
                wanted -= 1


if __name__ == "__main__":
    with as_child() as (request_file, channel):
        main(request_file, channel)
