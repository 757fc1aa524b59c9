"""Synthesize stage: a store, and prompts with references made from it."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

from schemas.config.config import SynthesizeConfig
from schemas.errors import InputError
from schemas.progress import Progress
from schemas.store.files import read_store, write_store
from schemas.store.store import Store
from schemas.tables.prompts import PromptRow, PromptTableWriter, open_prompt_table, read_prompts
from schemas.tables.prompts_summary import ParaphraseCounts, PromptsSummary, StoreSize
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.sql_qa.shown_schema import shown_system
from tasks.synthesize.prompt_rows import as_prompt_row
from tasks.synthesize.simulated import simulate_store

ROWS_BETWEEN_REPORTS: Final = 50
REMEDIES: Final = {
    "simulated": "use more orders",
    "olist": "use a simulated store, the only one that knows who comes back (churn)",
}
ANSWERS_FOLDER: Final = "paraphrases"
"""Folder of a paraphrasing model's answers, in the state folder."""


def run(
    config: SynthesizeConfig,
    seed: int,
    output: Path,
    progress: Progress,
    state: Path,
    served: Path | None = None,
) -> PromptsSummary:
    """Write `store/`, `prompts.parquet` and `summary.json` into the output folder; equal inputs give equal bytes.

    Prompts come task by task, by task name, each followed by its paraphrases, if any; few are in memory at once. Those
    of a served model's logs are the last. A task about which the store knows too little gets fewer prompts than
    requested; `summary.json` has the numbers.

    Args:
        config: The source, its size, and the prompts to make by task.
        seed: Source of all randomness; each task draws from its own generator, so that counts do not affect each other.
        output: An empty folder.
        progress: Called with the prompts now and then.
        state: The state folder, which keeps a paraphrasing model's answers; unused without paraphrasing.
        served: A table of prompts from a served model's logs; None for none.

    Returns:
        The content of `summary.json`.

    Raises:
        InputError: Olist's folder cannot be read, no task finds any material in the store, or the paraphrasing endpoint
            fails.
    """
    asked: dict[TaskName, int] = {task: config.counts.get(task, 0) for task in TASK_NAMES}
    store = _read_or_simulate(config, seed, progress)
    write_store(store, output / "store")
    made: Counter[TaskName] = Counter()
    with ExitStack() as stack:
        paraphraser = None
        if config.paraphrase is not None:
            # httpx takes a moment to load, and most runs paraphrase nothing.
            from tasks.synthesize.paraphrase import open_paraphraser

            paraphraser = stack.enter_context(open_paraphraser(config.paraphrase, seed, state / ANSWERS_FOLDER))
        table = stack.enter_context(open_prompt_table(output / "prompts.parquet"))
        for task, count in asked.items():
            rows = _rows(config, task, count, store, seed)
            for row in rows if paraphraser is None else paraphraser.follow(rows):
                table.add(row)
                made[task] += row.parent_id is None
                if made.total() % ROWS_BETWEEN_REPORTS == 0:
                    progress(made.total(), sum(asked.values()), f"{task} prompts")
        added = _add_served(served, asked, table)
    if not made.total():
        wanted = ", ".join(task for task, count in asked.items() if count)
        raise InputError(
            f"the {config.source} store yields no prompt for {wanted}; ask for another task or "
            f"{REMEDIES[config.source]}"
        )
    progress(made.total(), sum(asked.values()), "prompts")
    paraphrases = None if paraphraser is None else paraphraser.tally.counts()
    summary = _summary(config, seed, store, asked, made, paraphrases, added)
    summary.write(output)
    return summary


def _add_served(
    served: Path | None, asked: Mapping[TaskName, int], table: PromptTableWriter
) -> dict[TaskName, int] | None:
    """Add the prompts of a served model's logs, and return how many of each task."""
    if served is None:
        return None
    added: Counter[TaskName] = Counter()
    for row in read_prompts(served):
        table.add(row)
        added[row.task] += 1
    return {task: added[task] for task in asked}


def _read_or_simulate(config: SynthesizeConfig, seed: int, progress: Progress) -> Store:
    total = sum(config.counts.values())
    if config.source == "simulated":
        progress(0, total, f"simulating {config.orders_to_simulate} orders")
        return simulate_store(config.orders_to_simulate, random.Random(f"{seed}:store"))
    if config.olist_dir is None:
        raise InputError("synthesize.source is 'olist' but no folder is given; add --set synthesize.olist_dir=FOLDER")
    progress(0, total, f"reading {config.olist_dir}")
    return read_store(config.olist_dir)


def _rows(config: SynthesizeConfig, task: TaskName, count: int, store: Store, seed: int) -> Iterator[PromptRow]:
    if count:
        for example in EXAMPLE_MAKERS[task](store, random.Random(f"{seed}:{task}"), count):
            shows_part = task == "sql_qa" and config.sql_schema == "needed"
            shown = replace(example, system=shown_system(example.prompt)) if shows_part else example
            yield as_prompt_row(shown, config.source)


def _summary(
    config: SynthesizeConfig,
    seed: int,
    store: Store,
    asked: Mapping[TaskName, int],
    made: Counter[TaskName],
    paraphrases: ParaphraseCounts | None,
    served: Mapping[TaskName, int] | None,
) -> PromptsSummary:
    added = Counter(paraphrases.made if paraphrases else {}) + Counter(served or {})
    prompts = {task: made[task] + added[task] for task in asked}
    minorities = {
        task: prompts[task] for task, count in asked.items() if count and prompts[task] < config.minority_floor
    }
    return PromptsSummary(
        source=config.source,
        seed=seed,
        store=StoreSize(orders=store.orders.height, reviews=store.reviews.height, products=store.products.height),
        asked=dict(asked),
        made={task: made[task] for task in asked},
        paraphrases=paraphrases,
        served=None if served is None else dict(served),
        minority_floor=config.minority_floor,
        minorities=minorities,
        warnings=_warnings(config, asked, made, minorities, paraphrases),
    )


def _warnings(
    config: SynthesizeConfig,
    asked: Mapping[TaskName, int],
    made: Counter[TaskName],
    minorities: Mapping[TaskName, int],
    paraphrases: ParaphraseCounts | None,
) -> list[str]:
    warnings = []
    short = [f"{task} ({made[task]} of {count})" for task, count in asked.items() if made[task] < count]
    if short:
        warnings.append(f"the {config.source} store knows too little for all prompts asked of {', '.join(short)}")
    if minorities:
        named = ", ".join(f"{task} ({count})" for task, count in minorities.items())
        warnings.append(
            f"fewer than {config.minority_floor} prompts of {named}: the V4.2 report's push learned nothing from "
            "about 150, and the report puts the critical mass between 150 and 500; make more of them to train in "
            "earnest"
        )
    if paraphrases and paraphrases.failure:
        warnings.append(f"paraphrases are missing: {paraphrases.failure}")
    return warnings
