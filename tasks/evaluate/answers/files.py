"""Files of one model's answers to the test split: the finished batches, and the artifact.

Interruptions do not change the answers; their duration is a measurement, stored separately.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from schemas.documents import Rollout
from schemas.tables.prompts import PromptRow
from tasks.policy.generate import StopReason

ROLLOUTS_FILE: Final = "rollouts.jsonl"
"""Artifact file: one rollout per answer, in the test split's order, sample by sample."""
TIMING_FILE: Final = "timing.json"  # Artifact file: duration of the answers.
GENERAL_FOLDER: Final = "general"
"""Artifact folder: the same files of the answers to the general instructions, where they were asked."""
FINISHED_FILE: Final = "finished.jsonl"  # Work folder file: the batches so far.


class Answer(BaseModel):
    """Answer of a model to one prompt."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    index: int = Field(ge=0)
    """Index of its prompt in the test split, from 0."""
    text: str
    tokens: int | None = Field(ge=0)
    stop_reason: StopReason
    prompt_tokens: int | None = Field(default=None, ge=0)


class Batch(BaseModel):
    """Prompts answered together, once."""

    model_config = ConfigDict(frozen=True)

    sample: int = Field(ge=0)
    number: int = Field(ge=0)
    seconds: float = Field(ge=0)
    """Time from its start until all of it was answered; its share where several samples were drawn together."""
    answers: tuple[Answer, ...] = Field(min_length=1)
    device: str | None = None
    """Device of our own machine that answered; None for an endpoint, and in older files."""


class AnswerTiming(BaseModel):
    """Duration of one answer, and an endpoint's token counts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt_id: str
    sample: int
    seconds: float
    """Latency of the answer; in a batch, of the whole batch."""
    tokens: int | None
    prompt_tokens: int | None


class Timing(BaseModel):
    """Duration of one model's answers: a measurement that differs each time."""

    model_config = ConfigDict(frozen=True)

    machine_seconds: float | None
    """Seconds that our own machine was busy answering; None for an endpoint, which is paid by the token."""
    devices: dict[str, float] = Field(default_factory=dict)
    """These seconds by device, such as `NVIDIA L4` or `cpu`: several if the work was interrupted and another machine
    finished it. Empty for an endpoint, and in older files."""
    answers: tuple[AnswerTiming, ...]


class FinishedBatches:
    """Finished batches, saved on arrival, from which an interrupted run resumes."""

    def __init__(self, folder: Path) -> None:
        """Read the batches that an earlier process finished; a partial last line is cut off.

        OSError where the file cannot be read or written.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / FINISHED_FILE
        self._batches: dict[tuple[int, int], Batch] = {}
        trusted = 0
        if self._file.exists():
            for line in self._file.read_bytes().splitlines(keepends=True):
                batch = _read_batch(line)
                if batch is None:
                    break
                self._batches[batch.sample, batch.number] = batch
                trusted += len(line)
            os.truncate(self._file, trusted)

    def __contains__(self, place: tuple[int, int]) -> bool:
        """Return whether a batch, by sample and number, is finished."""
        return place in self._batches

    @property
    def batches(self) -> Sequence[Batch]:
        """Return all of them, by sample and number."""
        return [self._batches[place] for place in sorted(self._batches)]

    @property
    def answers(self) -> int:
        """Return the number of answers in all of them."""
        return sum(len(batch.answers) for batch in self._batches.values())

    def add(self, batch: Batch) -> None:
        """Save a batch; OSError: the disk is full."""
        with self._file.open("ab") as file:
            file.write(batch.model_dump_json().encode() + b"\n")
        self._batches[batch.sample, batch.number] = batch


def _read_batch(line: bytes) -> Batch | None:
    if not line.endswith(b"\n"):
        return None
    try:
        return Batch.model_validate_json(line)
    except ValidationError:
        return None


def as_decoding(temperature: float, max_tokens: int) -> str:
    """Describe how an answer is drawn; only answers with equal decoding can be compared."""
    return f"temperature {temperature:g}, at most {max_tokens} tokens"


def write_answers(
    folder: Path, rows: Sequence[PromptRow], batches: Iterable[Batch], decoding: str, *, ours: bool
) -> None:
    """Write the artifact's files."""
    answered: Mapping[tuple[int, int], tuple[Batch, Answer]] = {
        (batch.sample, answer.index): (batch, answer) for batch in batches for answer in batch.answers
    }
    timings = []
    with (folder / ROLLOUTS_FILE).open("w", encoding="utf-8") as file:
        for sample, index in sorted(answered):
            batch, answer = answered[sample, index]
            row = rows[index]
            rollout = row.answered(
                answer.text,
                sample=sample,
                tokens=answer.tokens,
                stop_reason=answer.stop_reason.value,
                decoding=decoding,
            )
            file.write(json.dumps(rollout.model_dump(), ensure_ascii=False) + "\n")
            timings.append(
                AnswerTiming(
                    prompt_id=row.prompt_id,
                    sample=sample,
                    seconds=batch.seconds,
                    tokens=answer.tokens,
                    prompt_tokens=answer.prompt_tokens,
                )
            )
    used = {id(batch): batch for batch, _ in answered.values()}.values()
    devices: dict[str, float] = {}
    for batch in used:
        if batch.device is not None:
            devices[batch.device] = devices.get(batch.device, 0.0) + batch.seconds
    seconds = sum(batch.seconds for batch in used) if ours else None
    timing = Timing(machine_seconds=seconds, devices=devices, answers=tuple(timings))
    (folder / TIMING_FILE).write_text(timing.model_dump_json(indent=1), encoding="utf-8")


def read_answers(folder: Path) -> tuple[Rollout, ...]:
    """Read the rollouts of an artifact, each with its `sample`, `tokens`, `stop_reason` and `decoding`.

    InputError where the file cannot be read, or is no file of rollouts.
    """
    from schemas.tables.rollout_tables import read_rollouts

    return read_rollouts(folder / ROLLOUTS_FILE)


def read_timing(folder: Path) -> Timing:
    """Read the duration of an artifact's answers."""
    return Timing.model_validate_json((folder / TIMING_FILE).read_text(encoding="utf-8"))
