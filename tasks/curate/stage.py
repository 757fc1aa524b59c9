"""The curate stage: prompts in, one dataset out, and a quarantine that says why each other row was dropped."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl

from schemas.config import CurateConfig
from schemas.errors import InputError
from schemas.prompts import read_prompt_table, write_prompt_table
from schemas.tasks import TASK_NAMES
from tasks.curate.card import data_card
from tasks.curate.quarantine import (
    LEAKAGE,
    REASONS,
    drop_duplicates,
    drop_schema_failures,
    drop_too_long,
    quarantined,
)
from tasks.curate.split import SPLITS, assign, prove_no_leakage


def run(config: CurateConfig, seed: int, prompts: Path, output: Path) -> None:
    """Write `data/*.parquet`, `quarantine.parquet`, `summary.json` and `README.md`; equal inputs give equal bytes.

    A task without a single prompt is in no split; every other has exactly the sizes that the configuration says.

    Args:
        config: Sizes and limits.
        seed: Key of the split.
        prompts: The folder that the synthesize stage wrote.
        output: An empty folder.

    Raises:
        InputError: The prompts cannot be read, or too few of a task are left to split.
    """
    table = read_prompt_table(prompts / "prompts.parquet")
    fitting, broken = drop_schema_failures(table)
    short, long = drop_too_long(fitting, config.max_prompt_characters)
    unique, duplicates = drop_duplicates(short)
    _refuse_too_few(config, table, unique)
    sides = pl.Series(assign(unique, config.validation_per_task, config.test_per_task, seed), dtype=pl.String)
    splits = {split: unique.filter(sides == split) for split in SPLITS}
    prove_no_leakage(splits)
    homeless = unique.filter(sides.is_null())
    leaking = quarantined(homeless, LEAKAGE, ["shares a source with a split that needs no more rows"] * homeless.height)
    quarantine = pl.concat([broken, long, duplicates, leaking])
    for split, rows in splits.items():
        write_prompt_table(rows, output / "data" / f"{split}.parquet")
    write_prompt_table(quarantine, output / "quarantine.parquet")
    summary = _summary(seed, splits, quarantine)
    (output / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")
    (output / "README.md").write_text(data_card(summary, output), encoding="utf-8")


def _refuse_too_few(config: CurateConfig, table: pl.DataFrame, left: pl.DataFrame) -> None:
    needed = config.validation_per_task + config.test_per_task + 1
    given, kept = Counter(table["task"]), Counter(left["task"])
    short = [f"{task} {kept[task]} of {given[task]}" for task in TASK_NAMES if given[task] and kept[task] < needed]
    if short or not kept:
        counts = ", ".join(short) or f"0 of {table.height}"
        raise InputError(
            f"too few prompts are left to split ({counts}): each task needs {needed}, "
            f"{config.validation_per_task} for validation, {config.test_per_task} for test and 1 to train on; "
            "raise synthesize.counts or lower curate.test_per_task"
        )


def _summary(seed: int, splits: dict[str, pl.DataFrame], quarantine: pl.DataFrame) -> dict[str, Any]:
    sizes = {split: Counter(rows["task"]) for split, rows in splits.items()}
    return {
        "seed": seed,
        **{split: rows.height for split, rows in splits.items()},
        "quarantined": quarantine.height,
        "tasks": {task: {split: sizes[split][task] for split in SPLITS} for task in TASK_NAMES},
        "reasons": {
            reason: dict(sorted(Counter(str(task) for task in quarantine.filter(reason=reason)["task"]).items()))
            for reason in REASONS
        },
        "sources": dict(sorted(Counter(pl.concat(splits.values())["source"]).items())),
    }
