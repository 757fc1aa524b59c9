"""Train, validation and test splits: exact sizes by task, drawn from the groups held out from training.

Validation chooses the checkpoint; test is read by the evaluation alone. Both are drawn from the held-out groups
(`tasks.curate.kinship`), in the order of their draws, one prompt of a task from each group before any gives a second,
so that test prompts are as independent as the data allows. Groups are never divided between the two: the split that
lacks the larger part of its rows of a task gets the next group. Held-out prompts that are not needed stay out of the
dataset: if they were trained on, growing data would turn training rows into test rows and back.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final

import polars as pl

from schemas.config.config import CurateConfig
from schemas.errors import InputError
from schemas.tasks import TASK_NAMES, TaskName

TRAIN: Final = "train"
DRAWN: Final = ("test", "validation")


def assign(index: pl.DataFrame, config: CurateConfig) -> pl.Series:
    """Return each prompt's split, or null if it is held out and in none.

    Args:
        index: Prompts without copies: `task`, `prompt_id`, `kin`, `draw` and `held_out`.
        config: The sizes.

    Raises:
        InputError: Too few prompts of a task are held out for test and validation, or none is left to train on.
    """
    present = [task for task in TASK_NAMES if task in set(index["task"].unique())]
    needs = {
        "test": Counter({task: config.test_rows(task) for task in present}),
        "validation": Counter({task: config.validation_rows(task) for task in present}),
    }
    splits: list[str | None] = [None if held_out else TRAIN for held_out in index["held_out"]]
    sides: dict[int, str] = {}
    whole = {side: Counter(need) for side, need in needs.items()}
    for row, task, kin in _in_order(index):
        options = (sides[kin],) if kin in sides else DRAWN
        side = max(options, key=lambda side: needs[side][task] / whole[side][task])
        if needs[side][task]:
            sides[kin] = side
            needs[side][task] -= 1
            splits[row] = side
    result = pl.Series("split", splits, pl.String)
    _refuse_short(index, result, needs, config)
    return result


def _in_order(index: pl.DataFrame) -> list[tuple[int, TaskName, int]]:
    """Return row, task and group of the held-out prompts, in drawing order."""
    held_out = index.with_row_index("row").filter("held_out").sort("draw", "kin", "prompt_id")
    turn = pl.int_range(pl.len()).over("kin", "task")
    drawn = held_out.with_columns(turn=turn).sort("turn", maintain_order=True)
    return drawn.select("row", pl.col("task").cast(pl.String), "kin").rows()


def _refuse_short(
    index: pl.DataFrame, splits: pl.Series, needs: Mapping[str, Counter[TaskName]], config: CurateConfig
) -> None:
    tasks = index["task"].cast(pl.String)
    short = {task: sum(need[task] for need in needs.values()) for task in TASK_NAMES}
    held_out = Counter(tasks.filter(index["held_out"]))
    kin = Counter(
        task for task, _ in index.filter("held_out").select(pl.col("task").cast(pl.String), "kin").unique().rows()
    )
    lacking = [
        f"{task} (needs {config.test_rows(task) + config.validation_rows(task)}, {held_out[task]} of "
        f"{(tasks == task).sum()} are held out, of {kin[task]} customers or other sources)"
        for task, missing in short.items()
        if missing
    ]
    if lacking:
        raise InputError(
            f"too few prompts are held out for test and validation: {', '.join(lacking)}; bring more prompts of more "
            f"customers, raise curate.held_out_share (now {config.held_out_share:g}), or lower curate.test_per_task"
        )
    untrained = [task for task in Counter(tasks) if task not in set(tasks.filter(splits == TRAIN))]
    if untrained:
        raise InputError(
            f"no prompt of {', '.join(untrained)} is left to train on, all are held out; bring more prompts of more "
            f"customers, or lower curate.held_out_share (now {config.held_out_share:g})"
        )
