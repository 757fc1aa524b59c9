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

import faulthandler
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.faults.checks import Verdict, check
from benchmarks.faults.course import Course, run_courses
from benchmarks.harness import Report, run_benchmark

STATE: Final = Path(".tucano") / "benchmark-faults"
SEED: Final = 1
FAULTS: Final = 500
COURSES: Final = 8
RATE: Final = 0.04
SECONDS_OF_DELAY: Final = 3.0
PATIENCE_SECONDS: Final = 1200
"""Seconds after which the benchmark itself counts as deadlocked, and prints its stacks."""


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--faults", type=int, default=FAULTS, help="at least so many")
    parser.add_argument("--courses", type=int, default=COURSES, help="trainings at once")
    parser.add_argument("--rate", type=float, default=RATE, help="share of the requests")
    parser.add_argument("--seed", type=int, default=SEED, help="of every draw")


def measure(report: Report, options: Namespace) -> None:
    """Run the trainings, and compare what each found with what must be found."""
    faulthandler.dump_traceback_later(PATIENCE_SECONDS, exit=True)
    shutil.rmtree(STATE, ignore_errors=True)
    courses = run_courses(STATE, options.courses, options.faults, options.rate, options.seed, SECONDS_OF_DELAY)
    faulthandler.cancel_dump_traceback_later()
    verdict = Verdict()
    for course in courses:
        check(course, verdict)
    _print(report, courses, verdict)
    report.misses += [f"{promise}: {case}" for promise, cases in verdict.broken.items() for case in cases]
    injected = sum(sum(course.faults.values()) for course in courses)
    report.limit(injected >= options.faults, f"{injected} faults, and {options.faults} are wanted")


def _print(report: Report, courses: Sequence[Course], verdict: Verdict) -> None:
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
        report.table(title, ("", "number"), [(name, str(count)) for name, count in counts.items()])
    report.table(
        f"Promises, after {max(course.seconds for course in courses):.0f} s",
        ("promise broken where", "times", "limit"),
        [(promise, str(len(cases)), "0") for promise, cases in verdict.broken.items()],
    )


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
