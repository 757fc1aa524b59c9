"""Curation: time and memory for a million prompts, recall of near-duplicates, and wrongly dropped prompts.

Limits: 1,000,000 synthetic prompts in under 150 seconds (without making them) and under 3 GB of resident memory, all
processes together; of planted near-duplicates (case, accents, punctuation, one word changed) at least 95 % found of
each kind; of distinct prompts under 0.5 % wrongly dropped.
"""

import json
import random
import re
import shutil
import sys
import unicodedata
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Final

import polars as pl

from benchmarks.harness import Report, run_benchmark
from benchmarks.processes import Watched, watch
from schemas.config.config import SynthesizeConfig
from schemas.progress import silent
from schemas.tables.prompts import PromptRow, content_id, read_prompts, write_prompt_table
from schemas.tasks import TASK_NAMES
from tasks.synthesize import stage as synthesize
from tasks.synthesize.stage import read_mix, split_count

FOLDER: Final = Path(".tucano") / "benchmark-curate"
MIX: Final = "extraction=40,sql_qa=40,insights=10,push=10"  # Shares of the tasks in the V4.2 report.
SEED: Final = 1
PLANTED: Final = 5_000
SETTINGS: Final = ("workers=2", "held_out_share=0.05", "test_per_task=5", "validation_per_task=5")
MAX_SECONDS: Final = 150.0
MAX_GIGABYTES: Final = 3.0
MIN_FOUND: Final = 0.95
MAX_WRONG: Final = 0.005
SAME_LINE: Final = 0.75
"""Share of a line's characters above which a reader takes two lines as the same."""
COPIES: Final = ("duplicate", "near-duplicate")


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--small", type=int, default=24_000, help="prompts among which copies are planted")
    parser.add_argument("--big", type=int, default=1_000_000, help="prompts of the large run; 0 leaves it out")


