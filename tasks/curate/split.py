"""Train, validation and test splits: exact sizes by task, drawn from the groups held out from training.

Validation chooses the checkpoint; test is read by the evaluation alone. Both are drawn from the held-out groups
(`tasks.curate.kinship`), in the order of their draws, one prompt of a task from each group before any gives a second,
so that test prompts are as independent as the data allows. Groups are never divided between the two: the split that
lacks the larger part of its rows of a task gets the next group. Held-out prompts that are not needed stay out of the
dataset: if they were trained on, growing data would turn training rows into test rows and back.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NoReturn

import polars as pl

from schemas.config.config import FEWEST_HELD_OUT, CurateConfig
from schemas.errors import InputError
from schemas.tasks import TASK_NAMES, TaskName

TRAIN: Final = "train"
DRAWN: Final = ("test", "validation")
_Needs = Mapping[str, Counter[TaskName]]
"""Prompts of each task that a split needs, by the split."""


def assign(index: pl.DataFrame, config: CurateConfig) -> pl.Series:
    """Return each prompt's split, or null if it is held out and in none.

    Raises:
        InputError: Too few prompts of a task are held out for test and validation, or none is left to train on.
    """
    present = [task for task in TASK_NAMES if task in set(index["task"].unique())]
    for task in present:
        config.refuse_without_size(task)
    order = _in_order(index)
    drawn, missing = _draw(
        order,
        {
            "test": Counter({task: config.test_rows(task) for task in present}),
            "validation": Counter({task: config.validation_rows(task) for task in present}),
        },
    )
    splits: list[str | None] = [None if held_out else TRAIN for held_out in index["held_out"]]
    for row, side in drawn.items():
        splits[row] = side
    result = pl.Series("split", splits, pl.String)
    _refuse_untrained(index, result, config)
    if missing:
        _refuse_short(index, missing, _fitting(order, present, config), config)
    return result


def _draw(order: Iterable[tuple[int, TaskName, int]], needs: _Needs) -> tuple[dict[int, str], Counter[TaskName]]:
    """Return the split of each drawn row, and how many prompts of a task are missing."""
    needed = {side: Counter(need) for side, need in needs.items()}
    sides: dict[int, str] = {}
    drawn: dict[int, str] = {}
    for row, task, kin in order:
        options = (sides[kin],) if kin in sides else DRAWN
        side = max(options, key=lambda side: needed[side][task] / needs[side][task])
        if needed[side][task]:
            sides[kin] = side
            needed[side][task] -= 1
            drawn[row] = side
    return drawn, +sum(needed.values(), Counter[TaskName]())


def _fitting(
    order: Sequence[tuple[int, TaskName, int]], present: Sequence[TaskName], config: CurateConfig
) -> tuple[int, int] | None:
    """Return the largest test and validation sizes, in the configured proportion, that every task has prompts for."""
    held_out = Counter(task for _, task, _ in order)
    test = max(config.test_rows(task) for task in present)
    validation = max(config.validation_rows(task) for task in present)
    for size in range(min(test - 1, *(held_out[task] for task in present)), FEWEST_HELD_OUT - 1, -1):
        fewer = max(FEWEST_HELD_OUT, size * validation // test)
        sizes = {"test": size, "validation": fewer}
        if not _draw(order, {side: Counter(dict.fromkeys(present, count)) for side, count in sizes.items()})[1]:
            return size, fewer
    return None


def _in_order(index: pl.DataFrame) -> list[tuple[int, TaskName, int]]:
    """Return row, task and group of the held-out prompts, in drawing order."""
    held_out = index.with_row_index("row").filter("held_out").sort("draw", "kin", "prompt_id")
    turn = pl.int_range(pl.len()).over("kin", "task")
    drawn = held_out.with_columns(turn=turn).sort("turn", maintain_order=True)
    return drawn.select("row", pl.col("task").cast(pl.String), "kin").rows()


def _refuse_short(
    index: pl.DataFrame, missing: Iterable[TaskName], fitting: tuple[int, int] | None, config: CurateConfig
) -> NoReturn:
    tasks = index["task"].cast(pl.String)
    held_out = Counter(tasks.filter(index["held_out"]))
    kin = Counter(
        task for task, _ in index.filter("held_out").select(pl.col("task").cast(pl.String), "kin").unique().rows()
    )
    lacking = ", ".join(
        f"{task} (needs {config.test_rows(task) + config.validation_rows(task)}, {held_out[task]} of "
        f"{(tasks == task).sum()} are held out, of {kin[task]} customers or other sources)"
        for task in missing
    )
    remedy = f"raise curate.held_out_share (now {config.held_out_share:g})"
    if fitting is not None:
        remedy = "curate with --set curate.test_per_task={} --set curate.validation_per_task={}".format(*fitting)
    raise InputError(
        f"too few prompts are held out for test and validation: {lacking}; bring more prompts of more customers, or "
        f"{remedy}"
    )


def _refuse_untrained(index: pl.DataFrame, splits: pl.Series, config: CurateConfig) -> None:
    tasks = index["task"].cast(pl.String)
    untrained = [task for task in Counter(tasks) if task not in set(tasks.filter(splits == TRAIN))]
    if untrained:
        raise InputError(
            f"no prompt of {', '.join(untrained)} is left to train on, all are held out; bring more prompts of more "
            f"customers, or lower curate.held_out_share (now {config.held_out_share:g})"
        )
