"""The synthesize stage: a store, and the prompts with references that are made from it."""

import json
import random
from pathlib import Path
from typing import Any

from schemas.config import SynthesizeConfig
from schemas.errors import InputError
from schemas.progress import Progress
from schemas.prompts import PromptRow, content_id, prompt_table, write_prompt_table
from schemas.store import Store
from schemas.store_files import read_store, write_store
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.example import Example
from tasks.commerce.registry import TASKS
from tasks.synthesize.simulated import simulate_store


def run(config: SynthesizeConfig, seed: int, output: Path, progress: Progress) -> None:
    """Write `store/`, `prompts.parquet` and `summary.json` into the output folder; equal inputs give equal bytes.

    A task that the store knows too little for gets fewer prompts than it was asked for; `summary.json` says how many.

    Args:
        config: The source, its size, and the prompts to make by task.
        seed: Where all randomness comes from; each task draws from its own generator, so that no count moves another.
        output: An empty folder.
        progress: Told of each prompt.

    Raises:
        InputError: Olist's folder cannot be read, or no task finds anything to ask of the store.
    """
    asked = {task: config.counts.get(task, 0) for task in TASK_NAMES}
    store = _read_or_simulate(config, seed)
    rows: list[PromptRow] = []
    for task, count in asked.items():
        examples = TASKS[task].examples(store, random.Random(f"{seed}:{task}"), count) if count else ()
        for example in examples:
            rows.append(_row(example, config.source))
            progress(len(rows), sum(asked.values()), f"{task} prompts")
    if not rows:
        wanted = ", ".join(task for task, count in asked.items() if count)
        raise InputError(
            f"the {config.source} store yields no prompt for {wanted}; ask for another task or use more orders"
        )
    write_store(store, output / "store")
    write_prompt_table(prompt_table(rows), output / "prompts.parquet")
    summary = _summary(config, seed, store, asked, rows)
    (output / "summary.json").write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")


def _read_or_simulate(config: SynthesizeConfig, seed: int) -> Store:
    if config.source == "simulated":
        return simulate_store(config.orders, random.Random(f"{seed}:store"))
    if config.olist_dir is None:
        raise InputError("synthesize.source is 'olist' but no folder is given; add --set synthesize.olist_dir=FOLDER")
    return read_store(config.olist_dir)


def _row(example: Example, source: str) -> PromptRow:
    content = (example.task, example.system, example.prompt, example.reference)
    origin = (example.customer_id, example.order_id, example.review_id)
    return PromptRow(content_id(*content), *content, source, *origin)


def _summary(
    config: SynthesizeConfig, seed: int, store: Store, asked: dict[TaskName, int], rows: list[PromptRow]
) -> dict[str, Any]:
    return {
        "source": config.source,
        "seed": seed,
        "store": {"orders": store.orders.height, "reviews": store.reviews.height, "products": store.products.height},
        "asked": asked,
        "made": {task: sum(row.task == task for row in rows) for task in asked},
    }
