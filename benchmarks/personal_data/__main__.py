"""Removal of personal data from texts that somebody wrote apart from the detectors.

The texts are in `texts.jsonl`, `unseen.jsonl` and `unseen_second.jsonl` of `benchmarks/personal_data`, as Brazilian
customers type them into reviews, chats and complaints; each file has a table of its own.
`benchmarks/personal_data/removal.py` says when a value counts as removed, by whatever placeholder.

Limits:

- 95 % of the values of each kind are removed, apart from names and street addresses, of which docs/data.md promises
  nothing;
- at most 1 of 1,000 harmless texts is changed, so none of the committed ones; with `--reviews` at most 1 of 1,000
  reviews of Olist, too. Reviews in which people did write personal data are named with `--right` once somebody has
  read what was changed, and no longer count. The rows of all others that were changed are printed, not their texts.
"""

import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.harness import Report, run_benchmark
from benchmarks.personal_data.removal import is_removed
from benchmarks.personal_data.texts import KINDS, TEXTS_FILE, UNSEEN_FILES, Kind, PlantedText, read_texts
from schemas.store.faults import FIRST_ROW
from schemas.store.files import read_table
from tasks.personal_data.scrub import scrub

LEAST_REMOVED: Final = 0.95
MOST_CHANGED: Final = 0.001
NOT_PROMISED: Final[frozenset[Kind]] = frozenset({"address", "name"})


def measure_values(report: Report, texts: Sequence[PlantedText]) -> None:
    """Print by kind how many of the planted values are removed."""
    planted, removed = Counter[Kind](), Counter[Kind]()
    for text in texts:
        scrubbed, _ = scrub(text.text)
        for value in text.values:
            planted[value.kind] += 1
            removed[value.kind] += is_removed(text.text, value.value, scrubbed)
    rows = [(kind, planted[kind], removed[kind], removed[kind] / planted[kind]) for kind in KINDS if planted[kind]]
    total = (planted.total(), removed.total(), removed.total() / planted.total())
    columns = {"kind": "", "planted": ",d", "removed": ",d", "share": ".1%"}
    report.table(f"{planted.total():,} values in {len(texts):,} texts", columns, [*rows, None, ("all", *total)])
    for kind, number, gone, share in rows:
        miss = f"{kind}: {gone} of {number} removed, limit {LEAST_REMOVED:.0%}"
        report.limit(kind in NOT_PROMISED or share >= LEAST_REMOVED, miss)


def measure_harmless(report: Report, texts: Sequence[PlantedText]) -> None:
    """Count the harmless texts that are changed."""
    changed = sum(scrub(text.text)[0] != text.text for text in texts)
    _report_changed(report, "harmless texts", changed, len(texts))


def measure_reviews(report: Report, file: Path, right: frozenset[int]) -> None:
    """Count the changed reviews of a CSV file in Olist's form, apart from the rows that were read and found right."""
    reviews = read_table(file, "reviews").select("review_comment_title", "review_comment_message")
    written = {row: list(filter(None, texts)) for row, texts in enumerate(reviews.iter_rows(), FIRST_ROW) if any(texts)}
    changed = [row for row, texts in written.items() if any(scrub(text)[0] != text for text in texts)]
    wrong = [row for row in changed if row not in right]
    _report_changed(report, "harmless reviews", len(wrong), len(written.keys() - right))
    if wrong:
        report.line(f"their rows, to be read: {','.join(map(str, wrong))}")


def _report_changed(report: Report, name: str, changed: int, number: int) -> None:
    report.line(f"{name} changed: {changed:,} of {number:,}")
    report.limit(changed <= MOST_CHANGED * number, f"{name}: {changed:,} of {number:,} changed, limit 1 of 1,000")


def row_numbers(text: str) -> frozenset[int]:
    """Return the numbers of a list such as "12,408"."""
    return frozenset(map(int, text.split(",")))


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--reviews", type=Path, metavar="CSV", help="Olist's reviews, as Kaggle ships them")
    parser.add_argument(
        "--right",
        type=row_numbers,
        default=frozenset[int](),
        metavar="ROWS",
        help="rows of that file, as a spreadsheet counts them, whose change was read and found right: 12,408",
    )


def measure(report: Report, options: Namespace) -> None:
    """Measure what is removed of planted values, and what is changed of harmless texts."""
    for file in (TEXTS_FILE, *UNSEEN_FILES):
        report.line(f"{file.name}:")
        texts = read_texts(file)
        measure_values(report, [text for text in texts if text.values])
        measure_harmless(report, [text for text in texts if not text.values])
    if options.reviews is not None:
        measure_reviews(report, options.reviews, options.right)


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
