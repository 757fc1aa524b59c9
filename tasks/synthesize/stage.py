"""Synthesize stage: a store, and prompts with references made from it."""

from collections import Counter
from pathlib import Path
from typing import Final

from schemas.config.config import SynthesizeConfig
from schemas.errors import InputError
from schemas.progress import Progress
from schemas.references import knows_anything
from schemas.store.files import write_store
from schemas.tables.prompts import PromptRow, open_prompt_table, read_prompts
from schemas.tables.prompts_summary import PromptsSummary, StoreSize
from schemas.tasks import TASK_NAMES, TaskName
from tasks.personal_data.scrub_table import scrubbed_rows
from tasks.synthesize.own.opened import OwnFiles
from tasks.synthesize.sources import OpenedSource, open_source

DATA_FILES: Final = ("constraints/laptop.txt",)
"""The versions of the packages that know telephone numbers and check digits."""
ROWS_BETWEEN_REPORTS: Final = 50
STORES: Final = {"simulated": "simulated store", "olist": "olist store", "files": "store of the files"}
REMEDIES: Final = {
    "simulated": "use more orders",
    "olist": "use a simulated store, the only one that knows who comes back (churn)",
    "files": "map more of them",
}


def run(
    config: SynthesizeConfig,
    seed: int,
    output: Path,
    progress: Progress,
    served: Path | None = None,
    own: OwnFiles | None = None,
) -> PromptsSummary:
    """Write `store/`, `prompts.parquet` and `summary.json` into an empty folder; equal inputs give equal bytes.

    Prompts come task by task, few of them in memory at once; those of a served model's logs are the last. A task about
    which the store knows too little gets fewer prompts than requested, and no count moves another task. Personal data
    in texts is replaced before anything is written. `served` is a table of prompts from a served model's logs.

    Raises:
        InputError: The files of the source cannot be read, or no task finds any material in them.
    """
    asked: dict[TaskName, int] = {task: config.counts.get(task, 0) for task in TASK_NAMES}
    source = open_source(config, seed, own, progress)
    write_store(source.store, output / "store")
    made: Counter[TaskName] = Counter()
    added: Counter[TaskName] = Counter()
    origins: Counter[tuple[TaskName, str]] = Counter()
    without_reference: Counter[TaskName] = Counter()
    with open_prompt_table(output / "prompts.parquet") as table:

        def add(row: PromptRow) -> None:
            table.add(row)
            origins[row.task, row.source] += 1
            without_reference[row.task] += not knows_anything(row.reference)

        for task, count in asked.items():
            for row in scrubbed_rows(source.rows(task, count), source.scrubbed):
                add(row)
                made[task] += 1
                if made.total() % ROWS_BETWEEN_REPORTS == 0:
                    progress(made.total(), sum(asked.values()), f"{task} prompts")
        for row in scrubbed_rows(read_prompts(served) if served else [], source.scrubbed):
            add(row)
            added[row.task] += 1
    if not made.total():
        wanted = ", ".join(task for task, count in asked.items() if count)
        raise InputError(
            f"the {STORES[config.source]} yields no prompt for {wanted}; ask for another task or "
            f"{REMEDIES[config.source]}{''.join(f' ({note})' for note in source.notes())}"
        )
    progress(made.total(), sum(asked.values()), "prompts")
    minorities = {
        task: total
        for task, count in asked.items()
        if count and (total := made[task] + added[task]) < config.minority_floor
    }
    summary = PromptsSummary(
        source=config.source,
        seed=seed,
        store=StoreSize(
            orders=source.store.orders.height,
            reviews=source.store.reviews.height,
            products=source.store.products.height,
        ),
        asked=asked,
        made={task: made[task] for task in asked},
        origins={
            task: {origin: count for (of, origin), count in sorted(origins.items()) if of == task} for task in asked
        },
        without_reference={task: count for task, count in without_reference.items() if count},
        served=None if served is None else {task: added[task] for task in asked},
        minority_floor=config.minority_floor,
        minorities=minorities,
        scrubbed=dict(sorted(source.scrubbed.items())),
        warnings=_warnings(config, source, asked, made, minorities, without_reference),
    )
    summary.write(output)
    return summary


def _warnings(
    config: SynthesizeConfig,
    source: OpenedSource,
    asked: dict[TaskName, int],
    made: Counter[TaskName],
    minorities: dict[TaskName, int],
    without_reference: Counter[TaskName],
) -> list[str]:
    warnings = []
    short = [f"{task} ({made[task]} of {count})" for task, count in asked.items() if made[task] < count]
    if short:
        warnings.append(f"the {STORES[config.source]} knows too little for all prompts asked of {', '.join(short)}")
    if minorities:
        named = ", ".join(f"{task} ({count})" for task, count in minorities.items())
        warnings.append(
            f"fewer than {config.minority_floor} prompts of {named}: the V4.2 report's push learned nothing from "
            "about 150, and the report puts the critical mass between 150 and 500; make more of them to train in "
            "earnest"
        )
    warnings += source.notes()
    warnings += [
        f"{count:,} prompts of {task} have no reference: in training they are scored by form alone, which a wrong "
        "answer has, too, and in the test split they count once people gave them a reference"
        for task, count in without_reference.items()
        if count
    ]
    return warnings
