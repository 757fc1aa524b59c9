"""Trainings of one arm and seed, each kept when it has ended: a benchmark that was stopped resumes where it was."""

import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict

from benchmarks.training.kept import digest
from schemas.errors import InputError
from schemas.progress import silent
from schemas.source import source_digest
from tasks.policy.child import run_child
from tasks.train.request import TrainRequest
from tasks.train.summaries import read_summary

STOCK: Final = "stock"
OURS: Final = "ours"
ARMS: Final[Mapping[str, Sequence[str]]] = {
    STOCK: ("train.stock_generation=true", "train.stock_update=true"),
    OURS: (),
}
"""Overrides of each arm's profile: `stock` samples and updates as version 0.3 did."""
DRAWN_BY: Final = {STOCK: "transformers", OURS: "ours"}
CHILD: Final = "tasks.train.children.grpo"
PLACES: Final = frozenset({"base", "dataset", "store", "audit", "mirror", "training", "output", "fresh", "prices"})
"""Fields of a request that say where something is, or decide nothing of the training."""


class Point(BaseModel):
    """Validation after one step."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    step: int
    seconds: float
    """Since the training's process began."""
    reward: float
    """Mean over the tasks, in [0, 1]."""


class Outcome(BaseModel):
    """One training to its end."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    before: float
    """Validation reward before the first step."""
    curve: tuple[Point, ...]
    """Of the steps that were validated, in their order."""


def outcome_of(arm: str, request: TrainRequest, state: Path) -> Outcome:
    """Return the outcome of a training, which runs if this code has not run it before.

    Args:
        arm: One of `ARMS`, whose recipe the request has.
        request: The training; its output and mirror are replaced.
        state: Folder of the kept outcomes.

    Raises:
        TucanoError: The training fails.
    """
    inputs = (request.base_sha256, request.dataset.parent.name, request.store.parents[1].name)
    name = digest(request.model_dump_json(exclude={*PLACES}), *inputs, source_digest(CHILD))
    kept = state / f"{arm}-seed{request.seed}-{name}.json"
    if not kept.exists():
        work = state / "work" / kept.stem
        # What a stopped process left would shorten the time of this one.
        shutil.rmtree(work, ignore_errors=True)
        asked = request.model_copy(
            update={"output": work / "output", "mirror": str(work.resolve() / "mirror"), "training": kept.stem}
        )
        outcome = _train(arm, asked, work)
        draft = kept.with_suffix(".draft")
        draft.write_text(outcome.model_dump_json(indent=1), encoding="utf-8")
        draft.replace(kept)
        shutil.rmtree(work, ignore_errors=True)
    return Outcome.model_validate_json(kept.read_text(encoding="utf-8"))


def _train(arm: str, request: TrainRequest, work: Path) -> Outcome:
    seconds: dict[int, float] = {}
    started = time.monotonic()

    def finished(step: int, _: Mapping[str, float]) -> None:
        # A step is validated before it is reported.
        seconds[step] = time.monotonic() - started

    # One thread each, as a training has beside another child of a retraining: two threads each would wait for one
    # another on two processors, and cost five times the time.
    run_child(CHILD, request, work, interpreter=None, threads=1, progress=silent, metrics=finished)
    summary = read_summary(request.output)
    if summary["rollouts_drawn_by"] != DRAWN_BY[arm]:
        raise InputError(
            f"{summary['rollouts_drawn_by']} drew the rollouts of {arm}, where {DRAWN_BY[arm]} is to draw; "
            "measure on a CPU, with a model that the engine knows"
        )
    before, *after = summary["validation"]
    curve = [Point(step=each["step"], seconds=seconds[each["step"]], reward=each["mean_reward"]) for each in after]
    return Outcome(before=before["mean_reward"], curve=tuple(curve))
