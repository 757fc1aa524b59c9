"""Every rollout is kept, also those sampled in vain: the thread from a model back to the rows that it came from."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from schemas.tasks import TaskName
from tasks.policy.generate import StopReason

if TYPE_CHECKING:
    import torch

    from tasks.train.rollouts import Rollouts

ROLLOUTS_FOLDER: Final = "rollouts"


class LoggedRollout(NamedTuple):
    """A row of the log; its columns are those of `schemas.training_rollouts`."""

    prompt_id: str
    task: TaskName
    step: int
    seed: int
    completion: str
    components: dict[str, float]
    reward: float
    advantage: float | None
    tokens: int
    stop_reason: str
    corrected: bool


class RolloutLog:
    """Writes a parquet file each time that a checkpoint is saved; only the rows since the last one are in memory."""

    def __init__(self, folder: Path, seed: int) -> None:
        """Begin without rows.

        Args:
            folder: Where its files are kept; it is the log's own, and need not exist.
            seed: The training's.
        """
        self._folder = folder
        self._seed = seed
        self._rows: list[LoggedRollout] = []

    def add(self, step: int, rollouts: "Rollouts", advantages: "torch.Tensor | None") -> None:
        """Keep the rollouts of a step.

        Args:
            step: The optimizer step that is about to be taken with them.
            rollouts: The rollouts.
            advantages: Of each completion, (completions,); None where they are not trained on.
        """
        self._rows += [
            LoggedRollout(
                rollout.prompt_id,
                rollout.task,
                step,
                self._seed,
                rollout.completion,
                rollout.components,
                rollout.reward,
                advantage,
                len(ids),
                (StopReason.TOKEN_LIMIT if truncated else StopReason.END_OF_TURN).value,
                corrected,
            )
            for rollout, advantage, ids, truncated, corrected in zip(
                rollouts.scored,
                [None] * len(rollouts.rows) if advantages is None else advantages.tolist(),
                rollouts.completion_ids,
                rollouts.truncated,
                rollouts.corrected,
                strict=True,
            )
        ]

    def save(self, folder: Path) -> None:
        """Write the rows since the last checkpoint, and copy all files so far into a checkpoint's or policy's folder.

        Raises:
            InputError: A row is not what the log's schema says.
        """
        self._write()
        shutil.copytree(self._folder, folder / ROLLOUTS_FOLDER)

    def restore(self, folder: Path) -> None:
        """Go back to the files that a checkpoint has; what was logged after it is dropped."""
        self._rows = []
        shutil.rmtree(self._folder, ignore_errors=True)
        shutil.copytree(folder / ROLLOUTS_FOLDER, self._folder)

    def _write(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        if not self._rows:
            return
        from schemas.table_check import as_table, validate_table
        from schemas.training_rollouts import TrainingRollouts

        name = f"step-{self._rows[0].step:06d}-{self._rows[-1].step:06d}.parquet"
        table = validate_table(as_table(self._rows, TrainingRollouts), TrainingRollouts, f"rollouts {name}")
        draft = self._folder / f".{name}"
        table.write_parquet(draft, compression="zstd", statistics=False)
        draft.replace(self._folder / name)
        self._rows = []
