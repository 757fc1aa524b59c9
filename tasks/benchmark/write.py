"""Writer of the benchmark: a simulated store of its own seeds, and questions about it; no row of Olist is in it.

A training run draws its store from the seed `N:store` and its prompts from `N:TASK`, where N is a number. The benchmark
draws from `benchmark:N:store` and `benchmark:N:TASK`, which no number reaches: no setting of a run makes its data.
"""

import random
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from schemas.errors import InputError
from schemas.progress import Progress
from schemas.tasks import TASK_NAMES
from tasks.benchmark.folder import BenchmarkItem, write_folder
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import reward_versions
from tasks.commerce.sql_qa.sandbox import copies_of, tables_of
from tasks.synthesize.simulated import as_prompt_row, simulate_store

NAME: Final = "tucano2-commerce-benchmark"
LICENCE: Final = "CC0-1.0"
SEED_SPACE: Final = "benchmark"
"""What every seed of the benchmark's generators begins with; a run's begin with a number."""


def write_benchmark(seed: int, per_task: int, orders: int, output: Path, progress: Progress) -> dict[str, Any]:
    """Write `test.jsonl`, `store.json` and `card.json`; equal arguments and versions give equal bytes.

    Return the card, without the digests of the files.
    """
    progress(0, len(TASK_NAMES), f"simulating {orders:,} orders")
    store = simulate_store(orders, random.Random(f"{SEED_SPACE}:{seed}:store"))
    canary = f"{NAME} canary {uuid5(NAMESPACE_URL, f'{NAME}/{seed}')}: do not train on this file"
    items: list[BenchmarkItem] = []
    for number, task in enumerate(TASK_NAMES, start=1):
        examples = EXAMPLE_MAKERS[task](store, random.Random(f"{SEED_SPACE}:{seed}:{task}"), per_task)
        rows = [as_prompt_row(example) for example in examples]
        if len(rows) < per_task:
            raise InputError(
                f"a store of {orders:,} orders gives {len(rows)} items of {task}, not {per_task}; use more orders"
            )
        items += [
            BenchmarkItem(
                id=row.prompt_id,
                task=row.task,
                system=row.system,
                prompt=row.prompt,
                reference=dict(row.reference),
                canary=canary,
            )
            for row in rows
        ]
        progress(number, len(TASK_NAMES), f"{task} items")
    card = {
        "name": NAME,
        "licence": LICENCE,
        "source": "simulated by tucano2-commerce; no row of Olist or of any shop",
        "language": "pt-BR",
        "seed": seed,
        "seed_space": f"{SEED_SPACE}:N:...",
        "orders": orders,
        "items": dict.fromkeys(TASK_NAMES, per_task),
        "canary": canary,
        "version": version("tucano2-commerce"),
        "reward_versions": reward_versions(),
    }
    write_folder(output, items, [tables_of(copy) for copy in copies_of(store)], card)
    return card
