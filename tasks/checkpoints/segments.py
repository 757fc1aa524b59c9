"""Segments of a training: machine, first and last step, and reason of the end.

A segment is two objects that are created once: its beginning, by the holder of the lease of that fencing number, and
its end. A machine that vanishes writes no end; the beginning of the next segment implies it.
"""

import logging
import re
from collections.abc import Iterable
from itertools import zip_longest
from typing import Final, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError

from schemas.artifact import TrainingSegment
from schemas.errors import InputError
from tasks.checkpoints.machine import machine_name
from tasks.checkpoints.object_store import ObjectMissing, ObjectStore, StoredObject, create

Ended = Literal["finished", "preempted", "interrupted", "stopped", "failed", "vanished"]
# The name in a mirror stays: its trainings have this folder.
FOLDER: Final = "stretches/"
_NAME: Final = re.compile(r"(?P<fencing>\d{8})-(?P<part>begin|end)\.json")
logger = logging.getLogger(__name__)
Part = TypeVar("Part", bound=BaseModel)


class Segment(TrainingSegment):
    """Steps trained by one process."""

    fencing: int
    """The fencing number of its lease."""


class _Begin(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    machine: str = Field(min_length=1)
    from_step: NonNegativeInt


class _End(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    step: NonNegativeInt
    reason: Ended


def begin(store: ObjectStore, root: str, fencing: int, from_step: int) -> None:
    """Record that this machine resumes from a finished step, or starts at 0. Repeating it changes nothing."""
    key = f"{root}{FOLDER}{fencing:08d}-begin.json"
    content = _Begin(machine=machine_name(), from_step=from_step).model_dump_json().encode()
    if not create(store, key, content):
        raise InputError(
            f"{key} is there already and says something else than that {machine_name()} resumes from step {from_step}; "
            "run the same command again to resume under a new fencing number"
        )


def end(store: ObjectStore, root: str, fencing: int, step: int, reason: Ended) -> None:
    """Record the last finished step of a segment and the reason of its end. An existing record stands."""
    store.put_new(f"{root}{FOLDER}{fencing:08d}-end.json", _End(step=step, reason=reason).model_dump_json().encode())


def begun(store: ObjectStore, root: str) -> dict[int, int]:
    """Return the step from which each segment resumed, by fencing number."""
    return {fencing: begin.from_step for fencing, (_, begin) in _begins(store, _listing(store, root, "begin")).items()}


def read_segments(store: ObjectStore, root: str) -> list[Segment]:
    """Return the segments in order. One whose beginning is lost or damaged is left out."""
    begins = _begins(store, _listing(store, root, "begin"))
    ends = _listing(store, root, "end")
    order = sorted(begins)
    segments = []
    for fencing, successor in zip_longest(order, order[1:]):
        stored, begin = begins[fencing]
        ending = _read(store, ends[fencing], _End, "its segment is shown without it") if fencing in ends else None
        if ending is None and successor is not None:
            ending = _End(step=begins[successor][1].from_step, reason="vanished")
        segments.append(
            Segment(
                fencing=fencing,
                machine=begin.machine,
                from_step=begin.from_step,
                began_at=stored.created_at,
                to_step=ending.step if ending else None,
                ended=ending.reason if ending else None,
            )
        )
    return segments


def describe(segments: Iterable[Segment]) -> str:
    """Describe the segments for a reader: "0-140 on A, preempted; 141-300 on B"; a running one is "141- on B"."""
    described = []
    for segment in segments:
        first = segment.from_step + 1 if segment.from_step else 0
        steps = f"{first}-{'' if segment.to_step is None else segment.to_step}"
        if segment.to_step is not None and segment.to_step <= segment.from_step:
            steps = "no step"
        why = "" if segment.ended in {None, "finished"} else f", {segment.ended}"
        described.append(f"{steps} on {segment.machine}{why}")
    return "; ".join(described)


def _listing(store: ObjectStore, root: str, part: Literal["begin", "end"]) -> dict[int, StoredObject]:
    prefix = f"{root}{FOLDER}"
    named = ((_NAME.fullmatch(stored.key.removeprefix(prefix)), stored) for stored in store.list(prefix))
    return {int(name["fencing"]): stored for name, stored in named if name and name["part"] == part}


def _begins(store: ObjectStore, listing: dict[int, StoredObject]) -> dict[int, tuple[StoredObject, _Begin]]:
    lost = "its segment is not shown, and checkpoints that it discarded are taken for the training's again"
    read = ((fencing, stored, _read(store, stored, _Begin, lost)) for fencing, stored in listing.items())
    return {fencing: (stored, begin) for fencing, stored, begin in read if begin is not None}


def _read(store: ObjectStore, stored: StoredObject, kind: type[Part], without: str) -> Part | None:
    """Read one of the two objects; on failure, warn of the consequence."""
    try:
        return kind.model_validate_json(store.read(stored.key))
    except (ObjectMissing, ValidationError):
        logger.warning("%s is lost or damaged; %s", stored.key, without)
        return None
