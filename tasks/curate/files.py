"""Files of a dataset: the splits, each in prompt order, the quarantine, and the data card in Hugging Face's format."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl

from schemas.disk import file_sha256
from schemas.references import knows_anything
from schemas.tables.prompts import COLUMNS, GENERAL_FILE, SPLITS, open_parquet
from schemas.tables.summaries import DatasetSummary, GeneralSummary
from schemas.tasks import TASK_NAMES
from tasks.curate.shards import ROW, Shard
from tasks.personal_data.scrub_table import with_renamed_parents

QUARANTINE_FILE = "quarantine.parquet"
UNKNOWN_TASK = "unknown"
QUARANTINE_COLUMNS = {**COLUMNS, ROW: pl.UInt32, "reason": pl.String, "detail": pl.String}


@dataclass(frozen=True)
class Counts:
    """Row counts of the written files."""

    splits: Counter[tuple[str, str]]
    reasons: Counter[tuple[str, str]]
    sources: Counter[str]
    untold: Counter[tuple[str, str]]
    """Rows in the splits without a reference, by split and task."""

    def rows(self, split: str) -> int:
        """Return the number of rows in a split."""
        return sum(count for (of_split, _), count in self.splits.items() if of_split == split)


def split_file(folder: Path, split: str) -> Path:
    """Return the file of a split in a dataset."""
    return folder / "data" / f"{split}.parquet"


def write_splits(shards: Sequence[Shard], decisions: pl.DataFrame, renamed: Mapping[str, str], folder: Path) -> Counts:
    """Write `data/*.parquet` and `quarantine.parquet`; equal prompts and decisions give equal bytes."""
    counts = Counts(Counter(), Counter(), Counter(), Counter())
    (folder / "data").mkdir(parents=True)
    first = 0
    with ExitStack() as stack:
        tables = {split: stack.enter_context(open_parquet(split_file(folder, split), COLUMNS)) for split in SPLITS}
        quarantine = stack.enter_context(open_parquet(folder / QUARANTINE_FILE, QUARANTINE_COLUMNS))
        for shard in shards:
            rows = with_renamed_parents(pl.read_parquet(shard.kept, glob=False), renamed)
            decided = pl.concat([rows, decisions.slice(first, rows.height)], how="horizontal")
            first += rows.height
            for (split,), part in decided.drop_nulls("split").partition_by("split", as_dict=True).items():
                tables[split].add(part)
                counts.splits.update((split, task) for task in part["task"])
                counts.sources.update(part["source"])
                told = {text: knows_anything(json.loads(text)) for text in part["reference"].unique()}
                untold = part.filter(~part["reference"].replace_strict(told, return_dtype=pl.Boolean))
                counts.untold.update((split, task) for task in untold["task"])
            broken = with_renamed_parents(pl.read_parquet(shard.dropped, glob=False), renamed)
            homeless = decided.filter(pl.col("split").is_null()).drop("split")
            dropped = pl.concat([broken, homeless]).sort(ROW)
            quarantine.add(dropped)
            counts.reasons.update(zip(dropped["reason"], map(_named, dropped["task"]), strict=True))
    return counts


def _named(task: str | None) -> str:
    # A value in the wrong column may be a shopper's words.
    return task if task in TASK_NAMES else UNKNOWN_TASK


LICENCES: Final = {
    "simulated": "made by this project from a seed; no real shop, person or review is in it",
    "olist": "Olist and André Sionek, Brazilian E-Commerce Public Dataset by Olist, DOI 10.34740/kaggle/dsv/195341, "
    "CC BY-NC-SA 4.0: not for commercial use",
}
UNSTATED: Final = "the shop's own; its terms are not stated here"
INTRODUCTION: Final = (
    "Prompts of Brazilian e-commerce with what is known of their right answers. Rows that share a review, an order or "
    "a customer are all in one split; near-duplicates were dropped. Validation chooses the checkpoint; only the "
    "evaluation reads test. Personal data was replaced by placeholders such as `[CPF]` before anything was written."
)
HEADER: Final = """\
---
language:
- pt
pretty_name: Tucano2-Commerce prompts
configs:
- config_name: default
  default: true
  data_files:
  - split: train
    path: data/train.parquet
  - split: validation
    path: data/validation.parquet
  - split: test
    path: data/test.parquet