def measure(report: Report, options: Namespace) -> None:
    """Curate prompts with planted near-duplicates, then many prompts."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    _make_prompts(options.small, ",".join(f"{task}=1" for task in TASK_NAMES), FOLDER / "small")
    _planted(report)
    if options.big:
        _make_prompts(options.big, MIX, FOLDER / "big")
        child = _curate("big", "big-dataset")
        seconds, gigabytes = json.loads(child.output)["seconds"], child.peak_gigabytes
        report.line(
            f"{options.big:,} prompts take {seconds:.1f} s, limit {MAX_SECONDS:g}, and {gigabytes:.2f} GB, limit "
            f"{MAX_GIGABYTES:g}; {options.big / seconds:,.0f} a second."
        )
        report.limit(seconds < MAX_SECONDS, f"{options.big:,} prompts in {seconds:.0f} s, limit {MAX_SECONDS:g}")
        used = f"{options.big:,} prompts in {gigabytes:.2f} GB, limit {MAX_GIGABYTES:g}"
        report.limit(gigabytes < MAX_GIGABYTES, used)
    shutil.rmtree(FOLDER, ignore_errors=True)


def _make_prompts(count: int, mix: str, output: Path) -> None:
    output.mkdir(parents=True, exist_ok=True)
    synthesize.run(SynthesizeConfig(counts=split_count(count, read_mix(mix))), SEED, output, silent)


def _curate(prompts: str, output: str) -> Watched:
    settings = [part for setting in SETTINGS for part in ("--set", f"curate.{setting}")]
    command = ["flows", "curate", str(FOLDER / prompts), "--out", str(FOLDER / output), "--json", *settings]
    return watch(*command, every=0.5)


# Planted near-duplicates: copies and judge are written without the project's own words, hashes and definitions.


def _planted(report: Report) -> None:
    generator = random.Random(SEED)
    rows = read_prompts(FOLDER / "small" / "prompts.parquet")
    _curate("small", "before")
    natural = _copies(FOLDER / "before")
    distinct = [row for row in rows if row.prompt_id not in natural]
    words = sorted({word for row in distinct for word in re.findall(r"[^\W\d_]{3,}", row.prompt.lower())})
    pairs = {}
    for number, row in enumerate(generator.sample(distinct, min(PLANTED, len(distinct)))):
        kind = list(CHANGES)[number % len(CHANGES)]
        copy = _copy(row, CHANGES[kind](row.prompt, words, generator), number)
        if copy.prompt != row.prompt:
            pairs[copy.prompt_id] = (kind, row.prompt_id, copy)
    (FOLDER / "planted").mkdir()
    copies = (copy for _, _, copy in pairs.values())
    write_prompt_table(FOLDER / "planted" / "prompts.parquet", [*rows, *copies])
    _curate("planted", "after")
    after = _copies(FOLDER / "after")
    planted, found = Counter(kind for kind, _, _ in pairs.values()), Counter[str]()
    for copy_id, (kind, original_id, _) in pairs.items():
        # One is dropped for the other, or both for the same third.
        found[kind] += after.get(copy_id, copy_id) == after.get(original_id, original_id)
    table_rows = [(kind, count, found[kind], found[kind] / count) for kind, count in planted.items()]
    columns = {"kind": "", "planted": ",", "found": ",", "share": ".2%"}
    report.table(f"Near-duplicates planted among {len(rows):,} prompts of six tasks", columns, table_rows)
    for kind, _, _, share in table_rows:
        miss = f"{share:.2%} of {kind} found, limit {MIN_FOUND:.0%}"
        report.limit(share >= MIN_FOUND, miss)
    by_id = {row.prompt_id: row for row in rows}
    wrong = sum(_tell_apart(by_id[one], by_id[other]) for one, other in natural.items())
    report.line(
        f"The prompts had {len(natural):,} copies of themselves ({len(natural) / len(rows):.2%}); a reader would tell "
        f"{wrong:,} of them apart ({wrong / len(rows):.3%}).\n"
    )
    report.limit(wrong <= MAX_WRONG * len(rows), f"{wrong / len(rows):.2%} wrongly dropped, limit {MAX_WRONG:.1%}")


def _copy(row: PromptRow, text: str, number: int) -> PromptRow:
    """Return the row with another text and, sometimes, a reference that knows less."""
    reference = dict(row.reference)
    if row.task == "extraction" and number % 3 == 0:
        reference["fields"] = dict(list(reference["fields"].items())[::2])
    return replace(row, prompt_id=content_id(row.task, row.system, text, reference), prompt=text, reference=reference)


def _copies(dataset: Path) -> dict[str, str]:
    """Return the id for which each dropped copy was dropped, by the copy's id."""
    copies = pl.read_parquet(dataset / "quarantine.parquet").filter(pl.col("reason").is_in(COPIES))
    return {
        prompt_id: detail.rsplit(" ", 1)[1] for prompt_id, detail in copies.select("prompt_id", "detail").iter_rows()
    }


def _tell_apart(one: PromptRow, other: PromptRow) -> bool:
    """Return whether two prompts are distinct, by characters and line by line: some line, or the answer, differs."""
    if one.task != other.task or one.reference != other.reference:
        return True
    lines, others = (re.sub(r"[^\w\s]+", "", _no_accents(row.prompt).lower()).splitlines() for row in (one, other))
    if len(lines) != len(others):
        return True
    return any(
        SequenceMatcher(None, line, other_line, autojunk=False).ratio() < SAME_LINE
        for line, other_line in zip(lines, others, strict=True)
    )


def _other_case(text: str, _: list[str], generator: random.Random) -> str:
    return generator.choice((str.upper, str.lower, str.title, str.swapcase))(text)


def _no_accents(text: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))


def _other_punctuation(text: str, _: list[str], generator: random.Random) -> str:
    spaced = re.sub(r"(?<![0-9])[.,:;!?](?![0-9])", lambda _: generator.choice((" ", " -", "...", "!!")), text)
    spaced = spaced.replace("%", " %").replace("R$ ", "R$")
    return f"{generator.choice(('', '— ', '> '))}{spaced}{generator.choice(('', '!', ' ...', ' :)'))}"


def _one_word(text: str, words: list[str], generator: random.Random) -> str:
    places = [match.span() for match in re.finditer(r"[^\W\d_]+", text)]
    start, end = generator.choice(places)
    return text[:start] + generator.choice(words) + text[end:]


CHANGES: dict[str, Callable[[str, list[str], random.Random], str]] = {
    "case": _other_case,
    "accents": lambda text, _, __: _no_accents(text),
    "punctuation": _other_punctuation,
    "one word changed": _one_word,
}


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
