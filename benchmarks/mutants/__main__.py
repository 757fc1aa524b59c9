"""Boundary mutants of the reward code, made by cosmic-ray: does the audit object to those that change a score?

For every numeric constant, comparison, condition, enumeration and field of the modules that decide a reward: the number
one more, one less, twice and half; `<` for `<=`; and for or; None for a field; a set without one of its values; several
faults counted as one; a dropped statement. Each mutant is planted in a process of its own, with limits of time and
memory. It counts where it changes any of 20,000 scores of completions (good, altered by the critic, spoiled, crossed,
shipped) by more than .05; a counted one is caught where a probe fails or the gate refuses the shipped sheet.

Limit: 90 % of the counted mutants are caught. Survivors are listed with the largest change and its completion.

Results are kept in `.tucano/benchmark-mutants` for the same code, so that an interrupted run goes on.
"""

import hashlib
import os
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import orjson

from benchmarks.harness import Report, map_in_processes, run_benchmark
from benchmarks.mutants.completions import COUNTS, make_completions
from benchmarks.mutants.sources import Mutant, all_mutants, closure, sampled
from benchmarks.mutants.trial import LIMIT, RECORDED, Outcome, try_mutant, write_completions
from schemas.digests import file_sha256
from schemas.source import source_digest
from schemas.tables.rollout_tables import read_rollouts
from schemas.tasks import TASK_NAMES
from tasks.audit.stage import shipped_files

FOLDER: Final = Path(".tucano") / "benchmark-mutants"
MIN_CAUGHT: Final = 0.90
PROCESSES: Final = 2
SHARED: Final = "shared"
"""Row of the modules that decide more than one task's reward."""
SHOWN: Final = 120
"""Characters of a completion that are shown."""

Results = Sequence[tuple[Mutant, Outcome]]


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--sample", type=int, default=None, metavar="N", help="mutants, instead of all")
    parser.add_argument("--seed", type=int, default=0, help="draws the sample")
    parser.add_argument("--tasks", nargs="*", choices=TASK_NAMES, default=TASK_NAMES, help="whose rewards are mutated")
    parser.add_argument("--modules", nargs="*", default=(), metavar="NAME", help="only these, such as text.parser")
    parser.add_argument("--processes", type=int, default=PROCESSES, help="mutants at once")


def measure(report: Report, options: Namespace) -> None:
    """Try the mutants, and print what became of them."""
    wanted = {f"tasks.commerce.{name}" for name in options.modules}
    mutants = [mutant for mutant in all_mutants(options.tasks) if not wanted or mutant.module in wanted]
    results = _results(sampled(mutants, options.sample, options.seed), options.processes)
    _report_counts(report, results)
    _report_survivors(report, [each for each in results if each[1].kind == "survived"])
    counted = [outcome for _, outcome in results if outcome.kind in ("caught", "survived")]
    share = sum(outcome.kind == "caught" for outcome in counted) / len(counted) if counted else 1.0
    alone = sum(outcome.caught_by == RECORDED for outcome in counted)
    report.line(f"{alone} of {len(counted)} counted mutants are noticed by the recorded scores alone")
    report.limit(
        share >= MIN_CAUGHT, f"{share:.1%} of {len(counted)} counted mutants are caught, limit {MIN_CAUGHT:.0%}"
    )


def _results(mutants: Sequence[Mutant], processes: int) -> Results:
    """Return the outcome of each mutant: kept ones, and the others tried now."""
    state = _state()
    FOLDER.mkdir(parents=True, exist_ok=True)
    completions, kept = FOLDER / f"completions-{state}.jsonl", FOLDER / f"results-{state}.jsonl"
    known = dict(_read(kept))
    missing = [mutant for mutant in mutants if mutant not in known]
    if missing and not completions.exists():
        # In a child: what it does with polars would leave threads behind in this process.
        list(map_in_processes(_make_completions, [completions], 1, "completions"))
    with kept.open("ab") as file:
        tried = map_in_processes(partial(try_mutant, path=completions), missing, processes, "mutants")
        for mutant, outcome in zip(missing, tried, strict=True):
            file.write(orjson.dumps([tuple(mutant), tuple(outcome)]) + b"\n")
            file.flush()
            known[mutant] = outcome
    return [(mutant, known[mutant]) for mutant in mutants]


def _make_completions(path: Path) -> None:
    write_completions(path, make_completions(read_rollouts(shipped_files().rollouts)))


def _state() -> str:
    """Return a digest of all that decides an outcome: rewards, audit, sheet and this benchmark."""
    digest = hashlib.sha256(source_digest("tasks.audit.stage", "benchmarks.mutants.trial").encode())
    for name in ("sheet.csv", "rollouts.jsonl"):
        digest.update(file_sha256(shipped_files().sheet.with_name(name)).encode())
    return digest.hexdigest()[:16]


def _read(path: Path) -> Iterator[tuple[Mutant, Outcome]]:
    for line in path.read_bytes().splitlines() if path.exists() else ():
        mutant, outcome = orjson.loads(line)
        yield Mutant(*mutant), Outcome(*outcome)


def _report_counts(report: Report, results: Results) -> None:
    by_owner: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for mutant, outcome in results:
        by_owner[_owner(mutant)][outcome.kind] += 1
        by_owner["all"][outcome.kind] += 1
    rows = []
    for owner in (*TASK_NAMES, SHARED, "all"):
        kinds = by_owner[owner]
        counted = kinds["caught"] + kinds["survived"]
        share = f"{kinds['caught'] / counted:.1%}" if counted else "-"
        rows.append((owner, kinds.total(), kinds["invalid"], kinds["unchanged"], counted, kinds["caught"], share))
    report.table(
        f"Mutants by the task of their module; counted where one of {sum(COUNTS.values()):,} scores changes by more "
        f"than {LIMIT}",
        ("task", "made", "not importable", "change nothing", "counted", "caught", "share"),
        [row for row in rows if row[1]],
    )


def _report_survivors(report: Report, survivors: Results) -> None:
    for mutant, outcome in sorted(survivors, key=lambda each: -each[1].change):
        report.line(f"{mutant.place} {mutant.operator}: {mutant.change}")
        shown = outcome.completion[:SHOWN]
        report.line(f"    up to {outcome.change:.2f}, such as {shown!r}\n")


def _owner(mutant: Mutant) -> str:
    owners = [task for task in TASK_NAMES if mutant.module in closure(task)]
    return owners[0] if len(owners) == 1 else SHARED


if __name__ == "__main__":
    sys.stdout.flush()
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