"""
GENERAL_CONFIG: Final = f"""\
- config_name: general
  data_files:
  - split: train
    path: {GENERAL_FILE}
"""


def data_card(summary: DatasetSummary, folder: Path) -> str:
    """Describe a dataset: its sizes, sources and licences, the dropped rows with reasons, and its file sizes."""
    header = HEADER + (GENERAL_CONFIG if summary.general else "") + "---\n"
    sections = [
        f"{header}# Tucano2-Commerce prompts",
        INTRODUCTION,
        f"## Rows by task\n\n{_rows_by_task(summary)}",
        *(f"{warning[0].upper()}{warning[1:]}." for warning in summary.warnings),
        *([f"## References given by people\n\n{_by_people(summary)}"] if summary.references_by_people else []),
        f"## Sources and licences\n\n{_sources(summary)}",
        f"## Personal data replaced\n\n{_scrubbed(summary)}",
        f"## Dropped\n\n{_dropped(summary)}",
        f"## Files\n\n{_files(summary, folder)}",
    ]
    return "\n\n".join(sections) + "\n"


def _rows_by_task(summary: DatasetSummary) -> str:
    there = {task: sizes for task, sizes in summary.tasks.items() if any(sizes.values())}
    rows = [(task, *(sizes[split] for split in SPLITS)) for task, sizes in there.items()]
    return _table(("task", *SPLITS), [*rows, ("all", *summary.rows.values())])


def _by_people(summary: DatasetSummary) -> str:
    rows = [(task, splits["validation"], splits["test"]) for task, splits in summary.references_by_people.items()]
    return f"Rows whose reference people gave or completed.\n\n{_table(('task', 'validation', 'test'), rows)}"


def _sources(summary: DatasetSummary) -> str:
    rows: list[tuple[Any, ...]] = [
        (name, count, LICENCES.get(name, UNSTATED)) for name, count in summary.sources.items()
    ]
    if general := summary.general:
        rows.append((f"{general.name} (`general`: for the warm start only)", general.rows, general.licence))
    sources = _table(("source", "rows", "licence"), rows)
    return f"{sources}\n\n{_general(general)}" if general else sources


def _general(general: GeneralSummary) -> str:
    replaced = ", ".join(f"`[{kind}]` {count}" for kind, count in general.scrubbed.items()) or "none"
    repeated = f", and repeat to fill {general.rows} rows" if general.rows > general.drawn else ""
    return (
        f"Of {general.read} general instructions {general.drawn} were drawn{repeated}. "
        f"{general.too_long} were too long, "
        f"{general.held_out} had a prompt of validation or test in them, and {general.copies} repeated one "
        f"that was drawn. Personal data replaced in those drawn: {replaced}."
    )


def _scrubbed(summary: DatasetSummary) -> str:
    counts = [(f"`[{kind}]`", count) for kind, count in summary.scrubbed.items() if count]
    return _table(("placeholder", "replacements"), counts) if counts else "None was found."


def _dropped(summary: DatasetSummary) -> str:
    if not summary.quarantined:
        return "Nothing."
    rows = [(reason, sum(tasks.values()), _counts(tasks)) for reason, tasks in summary.reasons.items() if tasks]
    kept = "Kept in `quarantine.parquet`, each with its row in the input, its reason and a sentence.\n\n"
    return kept + _table(("reason", "rows", "by task"), rows)


def _counts(tasks: Mapping[str, int]) -> str:
    return ", ".join(f"{task} {count}" for task, count in tasks.items())


def _files(summary: DatasetSummary, folder: Path) -> str:
    files = [*(split_file(folder, split) for split in SPLITS), folder / QUARANTINE_FILE]
    if summary.general:
        files.append(folder / GENERAL_FILE)
    return _table(("file", "sha256"), [(file.relative_to(folder), file_sha256(file)) for file in files])


def _table(header: tuple[str, ...], rows: list[tuple[Any, ...]]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
