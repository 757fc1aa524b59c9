"""Removal of personal data from texts that somebody wrote apart from the patterns.

The texts are in `texts.jsonl`, `unseen.jsonl` and `unseen_second.jsonl` of `benchmarks/personal_data`, as Brazilian
customers type them into reviews, chats and complaints; `benchmarks/personal_data/texts.py` says when a value counts as
removed, by whatever placeholder.

Limits: 97 % of the values of a file are removed, and 95 % of each kind, apart from names and street addresses, of which
docs/data.md promises little; prices, quantities, days and stars of the harmless texts stay, their order numbers may go;
of the reviews of Olist's real sample that have a text at most 5 % are changed (left out where the sample is not there).
"""

import re
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.harness import Report, run_benchmark
from benchmarks.personal_data.texts import KINDS, TEXTS_FILE, UNSEEN_FILES, Kind, PlantedText, is_removed, read_texts
from schemas.store.files import read_table
from tasks.personal_data.scrub import scrub

MIN_REMOVED: Final = 0.97
MIN_OF_A_KIND: Final = 0.95
MAX_CHANGED: Final = 0.05
NOT_PROMISED: Final[frozenset[Kind]] = frozenset({"address", "name"})
STAYS: Final = re.compile(
    r"R\$ ?\d[\d.]*(?:,\d\d)?(?!\d)|\b\d{1,3} ?(?:(?:unidades|dias|estrelas|reais|vezes)\b|%)", re.IGNORECASE
)


def count_removed(texts: Sequence[PlantedText]) -> tuple[Counter[Kind], Counter[Kind]]:
    """Return by kind how many values were planted, and how many are removed."""
    planted, removed = Counter[Kind](), Counter[Kind]()
    for text in texts:
        scrubbed, _ = scrub(text.text)
        for value in text.values:
            planted[value.kind] += 1
            removed[value.kind] += is_removed(text.text, value.value, scrubbed)
    return planted, removed


def measure_values(report: Report, files: dict[str, Sequence[PlantedText]]) -> None:
    """Print by kind and file how many of the planted values are removed."""
    counts = {name: count_removed(texts) for name, texts in files.items()}
    rows: list[Sequence[str] | None] = [
        (kind, *(f"{gone[kind]} of {found[kind]}" if found[kind] else "" for found, gone in counts.values()))
        for kind in KINDS
        if any(gone[kind] < found[kind] for found, gone in counts.values())
    ]
    totals = [f"{gone.total() / found.total():.1%}" for found, gone in counts.values()]
    planted = [f"{found.total()} values" for found, _ in counts.values()]
    title = f"Values removed; kinds of which all are removed are left out of the {len(KINDS)}"
    report.table(title, ("kind", *counts), [*rows, None, ("all", *totals), ("of", *planted)])
    for name, (found, gone) in counts.items():
        promised = [kind for kind in found if kind not in NOT_PROMISED]
        for kind in promised:
            miss = f"{name}, {kind}: {gone[kind]} of {found[kind]} removed, limit {MIN_OF_A_KIND:.0%}"
            report.limit(gone[kind] >= MIN_OF_A_KIND * found[kind], miss)
        whole, removed = (sum(counter[kind] for kind in promised) for counter in (found, gone))
        miss = f"{name}, promised: {removed} of {whole} removed, limit {MIN_REMOVED:.0%}"
        report.limit(removed >= MIN_REMOVED * whole, miss)


def measure_harmless(report: Report, files: dict[str, Sequence[PlantedText]]) -> None:
    """Count the harmless texts that are changed, and those of them that lose a price or quantity."""
    rows = []
    for name, texts in files.items():
        scrubbed = [scrub(text.text)[0] for text in texts]
        changed = sum(after != text.text for text, after in zip(texts, scrubbed, strict=True))
        stays = [STAYS.findall(text.text) for text in texts]
        lost = sum(found != STAYS.findall(after) for found, after in zip(stays, scrubbed, strict=True))
        rows.append((name, f"{changed} of {len(texts)}", f"{lost} of {sum(map(bool, stays))}"))
        report.limit(not lost, f"{name}: {lost:,} harmless texts lost a price or quantity, limit 0")
    report.table("Harmless texts", ("file", "changed", "without their price or quantity"), rows)


def measure_reviews(report: Report, file: Path) -> None:
    """Count the changed reviews of a CSV file in Olist's form among those with a text."""
    reviews = read_table(file, "reviews").select("review_comment_title", "review_comment_message")
    written = [list(filter(None, texts)) for texts in reviews.iter_rows() if any(texts)]
    changed = sum(any(scrub(text)[0] != text for text in texts) for texts in written)
    report.line(f"Real reviews changed: {changed:,} of {len(written):,} ({changed / len(written):.1%}).")
    miss = f"real reviews: {changed:,} of {len(written):,} changed, limit {MAX_CHANGED:.0%}"
    report.limit(changed <= MAX_CHANGED * len(written), miss)


def arguments(parser: ArgumentParser) -> None:
    """Add the option."""
    reviews = Path("../shared/olist/olist_order_reviews_dataset.csv")
    parser.add_argument("--reviews", type=Path, metavar="CSV", default=reviews, help="Olist's reviews")


def measure(report: Report, options: Namespace) -> None:
    """Measure what is removed of planted values, and what is changed of harmless texts and real reviews."""
    files = {file.stem: read_texts(file) for file in (TEXTS_FILE, *UNSEEN_FILES)}
    measure_values(report, {name: [text for text in texts if text.values] for name, texts in files.items()})
    measure_harmless(report, {name: [text for text in texts if not text.values] for name, texts in files.items()})
    if options.reviews.is_file():
        measure_reviews(report, options.reviews)
    else:
        report.line(f"Real reviews were not read: there is no {options.reviews.name}; give --reviews.")


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
