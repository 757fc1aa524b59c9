"""Data card: the README.md of a dataset, in the format of Hugging Face's `datasets`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from schemas.digests import file_sha256
from schemas.tables.dataset_summary import DatasetSummary, GeneralSummary
from schemas.tables.instructions import GENERAL_FILE
from schemas.tables.prompts import SPLITS
from tasks.curate.files import QUARANTINE_FILE, split_file

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
    rows = [(task, *(sizes[split] for split in SPLITS)) for task, sizes in summary.tasks.items()]
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
