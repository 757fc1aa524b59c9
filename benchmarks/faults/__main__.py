"""Checkpoints on an unreliable storage service with workers that die: what was saved, and nothing else, is found again.

Concurrent trainings, each with a bucket of its own on a storage service on loopback, whose requests fail at random:
429, 503, the connection reset before or after a request was carried out, an upload or a download broken in its middle,
an answer that comes seconds late. Each training is a row of short lives. A worker holds the lease, finds the newest
checkpoint, and has checkpoints written and mirrored as the train stage does; it computes nothing. It is killed with
SIGKILL, or frozen until its successor has begun and then woken, or killed while another waits for the lease, or it
leaves by itself. Half of the successors are on another machine with an empty disk, where the lease has to run out.
Between lives the store flips a bit of an object of the newest checkpoint or loses it, and its clock leaps ahead.

Every worker records outside of itself what it made, what was reported as saved, and the digests of what it resumes
from. Together with the store's content at each moment this decides what must be found. The promises below are the
limits: none may be broken. Seeds decide every draw; thread timing also decides which request a fault meets.
"""

import argparse
import faulthandler
import logging
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from rich import box
from rich.console import Console
from rich.table import Table

from benchmarks.faults.checks import Verdict, check
from benchmarks.faults.course import Course, run_course

STATE: Final = Path(".tucano") / "benchmark-faults"
SEED: Final = 1
FAULTS: Final = 500
COURSES: Final = 8
RATE: Final = 0.04
SECONDS_OF_DELAY: Final = 3.0
PATIENCE_SECONDS: Final = 1200
"""Seconds after which the benchmark itself counts as deadlocked, and prints its stacks."""


def main() -> int:
    """Run the benchmark; the exit code says whether every limit was met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--faults", type=int, default=FAULTS, help="at least so many (default: %(default)s)")
    parser.add_argument("--courses", type=int, default=COURSES, help="trainings at once (default: %(default)s)")
    parser.add_argument("--rate", type=float, default=RATE, help="share of the requests (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=SEED, help="of every draw (default: %(default)s)")
    arguments = parser.parse_args()
    faulthandler.dump_traceback_later(PATIENCE_SECONDS, exit=True)
    shutil.rmtree(STATE, ignore_errors=True)
    courses = run(STATE, arguments.courses, arguments.faults, arguments.rate, arguments.seed, SECONDS_OF_DELAY)
    faulthandler.cancel_dump_traceback_later()
    verdict = Verdict()
    for course in courses:
        check(course, verdict)
    injected = sum(sum(course.faults.values()) for course in courses)
    _print(courses, verdict)
    misses = [f"{promise}: {case}" for promise, cases in verdict.broken.items() for case in cases]
    if injected < arguments.faults:
        misses.append(f"{injected} faults, and {arguments.faults} are wanted")
    for miss in misses:
        print(f"MISSED: {miss}")
    return 1 if misses else 0


def run(state: Path, courses: int, faults: int, rate: float, seed: int, seconds_of_delay: float) -> list[Course]:
    """Run concurrent trainings, each until it has had its share of the faults; see `run_course`."""
    share = -(-faults // courses)

    def one(number: int) -> Course:
        folder = (state / f"course-{number}").resolve()
        folder.mkdir(parents=True)
        return run_course(number, seed, folder, share, rate, seconds_of_delay)

    # The emulator below the service logs missing objects, which are no fault.
    logging.getLogger("gcp_storage_emulator").setLevel(logging.CRITICAL)
    with ThreadPoolExecutor(courses) as pool:
        return list(pool.map(one, range(courses)))


def _print(courses: Sequence[Course], verdict: Verdict) -> None:
    console = Console(width=120)
    faults, fates = Counter[str](), Counter[str]()
    for course in courses:
        faults.update(course.faults)
        fates.update(course.fates)
    numbers = {
        f"Faults: {faults.total()}": faults,
        f"What became of the workers, in {len(courses)} trainings": fates,
        "How those ended that were not killed": verdict.endings,
        "Checkpoints": verdict.counts,
    }
    for title, counts in numbers.items():
        table = _table(title)
        table.add_column("", width=70)
        table.add_column("number", justify="right")
        for name, count in counts.items():
            table.add_row(name, str(count))
        console.print(table)
    table = _table(f"Promises, after {max(course.seconds for course in courses):.0f} s")
    for name in ("promise broken where", "times", "limit"):
        table.add_column(name, width=70 if name.startswith("promise") else None)
    for promise, cases in verdict.broken.items():
        table.add_row(promise, str(len(cases)), "0")
    console.print(table)


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))


if __name__ == "__main__":
    sys.exit(main())
