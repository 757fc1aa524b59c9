"""Recall and false alarms of the scrubbing of personal data.

10,000 documents are made from a seed (`benchmarks/scrub/documents.py`): sentences of shoppers with planted values of
each kind in the spellings that Brazilians use, next to numbers that must stay. The figures are not blind: generator and
detectors are by the same author, the generator first, and the detectors were fixed until they found what it plants.
They say less about texts that others would type than `tests/tasks/personal_data/personal_lines.toml` did at first.

Limits, and why:

- recall 99.5 % by kind: of a planted value no digit, no local part and no secret may be left, and the placeholder of
  its own kind must be there. A bare number that is valid as two kinds is planted only next to a word for its kind;
- everything around a planted value stays as it is, and no decoy is touched: at most 1 document in 1,000;
- in Olist's reviews at most 1 false alarm in 1,000. No key says which replacement is false: each is printed masked,
  and those that a person has read and found right are `READ_AND_RIGHT`; all others count as alarms;
- of the prompts of a simulated store, distinct ones, none is changed.
"""

import random
import re
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from pathlib import Path
from typing import Final

from benchmarks.harness import Report, add_olist, run_benchmark
from benchmarks.prompts import make_prompts
from benchmarks.scrub.documents import PLANTED_OF_A_KIND, Document, documents
from schemas.store.files import read_store
from schemas.tables.prompts import read_prompt_table
from tasks.personal_data.scrub import KINDS, Kind, scrub
from tasks.personal_data.scrub_table import TEXTS, scrub_prompts

SEED: Final = 1
LEAST_RECALL: Final = 0.995
MOST_FALSE_ALARMS: Final = 0.001
MIX: Final = "extraction=1,sql_qa=1,insights=1,push=1,sentiment=1,churn=1"
PROMPTS_MADE: Final = 6_000
# fmt: off
READ_AND_RIGHT: Final[frozenset[tuple[int, Kind]]] = frozenset({
    (395, "CEP"), (395, "TELEFONE"), (433, "CEP"), (929, "TELEFONE"), (1545, "CEP"), (2693, "EMAIL"), (2713, "CEP"),
    (3096, "TELEFONE"), (3096, "CEP"), (3199, "CEP"), (4456, "TELEFONE"), (4544, "CPF"), (4631, "EMAIL"),
    (5233, "TELEFONE"), (5252, "TELEFONE"), (5252, "CEP"),
})
# fmt: on
"""Rows of Olist's sample in `../shared/olist` and their personal data, each read in its review."""
PLACEHOLDER: Final = re.compile(rf"\[({'|'.join(KINDS)})\]")


def rest_of(document: Document, scrubbed: str) -> str | None:
    """Return the text in the value's place; None where the text around it was touched."""
    if not scrubbed.startswith(document.before) or not scrubbed.endswith(document.after):
        return None
    return scrubbed[len(document.before) : len(scrubbed) - len(document.after)]


def is_gone(document: Document, rest: str) -> bool:
    """Return whether a placeholder is there and nothing of the value is left that would identify a person."""
    left, placeholders = PLACEHOLDER.subn("", rest)
    if document.kind in {"EMAIL", "URL"}:
        return placeholders > 0 and set(re.findall(r"[^\W_]{2,}", left)) <= {"mailto", "MAILTO"}
    return placeholders > 0 and not any(map(str.isdigit, left))


