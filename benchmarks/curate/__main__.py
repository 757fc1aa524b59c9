"""Curation: time and memory for a million prompts, recall of near-duplicates, and wrongly dropped prompts.

Limits: 1,000,000 synthetic prompts in under 150 seconds (without making them) and under 3 GB of resident memory, all
processes together; of planted near-duplicates (case, accents, punctuation, one word changed) at least 95 % found of
each kind; of distinct prompts under 0.5 % wrongly dropped; the same bytes on one worker and on four.
"""

import argparse
import hashlib
import json
import random
import re
import shutil
import subprocess
import sys
import time
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from pathlib import Path

import polars as pl
import psutil
from rich.console import Console
from rich.table import Table

from schemas.tables.prompts import PromptRow, content_id, open_prompt_table, read_prompts
from schemas.tasks import TASK_NAMES

FOLDER = Path(".tucano") / "benchmark-curate"
MIX = "extraction=40,sql_qa=40,insights=10,push=10"
SMALL_COUNT = 24_000
PLANTED = 5_000
SMALL_SHARD = 5_000
"""Small, so that each of four workers has something to do."""
WORKERS = (1, 4)
MAX_SECONDS = 150.0
MAX_GIGABYTES = 3.0
MIN_FOUND = 0.95
MAX_WRONG = 0.005
HELD_OUT_SHARE = 0.05
SAME_LINE = 0.75
"""Share of a line's characters above which a reader takes two lines as the same."""
OTHER_CUSTOMER = "one word changed, by another customer"
"""Without a limit: two short reviews of different people are two reviews, and are meant to stay."""
COPIES = ("duplicate", "near-duplicate")
SECONDS_BETWEEN_SAMPLES = 0.1


@dataclass(frozen=True)
class Run:
    """One curation, in a process of its own with its workers."""

    prompts: int
    workers: int
    seconds: float
    peak_gigabytes: float
    """Peak of the resident memory of all its processes together, libraries included."""
    kept: int
    sha256: str
    """Digest of every file of the dataset."""


