"""Synthesize stage: a store, and prompts with references made from it."""

from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from schemas.config.config import SynthesizeConfig
from schemas.errors import InputError
from schemas.progress import Progress
from schemas.references import knows_anything
from schemas.store.files import write_store
from schemas.tables.prompts import PromptRow, PromptTableWriter, open_prompt_table, read_prompts
from schemas.tables.prompts_summary import ParaphraseCounts, PromptsSummary, StoreSize
from schemas.tasks import TASK_NAMES, TaskName
from tasks.personal_data.scrub import Kind
from tasks.personal_data.scrub_table import scrubbed_rows
from tasks.synthesize.own.opened import OwnFiles
from tasks.synthesize.sources import REMEDIES, STORES, OpenedSource, open_source

DATA_FILES: Final = ("constraints/laptop.txt",)
"""The versions of the packages that know telephone numbers and check digits."""
ROWS_BETWEEN_REPORTS: Final = 50
ANSWERS_FOLDER: Final = "paraphrases"
"""Folder of a paraphrasing model's answers, in the state folder."""


def run(
    config: SynthesizeConfig,
    seed: int,
    output: Path,
    progress: Progress,
    state: Path,
    served: Path | None = None,
    own: OwnFiles | None = None,
) -> PromptsSummary:
    """Write `store/`, `prompts.parquet` and `summary.json` into the output folder; equal inputs give equal bytes.

    Prompts come task by task, by task name, each followed by its paraphrases, if any; few are in memory at once. Those
    of a served model's logs are the last. A task about which the store knows too little gets fewer prompts than
    requested; `summary.json` has the numbers. Personal data in texts is replaced before anything is written.

    Args:
        config: The source, its size, and the prompts to make by task.
        seed: Source of all randomness; each task draws from its own generator, so that counts do not affect each other.
        output: An empty folder.
        progress: Called with the prompts now and then.
        state: The state folder, which keeps a paraphrasing model's answers; unused without paraphrasing.
        served: A table of prompts from a served model's logs; None for none.
        own: The shop's files, where they are the source.

    Raises:
        InputError: The files of the source cannot be read, no task finds any material in them, or the paraphrasing
            endpoint fails.
    """
    asked: dict[TaskName, int] = {task: config.counts.get(task, 0) for task in TASK_NAMES}
    source = open_source(config, seed, own, progress)
    write_store(source.store, output / "store")
    made: Counter[TaskName] = Counter()
    counts = _Counts()
    with ExitStack() as stack:
        paraphraser = None
        if config.paraphrase is not None:
            # httpx takes a moment to load, and most runs paraphrase nothing.
            from tasks.synthesize.paraphrase import open_paraphraser

            paraphraser = stack.enter_context(open_paraphraser(config.paraphrase, seed, state / ANSWERS_FOLDER))
        table = stack.enter_context(open_prompt_table(output / "prompts.parquet"))
        for task, count in asked.items():
            rows = scrubbed_rows(source.rows(task, count), source.scrubbed)
            if paraphraser is not None:
                rows = scrubbed_rows(paraphraser.follow(rows), source.scrubbed)
            for row in rows:
                table.add(row)
                counts.add(row)
                made[task] += row.parent_id is None
                if made.total() % ROWS_BETWEEN_REPORTS == 0:
                    progress(made.total(), sum(asked.values()), f"{task} prompts")
        added = _add_served(served, asked, table, counts, source.scrubbed)
    if not made.total():
        wanted = ", ".join(task for task, count in asked.items() if count)
        raise InputError(
            f"the {STORES[config.source]} yields no prompt for {wanted}; ask for another task or "
            f"{REMEDIES[config.source]}{''.join(f' ({note})' for note in source.notes())}"
        )
    progress(made.total(), sum(asked.values()), "prompts")
    paraphrases = None if paraphraser is None else paraphraser.tally.counts()
    summary = _summary(config, seed, source, asked, made, paraphrases, added, counts)
    summary.write(output)
    return summary


class _Counts:
    """Counts of all rows of the table."""

    def __init__(self) -> None:
        self.origins: Counter[tuple[TaskName, str]] = Counter()
        self.without_reference: Counter[TaskName] = Counter()

    def add(self, row: PromptRow) -> None:
        self.origins[row.task, row.source] += 1
        self.without_reference[row.task] += not knows_anything(row.reference)


def _add_served(
    served: Path | None,
    asked: Mapping[TaskName, int],
    table: PromptTableWriter,
    counts: _Counts,
    scrubbed: Counter[Kind],
) -> dict[TaskName, int] | None:
    """Add the prompts of a served model's logs, and return how many of each task."""
    if served is None:
        return None
    added: Counter[TaskName] = Counter()
    for row in scrubbed_rows(read_prompts(served), scrubbed):
        table.add(row)
        counts.add(row)
        added[row.task] += 1
    return {task: added[task] for task in asked}


def _summary(
    config: SynthesizeConfig,
    seed: int,
    source: OpenedSource,
    asked: Mapping[TaskName, int],
    made: Counter[TaskName],
    paraphrases: ParaphraseCounts | None,
    served: Mapping[TaskName, int] | None,
    counts: _Counts,
) -> PromptsSummary:
    store = source.store
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
        origins={
            task: {origin: count for (of, origin), count in sorted(counts.origins.items()) if of == task}
            for task in asked
        },
        without_reference={task: count for task, count in counts.without_reference.items() if count},
        paraphrases=paraphrases,
        served=None if served is None else dict(served),
        minority_floor=config.minority_floor,
        minorities=minorities,
        scrubbed=dict(sorted(source.scrubbed.items())),
        warnings=[*_warnings(config, asked, made, minorities, paraphrases), *source.notes(), *_untold(counts)],
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
        warnings.append(f"the {STORES[config.source]} knows too little for all prompts asked of {', '.join(short)}")
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


def _untold(counts: _Counts) -> list[str]:
    return [
        f"{count:,} prompts of {task} have no reference: in training they are scored by form alone, which a wrong "
        "answer has, too, and in the test split they count once people gave them a reference"
        for task, count in counts.without_reference.items()
        if count
    ]
