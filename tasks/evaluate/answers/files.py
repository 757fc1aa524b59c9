"""The files of one model's answers to the test split: those that are finished so far, and those of the artifact.

The answers are the same however often their making was interrupted; how long they took is a measurement, and stands
apart from them.
"""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from schemas.documents import Rollout
from schemas.prompts import PromptRow
from tasks.policy.generate import StopReason

ROLLOUTS_FILE: Final = "rollouts.jsonl"
"""Of the artifact: a rollout an answer, the whole test split in its order, sample by sample."""
TIMING_FILE: Final = "timing.json"
"""Of the artifact: how long the answers took."""
FINISHED_FILE: Final = "finished.jsonl"
"""Of the work folder: the batches so far."""


class Answer(BaseModel):
    """What a model answered to one prompt."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    index: int = Field(ge=0)
    """Which prompt of the test split it answers, from 0."""
    text: str
    """The answer: hostile text."""
    tokens: int | None = Field(ge=0)
    """Generated tokens; None where an endpoint told none."""
    stop_reason: StopReason
    """Why it ended."""
    prompt_tokens: int | None = Field(default=None, ge=0)
    """Tokens that an endpoint read, as it counted them."""


class Batch(BaseModel):
    """Prompts that were answered together, once."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sample: int = Field(ge=0)
    """Which of several answers to its prompts these are, from 0."""
    number: int = Field(ge=0)
    """Which batch of the sample this is."""
    seconds: float = Field(ge=0)
    """From its start until all of it was answered."""
    answers: tuple[Answer, ...] = Field(min_length=1)
    """One a prompt."""


class AnswerTiming(BaseModel):
    """How long one answer took, and what an endpoint counts of it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt_id: str
    sample: int
    seconds: float
    """Until it was there; with batches, until its batch was."""
    tokens: int | None
    """Generated tokens; None where an endpoint told none."""
    prompt_tokens: int | None
    """Tokens that an endpoint read; None where it told none, and where no endpoint was asked."""


class Timing(BaseModel):
    """How long one model's answers took: a measurement, which comes out otherwise each time."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    machine_seconds: float | None
    """Seconds in which a machine of ours did nothing but answer; None for an endpoint, which is paid by the token."""
    answers: tuple[AnswerTiming, ...]
    """In the order of the rollouts."""


class FinishedBatches:
    """The batches that are finished, kept on disk as they come, so that an interrupted answering goes on from them."""

    def __init__(self, folder: Path) -> None:
        """Read what an earlier process finished; what it was writing as it died is cut away.

        Args:
            folder: The work folder, of this model, test split and decoding alone; made where there is none.

        Raises:
            OSError: The file cannot be read or written.
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
        """Tell whether a batch, by its sample and number, is finished."""
        return place in self._batches

    @property
    def batches(self) -> Sequence[Batch]:
        """All of them, by sample and number."""
        return [self._batches[place] for place in sorted(self._batches)]

    @property
    def answers(self) -> int:
        """Answers in all of them."""
        return sum(len(batch.answers) for batch in self._batches.values())

    def add(self, batch: Batch) -> None:
        """Keep a batch.

        Raises:
            OSError: The disk is full.
        """
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
    """Say how an answer is drawn; only answers that are drawn alike can be compared."""
    return f"temperature {temperature:g}, at most {max_tokens} tokens"


def write_answers(
    folder: Path, rows: Sequence[PromptRow], batches: Iterable[Batch], decoding: str, *, ours: bool
) -> None:
    """Write the artifact's files.

    Args:
        folder: Where to.
        rows: The test split, in its order.
        batches: Answers to all of it, the same number to each prompt.
        decoding: How they were drawn (`as_decoding`).
        ours: Whether a machine of ours answered, batch after batch, and not an endpoint.
    """
    answered: Mapping[tuple[int, int], tuple[Batch, Answer]] = {
        (batch.sample, answer.index): (batch, answer) for batch in batches for answer in batch.answers
    }
    timings = []
    with (folder / ROLLOUTS_FILE).open("w", encoding="utf-8") as file:
        for sample, index in sorted(answered):
            batch, answer = answered[sample, index]
            row = rows[index]
            file.write(json.dumps(_rollout(row, sample, answer, decoding).model_dump(), ensure_ascii=False) + "\n")
            timings.append(
                AnswerTiming(
                    prompt_id=row.prompt_id,
                    sample=sample,
                    seconds=batch.seconds,
                    tokens=answer.tokens,
                    prompt_tokens=answer.prompt_tokens,
                )
            )
    machine_seconds = sum(batch.seconds for batch in {id(batch): batch for batch, _ in answered.values()}.values())
    timing = Timing(machine_seconds=machine_seconds if ours else None, answers=tuple(timings))
    (folder / TIMING_FILE).write_text(timing.model_dump_json(indent=1), encoding="utf-8")


def _rollout(row: PromptRow, sample: int, answer: Answer, decoding: str) -> Rollout:
    return Rollout(
        prompt_id=row.prompt_id,
        task=row.task,
        prompt=row.prompt,
        completion=answer.text,
        reference=dict(row.reference),
        sample=sample,
        tokens=answer.tokens,
        stop_reason=answer.stop_reason.value,
        decoding=decoding,
    )


def read_answers(folder: Path) -> tuple[Rollout, ...]:
    """Read the rollouts of an artifact; each also has its `sample`, `tokens`, `stop_reason` and `decoding`.

    Raises:
        InputError: The file cannot be read, or is no file of rollouts.
    """
    from schemas.rollout_tables import read_rollouts

    return read_rollouts(folder / ROLLOUTS_FILE)


def read_timing(folder: Path) -> Timing:
    """Read how long the answers of an artifact took."""
    return Timing.model_validate_json((folder / TIMING_FILE).read_text(encoding="utf-8"))