def main() -> int:
    """Run the benchmark; the exit code says whether every limit was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--big", type=int, default=1_000_000, help="prompts of the large run; 0 leaves it out")
    parser.add_argument("--make", nargs=3, metavar=("COUNT", "MIX", "OUT"), help=argparse.SUPPRESS)
    parser.add_argument("--curate", nargs=3, metavar=("PROMPTS", "OUT", "WORKERS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.make is not None:
        return _make(int(arguments.make[0]), arguments.make[1], Path(arguments.make[2]))
    if arguments.curate is not None:
        return _curate(Path(arguments.curate[0]), Path(arguments.curate[1]), int(arguments.curate[2]))
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    _in_child("--make", str(SMALL_COUNT), ",".join(f"{task}=1" for task in TASK_NAMES), str(FOLDER / "small"))
    misses = _planted()
    runs = [_run(FOLDER / "planted", FOLDER / f"workers-{workers}", workers) for workers in WORKERS]
    if arguments.big:
        _in_child("--make", str(arguments.big), MIX, str(FOLDER / "big"))
        runs.append(_run(FOLDER / "big", FOLDER / "big-dataset", 2))
    _print_runs(runs)
    misses += _missed_by(runs, arguments.big)
    shutil.rmtree(FOLDER, ignore_errors=True)
    for miss in misses:
        print(f"MISSED: {miss}")
    return 1 if misses else 0


def _make(count: int, mix: str, output: Path) -> int:
    from schemas.config.config import SynthesizeConfig
    from schemas.progress import silent
    from tasks.synthesize import stage
    from tasks.synthesize.mix import read_mix, split_count

    output.mkdir()
    stage.run(SynthesizeConfig(counts=split_count(count, read_mix(mix))), 1, output, silent, FOLDER / "state")
    return 0


def _curate(prompts: Path, output: Path, workers: int) -> int:
    """Curate as `tucano curate` does, and print the time without imports."""
    from schemas.config.config import CurateConfig
    from schemas.config.policy import PolicyConfig
    from schemas.progress import silent
    from tasks.curate import stage
    from tasks.curate.processes import in_processes

    output.mkdir()
    rows = pl.scan_parquet(prompts / "prompts.parquet").select(pl.len()).collect().item()
    shard_rows = SMALL_SHARD if rows < 2 * SMALL_COUNT else CurateConfig().shard_rows
    config = CurateConfig(held_out_share=HELD_OUT_SHARE, max_prompt_tokens=1536, shard_rows=shard_rows)
    started = time.perf_counter()
    summary = stage.run(config, PolicyConfig(stand_in=True), prompts, output, silent, in_processes(workers))
    seconds = time.perf_counter() - started
    kept = sum(summary[split] for split in ("train", "validation", "test"))
    print(json.dumps({"prompts": kept + summary["quarantined"], "kept": kept, "seconds": seconds}))
    return 0


def _in_child(*arguments: str) -> tuple[str, float]:
    """Run this file in a process of its own; returns what it printed and its peak memory in gigabytes."""
    child = psutil.Popen([sys.executable, "-m", "benchmarks.curate", *arguments], stdout=subprocess.PIPE, text=True)
    peak = 0
    while child.poll() is None:
        peak = max(peak, sum(_resident(process) for process in [child, *_children(child)]))
        time.sleep(SECONDS_BETWEEN_SAMPLES)
    output, _ = child.communicate()
    if child.returncode:
        raise SystemExit(f"{' '.join(arguments)}: the process ended with exit code {child.returncode}")
    return output, peak / 1e9


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _resident(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0


def _run(prompts: Path, output: Path, workers: int) -> Run:
    printed, peak = _in_child("--curate", str(prompts), str(output), str(workers))
    digest = hashlib.sha256()
    for path in sorted(path for path in output.rglob("*") if path.is_file()):
        digest.update(f"{path.relative_to(output)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return Run(workers=workers, peak_gigabytes=peak, sha256=digest.hexdigest(), **json.loads(printed))


# Planted near-duplicates: copies and judge are written without the project's own words, hashes and definitions.


def _planted() -> list[str]:
    generator = random.Random(1)
    rows = read_prompts(FOLDER / "small" / "prompts.parquet")
    before = _run(FOLDER / "small", FOLDER / "before", 2)
    natural = _copies(FOLDER / "before")
    distinct = [row for row in rows if row.prompt_id not in natural]
    words = sorted({word for row in distinct for word in re.findall(r"[^\W\d_]{3,}", row.prompt.lower())})
    pairs = {}
    for number, row in enumerate(generator.sample(distinct, PLANTED)):
        kind = list(CHANGES)[number % len(CHANGES)]
        copy = _copy(row, CHANGES[kind](row.prompt, words, generator), number, stranger=kind == OTHER_CUSTOMER)
        if copy.prompt != row.prompt:
            pairs[copy.prompt_id] = (kind, row.prompt_id, copy)
    (FOLDER / "planted").mkdir()
    with open_prompt_table(FOLDER / "planted" / "prompts.parquet") as table:
        for row in [*rows, *(copy for _, _, copy in pairs.values())]:
            table.add(row)
    _run(FOLDER / "planted", FOLDER / "after", 2)
    after = _copies(FOLDER / "after")
    planted, found = Counter(kind for kind, _, _ in pairs.values()), Counter[str]()
    for copy_id, (kind, original_id, _) in pairs.items():
        # One is dropped for the other, or both for the same third.
        found[kind] += after.get(copy_id, copy_id) == after.get(original_id, original_id)
    by_id = {row.prompt_id: row for row in rows}
    wrong = [(one, other) for one, other in natural.items() if _tell_apart(by_id[one], by_id[other])]
    return _judge(planted, found, len(wrong), len(rows), len(natural), before.prompts)


def _judge(planted: Counter[str], found: Counter[str], wrong: int, rows: int, natural: int, prompts: int) -> list[str]:
    table = Table(title=f"Near-duplicates planted among {prompts:,} prompts of six tasks", title_justify="left")
    for name in ("kind", "planted", "found", "share"):
        table.add_column(name, justify="left" if name == "kind" else "right")
    for kind, count in planted.items():
        table.add_row(kind, f"{count:,}", f"{found[kind]:,}", f"{found[kind] / count:.2%}")
    Console(width=100).print(table)
    print(f"copies that the prompts had of themselves: {natural:,} ({natural / rows:.2%})")
    print(f"of these, what a reader would tell apart: {wrong:,} ({wrong / rows:.3%})")
    misses = [
        f"{found[kind] / count:.2%} of {kind} found, limit {MIN_FOUND:.0%}"
        for kind, count in planted.items()
        if found[kind] < MIN_FOUND * count and kind != OTHER_CUSTOMER
    ]
    if wrong > MAX_WRONG * rows:
        misses.append(f"{wrong / rows:.2%} wrongly dropped, limit {MAX_WRONG:.1%}")
    return misses


def _copy(row: PromptRow, text: str, number: int, *, stranger: bool) -> PromptRow:
    """Return the row with another text and, sometimes, a reference that knows less; or a row of another customer."""
    reference = dict(row.reference)
    if row.task == "extraction" and number % 3 == 0:
        reference["fields"] = dict(list(reference["fields"].items())[::2])
    identity = content_id(row.task, row.system, text, reference)
    copy = replace(row, prompt_id=identity, prompt=text, reference=reference)
    if not stranger:
        return copy
    customer, order, review = (known and f"copy-{number}" for known in (row.customer_id, row.order_id, row.review_id))
    return replace(copy, customer_id=customer, order_id=order, review_id=review)


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
    lines, others = (_plain(row.prompt).splitlines() for row in (one, other))
    if len(lines) != len(others):
        return True
    return any(
        SequenceMatcher(None, line, other_line, autojunk=False).ratio() < SAME_LINE
        for line, other_line in zip(lines, others, strict=True)
    )


def _plain(text: str) -> str:
    letters = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    return re.sub(r"[^\w\s]+", "", letters.lower())


Change = Callable[[str, list[str], random.Random], str]


def _other_case(text: str, _: list[str], generator: random.Random) -> str:
    return generator.choice((str.upper, str.lower, str.title, str.swapcase))(text)


def _no_accents(text: str, _: list[str], __: random.Random) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))


def _other_punctuation(text: str, _: list[str], generator: random.Random) -> str:
    spaced = re.sub(r"(?<![0-9])[.,:;!?](?![0-9])", lambda _: generator.choice((" ", " -", "...", "!!")), text)
    spaced = spaced.replace("%", " %").replace("R$ ", "R$")
    return f"{generator.choice(('', '— ', '> '))}{spaced}{generator.choice(('', '!', ' ...', ' :)'))}"


def _one_word(text: str, words: list[str], generator: random.Random) -> str:
    places = [match.span() for match in re.finditer(r"[^\W\d_]+", text)]
    start, end = generator.choice(places)
    return text[:start] + generator.choice(words) + text[end:]


CHANGES: dict[str, Change] = {
    "case": _other_case,
    "accents": _no_accents,
    "punctuation": _other_punctuation,
    "one word changed": _one_word,
    OTHER_CUSTOMER: _one_word,
}


def _print_runs(runs: list[Run]) -> None:
    table = Table(title="Curation", title_justify="left")
    for name in ("prompts", "workers", "seconds", "prompts/s", "peak GB", "kept", "sha256"):
        table.add_column(name, justify="right")
    for run in runs:
        figures = (f"{run.prompts:,}", str(run.workers), f"{run.seconds:.1f}", f"{run.prompts / run.seconds:,.0f}")
        table.add_row(*figures, f"{run.peak_gigabytes:.2f}", f"{run.kept:,}", run.sha256[:12])
    Console(width=100).print(table)


def _missed_by(runs: list[Run], big: int) -> list[str]:
    checks = {"the bytes differ between one worker and four": runs[0].sha256 == runs[1].sha256}
    if big:
        large = runs[-1]
        checks[f"{big:,} prompts in {large.seconds:.0f} s, limit {MAX_SECONDS:g}"] = large.seconds < MAX_SECONDS
        used = f"{big:,} prompts in {large.peak_gigabytes:.2f} GB, limit {MAX_GIGABYTES:g}"
        checks[used] = large.peak_gigabytes < MAX_GIGABYTES
    return [what for what, met in checks.items() if not met]


if __name__ == "__main__":
    sys.exit(main())
