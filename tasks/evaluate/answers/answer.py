"""Answers of one model to a split, the test split above all: the child process of an answers artifact.

Prompts are answered in batches of similar length. A batch's seed derives from the run's seed and the sample, and from
the batch number where not our engine draws, whose answers do not depend on their batch. It draws all samples of a batch
together, and so computes each prompt once. What is finished is saved at once: the child after a killed one draws only
what is missing, with the same answers.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from schemas.errors import InputError
from schemas.progress import Progress
from schemas.tables.prompts import TEST_FILE, PromptRow, read_prompts
from schemas.tasks import TaskName
from tasks.evaluate.answers.files import GENERAL_FOLDER, Answer, Batch, FinishedBatches, as_decoding, write_answers
from tasks.evaluate.general.instructions import as_rows
from tasks.policy.adapters import adapter_for, switch_adapter
from tasks.policy.batch import machine_device
from tasks.policy.child import Channel, as_child


class AnswerRequest(BaseModel):
    """Request to the child process."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base: Path
    policy: Path | None
    """Folder of the policy trained on the base; None if the base itself answers."""
    load_in_4bit: bool
    dataset: Path
    """Folder of the dataset artifact; only its test split is read."""
    temperature: float
    max_tokens: int
    grammars: Mapping[TaskName, str] = Field(default_factory=dict)
    """Grammars that guide the answers, by task; what has none is not guided."""
    grammars_of_prompts: Mapping[str, str] = Field(default_factory=dict)
    """Grammars of the prompts that have one of their own, by `prompt_id`."""
    samples: int = Field(ge=1)
    batch_size: int = Field(ge=1)
    seed: int = Field(ge=0)
    work: Path
    """Folder of the finished batches, specific to this model, test split and decoding."""
    output: Path
    general: bool = False
    """Whether the general instructions are answered too, once each."""


@dataclass(frozen=True)
class _Asked:
    """Prompts that are answered, with their finished batches."""

    rows: Sequence[PromptRow]
    samples: int
    finished: FinishedBatches
    output: Path


@dataclass(frozen=True)
class _Prompts:
    """Prompts answered together in each sample."""

    number: int
    adapter: Path | None
    indices: Sequence[int]


def main(request_file: Path, channel: Channel) -> None:
    """Answer the remaining prompts, and write the artifact's files.

    Raises:
        InputError: The model cannot be read, its memory does not suffice, or its tokenizer cannot be guided.
    """
    request = AnswerRequest.model_validate_json(request_file.read_text(encoding="utf-8"))
    rows = read_prompts(request.dataset / TEST_FILE)
    asked = [_Asked(rows, request.samples, FinishedBatches(request.work), request.output)]
    if request.general:
        general, tasks = GENERAL_FOLDER, list(dict.fromkeys(row.task for row in rows))
        asked.append(_Asked(as_rows(tasks), 1, FinishedBatches(request.work / general), request.output / general))
    _answer(request, asked, channel.progress)
    decoding = as_decoding(request.temperature, request.max_tokens)
    for each in asked:
        each.output.mkdir(exist_ok=True)
        write_answers(each.output, each.rows, each.finished.batches, decoding, ours=True)


def _answer(request: AnswerRequest, asked: Sequence[_Asked], progress: Progress) -> None:
    # Batch by batch, so that each adapter is activated once.
    batches = [(each, prompts) for each in asked for prompts in _split(each.rows, request.policy, request.batch_size)]
    missing = [
        (each, prompts, samples)
        for each, prompts in batches
        if (samples := [n for n in range(each.samples) if (n, prompts.number) not in each.finished])
    ]
    if not missing:
        return
    total = sum(each.samples * len(each.rows) for each in asked)

    def report(what: str) -> None:
        progress(sum(each.finished.answers for each in asked), total, what)

    report("loading torch")

    import torch
    import transformers

    from tasks.policy.generate import as_messages, generate_samples
    from tasks.policy.load import load_policy, load_tokenizer
    from tasks.policy.unpacked import engine_draws

    transformers.utils.logging.disable_progress_bar()
    tokenizer = load_tokenizer(request.base)
    adapter = missing[0][1].adapter
    model: Any = load_policy(request.base, adapter, four_bit=request.load_in_4bit)
    device, ours = machine_device(), engine_draws(model)
    draw = partial(generate_samples, model, tokenizer, temperature=request.temperature, max_tokens=request.max_tokens)
    for each, prompts, samples in missing:
        if prompts.adapter is not None and prompts.adapter != adapter:
            adapter = prompts.adapter
            switch_adapter(model, adapter)
        conversations = [as_messages(each.rows[index].system, each.rows[index].prompt) for index in prompts.indices]
        # A general instruction asks for no task's form.
        by_task, by_prompt = (request.grammars, request.grammars_of_prompts) if each is asked[0] else ({}, {})
        of_rows = (each.rows[index] for index in prompts.indices)
        grammars = [by_prompt.get(row.prompt_id) or by_task.get(row.task, "") for row in of_rows]
        # What would be drawn one after the other is saved one after the other.
        for together in [samples] if ours else [[sample] for sample in samples]:
            seeds = [batch_seed(request.seed, sample, 0 if ours else prompts.number) for sample in together]
            started = time.monotonic()
            try:
                drawn = draw(conversations, batch_size=len(conversations), seeds=seeds, grammars=grammars)
            except torch.OutOfMemoryError:
                raise InputError(
                    f"the GPU's memory does not suffice for {len(conversations)} prompts at once; set "
                    f"evaluate.batch_size below {request.batch_size}"
                ) from None
            seconds = (time.monotonic() - started) / len(together)
            for sample, completions in zip(together, drawn, strict=True):
                answers = tuple(
                    Answer(index=index, text=given.text, tokens=given.tokens, stop_reason=given.stop_reason)
                    for index, given in zip(prompts.indices, completions, strict=True)
                )
                number = prompts.number
                each.finished.add(Batch(sample=sample, number=number, seconds=seconds, answers=answers, device=device))
            report("answers")


def _split(rows: Sequence[PromptRow], policy: Path | None, batch_size: int) -> list[_Prompts]:
    """Return the batches of a sample: each of one adapter and of similar length, to minimize padding."""
    by_adapter: dict[Path | None, list[int]] = {}
    for index, row in enumerate(rows):
        by_adapter.setdefault(adapter_for(policy, row.task) if policy else None, []).append(index)
    batches: list[_Prompts] = []
    for adapter, indices in by_adapter.items():
        by_length = sorted(indices, key=lambda index: (len(rows[index].system) + len(rows[index].prompt), index))
        for start in range(0, len(by_length), batch_size):
            batches.append(_Prompts(len(batches), adapter, by_length[start : start + batch_size]))
    return batches


def batch_seed(seed: int, sample: int, number: int) -> int:
    """Return the seed of one batch, below 2**63, independent of all other batches."""
    return int(np.random.SeedSequence((seed, sample, number)).generate_state(1, np.uint64)[0] >> np.uint64(1))


if __name__ == "__main__":
    with as_child() as (request_file, channel):
        main(request_file, channel)
