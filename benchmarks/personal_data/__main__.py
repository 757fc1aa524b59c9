"""Removal of personal data from texts that somebody wrote apart from the patterns.

The texts are in `texts.jsonl`, `unseen.jsonl` and `unseen_second.jsonl` of `benchmarks/personal_data`, as Brazilian
customers type them into reviews, chats and complaints; each file has a table of its own.
`benchmarks/personal_data/removal.py` says when a value counts as removed, by whatever placeholder.

Limits:

- 97 % of the values of a file are removed, and 95 % of each kind, apart from names and street addresses, of which
  docs/data.md promises little;
- prices, quantities, days and stars of the harmless texts stay; their order numbers may go;
- with `--reviews` at most 5 % of the reviews of Olist that have a text are changed.
"""

import re
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.harness import Report, run_benchmark
from benchmarks.personal_data.removal import is_removed
from benchmarks.personal_data.texts import KINDS, TEXTS_FILE, UNSEEN_FILES, Kind, PlantedText, read_texts
from schemas.store.files import read_table
from tasks.personal_data.scrub import scrub

LEAST_REMOVED: Final = 0.97
LEAST_OF_A_KIND: Final = 0.95
MOST_CHANGED: Final = 0.05
NOT_PROMISED: Final[frozenset[Kind]] = frozenset({"address", "name"})
STAYS: Final = re.compile(
    r"R\$ ?\d[\d.]*(?:,\d\d)?(?!\d)|\b\d{1,3} ?(?:(?:unidades|dias|estrelas|reais|vezes)\b|%)", re.IGNORECASE
)


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
        miss = f"{kind}: {gone} of {number} removed, limit {LEAST_OF_A_KIND:.0%}"
        report.limit(kind in NOT_PROMISED or share >= LEAST_OF_A_KIND, miss)
    promised = [(number, gone) for kind, number, gone, _ in rows if kind not in NOT_PROMISED]
    number, gone = sum(number for number, _ in promised), sum(gone for _, gone in promised)
    report.limit(gone >= LEAST_REMOVED * number, f"promised: {gone} of {number} removed, limit {LEAST_REMOVED:.0%}")


def measure_harmless(report: Report, texts: Sequence[PlantedText]) -> None:
    """Count the harmless texts that are changed, and what of their prices and quantities is lost."""
    scrubbed = [scrub(text.text)[0] for text in texts]
    changed = sum(after != text.text for text, after in zip(texts, scrubbed, strict=True))
    report.line(f"harmless texts changed: {changed:,} of {len(texts):,}")
    stays = [STAYS.findall(text.text) for text in texts]
    lost = sum(found != STAYS.findall(after) for found, after in zip(stays, scrubbed, strict=True))
    report.line(f"harmless texts that lost a price or quantity: {lost:,} of {sum(map(bool, stays)):,}")
    report.limit(not lost, f"harmless texts: {lost:,} lost a price or quantity, limit 0")


def measure_reviews(report: Report, file: Path) -> None:
    """Count the changed reviews of a CSV file in Olist's form among those with a text."""
    reviews = read_table(file, "reviews").select("review_comment_title", "review_comment_message")
    written = [list(filter(None, texts)) for texts in reviews.iter_rows() if any(texts)]
    changed = sum(any(scrub(text)[0] != text for text in texts) for texts in written)
    report.line(f"reviews changed: {changed:,} of {len(written):,}")
    limit = f"reviews: {changed:,} of {len(written):,} changed, limit {MOST_CHANGED:.0%}"
    report.limit(changed <= MOST_CHANGED * len(written), limit)


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--reviews", type=Path, metavar="CSV", help="Olist's reviews, as Kaggle ships them")


def measure(report: Report, options: Namespace) -> None:
    """Measure what is removed of planted values, and what is changed of harmless texts."""
    for file in (TEXTS_FILE, *UNSEEN_FILES):
        report.line(f"{file.name}:")
        texts = read_texts(file)
        measure_values(report, [text for text in texts if text.values])
        measure_harmless(report, [text for text in texts if not text.values])
    if options.reviews is not None:
        measure_reviews(report, options.reviews)


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
