"""A small training by the real child, in one process or several, with all that its end is compared by."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from safetensors.torch import load_file

from schemas.config.train import TrainConfig
from schemas.progress import Progress, silent
from schemas.store.files import write_store
from tasks.checkpoints.local import LocalCheckpoints
from tasks.policy.child import ChildProcess, run_child
from tasks.synthesize.simulated import simulate_store
from tasks.train.request import TrainRequest
from tasks.train.resume.adapter_files import WEIGHTS_FILE
from tasks.train.resume.lease import CHECKPOINTS_FOLDER
from tasks.train.resume.state_files import read_state
from tasks.train.summaries import SUMMARY_FILE
from tests.prompt_tables import write_prompts
from tests.tasks.train.kept_training import without_times
from tests.tasks.train.preflight.test_audit import RECORD, audited
from tests.tasks.train.small_request import BASE, TRAINING, request_of
from tests.tasks.train.small_training import RECIPE, prompt_rows, tiny_policy

PREFLIGHT = {
    # The policy had no time to learn.
    "prompts": 1,
    "min_distinct": 1,
    "max_ceiling_share": 1.0,
    "min_spread": 0.0,
    "max_zero_variance": 1.0,
    "min_prompts_per_task": 6,
}
DIVIDED = {
    **RECIPE,
    "prompts_per_step": 4,
    "accumulation": 2,
    "iterations": 2,
    "guided": "forms",
    "loss": "dapo",
    "entropy_advantages": True,
    "guided_correction": {"share": 0.5, "threshold": 0.9},
    # The groups of an attempt are seldom a multiple of the processes.
    "dynamic_sampling": {"extra_groups": 3},
    "task_weights": {"applies_to": "loss", "every": 1},
    "max_completion_tokens": 96,
    "save_every": 1,
    "preflight": PREFLIGHT,
    # A process that was killed leaves its lease behind.
    "preemption": {"lease_seconds": 3},
}


@dataclass(frozen=True)
class Trained:
    """What a training left."""

    adapter: dict[str, Any]
    """The weights after the last step."""
    optimizer: Any
    log: list[dict[str, Any]]
    rollouts: pl.DataFrame
    validation: Any


def make_request(folder: Path, **recipe: Any) -> TrainRequest:
    """Make what a training reads, and return what the train stage would ask for: of `DIVIDED`, or another recipe."""
    model, tokenizer = tiny_policy()
    model.save_pretrained(folder / "base")
    tokenizer.save_pretrained(folder / "base")
    rows = prompt_rows()
    for split, of_split in (("train", rows), ("validation", rows[:2])):
        write_prompts(of_split, folder / "dataset" / "data" / f"{split}.parquet")
    write_store(simulate_store(40, random.Random(1)), folder / "store")
    (folder / "audit").mkdir()
    tasks = {"push": RECORD.tasks["push"], "sentiment": RECORD.tasks["push"]}
    return request_of(
        TrainConfig.model_validate(recipe or DIVIDED),
        folder,
        folder / "mirror",
        audit=audited(folder / "audit", tasks=tasks),
    )


def divided(request: TrainRequest, folder: Path, processes: int) -> TrainRequest:
    """Return the request for a number of processes, with a mirror and an output of its own."""
    config = request.config.model_copy(update={"processes": processes})
    return request.model_copy(update={"config": config, "mirror": str(folder / "mirror"), "output": folder / "output"})


def train(
    module: str,
    request: TrainRequest,
    folder: Path,
    *,
    progress: Progress = silent,
    started: Callable[[ChildProcess], object] | None = None,
) -> Trained:
    """Train to the end, and return what is left of it."""
    processes = request.config.processes
    run_child(module, request, folder, interpreter=None, processes=processes, progress=progress, started=started)
    newest = LocalCheckpoints(folder / CHECKPOINTS_FOLDER, TRAINING, BASE).newest()
    assert newest is not None
    summary = json.loads((request.output / SUMMARY_FILE).read_text(encoding="utf-8"))
    return Trained(
        adapter=load_file(newest.folder / WEIGHTS_FILE),
        optimizer=read_state(newest.folder, "optimizer"),
        log=without_times(summary["log"]),
        rollouts=pl.concat([pl.read_parquet(file) for file in sorted(request.output.glob("rollouts/*.parquet"))]),
        validation=summary["validation"],
    )
