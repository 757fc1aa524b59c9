"""Log of every rollout, also unused ones: the link from a model back to its training rows."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import polars as pl

from schemas.tables.table_check import as_table
from schemas.tasks import TaskName
from tasks.policy.generate import StopReason

if TYPE_CHECKING:
    import torch

    from tasks.train.grpo.rollouts import SampledRollout

ROLLOUTS_FOLDER: Final = "rollouts"
STEPS_PER_FILE: Final = 20


class LoggedRollout(NamedTuple):
    """Row of `rollouts/*.parquet`: a completion of a step, those of a group adjacent."""

    prompt_id: str
    task: TaskName
    step: int
    """The optimizer step that it was sampled for; where a step repeats, the first of them."""
    seed: int
    completion: str
    components: dict[str, float]
    """Each part of the reward, in [0, 1]."""
    reward: float
    advantage: float | None
    """Weight of its tokens in the loss, the mean where they differ; None where it was not trained on."""
    tokens: int
    stop_reason: str
    corrected: bool
    """Whether it is the reference's answer, put in place of the policy's own."""


COLUMNS: Final[Mapping[str, pl.DataType]] = {
    **dict.fromkeys(("prompt_id", "task"), pl.String()),
    **dict.fromkeys(("step", "seed"), pl.Int64()),
    **dict.fromkeys(("completion", "components"), pl.String()),
    **dict.fromkeys(("reward", "advantage"), pl.Float64()),
    "tokens": pl.Int64(),
    "stop_reason": pl.String(),
    "corrected": pl.Boolean(),
}


class RolloutLog:
    """Log that writes a parquet file every so many steps; only later rows are in memory.

    Steps alone decide which rows share a file, so that the same training writes the same files however often it is
    saved and resumed.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self._folder = folder
        self._seed = seed
        self._rows: list[LoggedRollout] = []
        self._written: list[str] = []

    def add(self, step: int, rollouts: "Sequence[SampledRollout]", advantages: "torch.Tensor | None") -> None:
        """Add the rollouts of a step; InputError where a row violates the log's schema."""
        if self._rows and _file_of(self._rows[0].step) != _file_of(step):
            self._written.append(self._write(self._folder))
            self._rows = []
        weights = [None] * len(rollouts) if advantages is None else advantages.tolist()
        self._rows += [
            LoggedRollout(
                each.scored.prompt_id,
                each.scored.task,
                step,
                self._seed,
                each.scored.completion,
                each.scored.components,
                each.scored.reward,
                advantage,
                len(each.completion_ids),
                (StopReason.TOKEN_LIMIT if each.truncated else StopReason.END_OF_TURN).value,
                each.corrected,
            )
            for each, advantage in zip(rollouts, weights, strict=True)
        ]

    def state_dict(self) -> dict[str, Any]:
        """Return the rows that are in no file yet; the others are in `files`."""
        return {"rows": list(self._rows)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state`; the files come by `load_files`."""
        self._rows = [LoggedRollout(*values) for values in state["rows"]]

    def files(self) -> dict[str, Path]:
        """Return the written, immutable files by their path in a checkpoint's folder."""
        return {f"{ROLLOUTS_FOLDER}/{name}": self._folder / name for name in self._written}

    def load_files(self, checkpoint: Path) -> None:
        """Restore the files of a checkpoint; anything logged after it is dropped."""
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        self._written = []
        for file in sorted((checkpoint / ROLLOUTS_FOLDER).glob("*.parquet")):
            shutil.copyfile(file, self._folder / file.name)
            self._written.append(file.name)

    def write(self, policy: Path) -> None:
        """Write all rows into a policy's folder; InputError where a row violates the log's schema."""
        folder = policy / ROLLOUTS_FOLDER
        folder.mkdir()
        for name in self._written:
            shutil.copyfile(self._folder / name, folder / name)
        if self._rows:
            self._write(folder)

    def _write(self, folder: Path) -> str:
        folder.mkdir(parents=True, exist_ok=True)
        name = f"step-{self._rows[0].step:06d}-{self._rows[-1].step:06d}.parquet"
        as_table(self._rows, COLUMNS).write_parquet(folder / name, compression="zstd", statistics=False)
        return name


def _file_of(step: int) -> int:
    return (step - 1) // STEPS_PER_FILE