def measure_documents(report: Report) -> None:
    """Print recall by kind and other changes."""
    made = documents(random.Random(SEED))
    gone, named, missed = Counter[Kind](), Counter[Kind](), Counter[str]()
    alarms = Counter[str]()
    for document in made:
        text = document.before + document.value + document.after
        scrubbed, _ = scrub(text)
        rest = rest_of(document, scrubbed)
        if document.kind is None or rest is None:
            alarms[document.spelling if document.kind is None else f"beside {document.kind}"] += scrubbed != text
        if document.kind is None:
            continue
        is_found = rest is not None and is_gone(document, rest)
        is_named = is_found and set(PLACEHOLDER.findall(rest or "")) == {document.kind}
        gone[document.kind] += is_found
        named[document.kind] += is_named
        missed[f"{document.kind} {document.spelling}"] += not is_named
    shares = {kind: (gone[kind] / PLANTED_OF_A_KIND, named[kind] / PLANTED_OF_A_KIND) for kind in KINDS}
    report.table(
        f"{len(made):,} documents",
        ("kind", "planted", "gone", "gone, and its kind stays"),
        [(kind, f"{PLANTED_OF_A_KIND:,}", *(f"{share:.2%}" for share in shares[kind])) for kind in KINDS],
    )
    for spelling, count in (+missed).most_common(20):
        report.line(f"not found, or taken for another kind: {spelling} ({count})")
    report.line(f"touched besides: {alarms.total()} of {len(made):,} documents {dict(+alarms)}")
    for kind in KINDS:
        report.limit(named[kind] >= LEAST_RECALL * PLANTED_OF_A_KIND, f"{kind}: recall")
    report.limit(alarms.total() <= MOST_FALSE_ALARMS * len(made), "false alarms")


def measure_reviews(report: Report, folder: Path) -> None:
    """Count the replacements in the reviews, and print each on stderr, masked: they are people's own words."""
    reviews = read_store(folder).reviews.select("review_comment_title", "review_comment_message")
    counts, left = Counter[Kind](), Counter[tuple[int, Kind]](READ_AND_RIGHT)
    written = beyond = 0
    for row, texts in enumerate(reviews.iter_rows()):
        written += any(texts)
        for text in filter(None, texts):
            scrubbed, found = scrub(text)
            counts += found
            for kind in found.elements():
                beyond += left[row, kind] == 0
                left[row, kind] = 0
            if found:
                _print_replaced(row, text, scrubbed)
    report.line(f"reviews with a text: {written:,}; replaced: {dict(counts)}; not read and found right: {beyond}")
    report.limit(beyond <= MOST_FALSE_ALARMS * written, "false alarms in reviews")


def _print_replaced(row: int, text: str, scrubbed: str) -> None:
    """Print the replacements in a text, digits as 9 and a value's letters as A."""
    parts = PLACEHOLDER.split(scrubbed)
    kinds, kept = parts[1::2], parts[::2]
    place = 0
    for number, kind in enumerate(kinds):
        before, after = kept[number], kept[number + 1]
        start = place + len(before)
        place = text.index(after, start + 1) if number + 1 < len(kinds) else len(text) - len(after)
        shape = re.sub(r"[^\W\d_]", "A", re.sub(r"\d", "9", text[start:place]))
        around = (re.sub(r"\s", " ", re.sub(r"\d", "9", side)) for side in (before[-20:], after[:20]))
        print(f"{kind:9}row {row:5}  {shape:22} {' [...] '.join(around)}", file=sys.stderr)


def measure_prompts(report: Report) -> None:
    """Scrub the prompts of a simulated store."""
    with tempfile.TemporaryDirectory() as folder:
        make_prompts(PROMPTS_MADE, MIX, Path(folder))
        made = read_prompt_table(Path(folder) / "prompts.parquet")
    started = time.process_time()
    renamed = len(scrub_prompts(made).renamed)
    seconds = time.process_time() - started
    texts = [text for column in TEXTS for text in made[column]]
    changed = sum(bool(scrub(text)[1]) for text in texts)
    report.line(f"{made.height:,} distinct prompts: {seconds:.2f} CPU s as a table; changed: {renamed}")
    report.line(f"changed of their {len(texts):,} texts, each read closely: {changed}")
    report.limit(not renamed + changed, "a prompt changed")


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    add_olist(parser)


def measure(report: Report, options: Namespace) -> None:
    """Measure what is found of planted and of real personal data."""
    measure_documents(report)
    measure_reviews(report, options.olist)
    measure_prompts(report)


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
