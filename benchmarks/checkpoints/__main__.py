"""Checkpoints: what is kept when workers die, storage fails and machines are taken away.

Faults: concurrent trainings, each with a bucket on a storage service whose requests fail at random (429, 503, resets,
broken and late answers), and workers that are killed, frozen until their successor has begun, or beside a rival, half
of the successors on another machine; between lives the store damages or loses an object, and its clock leaps. The
workers' records and the store's content at each moment decide what must be found. Limit: no promise is broken.

Notice: an adapter of 42 MB, a storage service that takes 20 MB/s; SIGTERM or the metadata server's notice in a step
that outlasts the notice, and in one that does not. Limits: exit code 4 within 25 s, the last finished step in the
mirror and whole, the lease released, and the segment's end recorded.

Resume: in an empty folder, to the beginning of the first step. Limit: 15 s in addition to the download, each time.

That a killed training ends with the bytes of an uninterrupted one is asserted by `tests/e2e/test_trainings.py`.
"""

import faulthandler
import os
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from benchmarks.checkpoints.checks import Verdict, check
from benchmarks.checkpoints.course import run_courses
from benchmarks.checkpoints.notice import report_notices, resumes
from benchmarks.checkpoints.trainings import make_request
from benchmarks.harness import Report, add_overrides, run_benchmark
from tasks.train.request import TrainRequest
from tests.storage_server import StorageServer, storage_server

STATE: Final = Path(".tucano") / "benchmark-checkpoints"
PROFILE: Final = "benchmarks/checkpoints/trainings.toml"
SEED: Final = 1
FAULTS: Final = 500
COURSES: Final = 8
RATE: Final = 0.04
SECONDS_OF_DELAY: Final = 3.0
PATIENCE_SECONDS: Final = 1200
"""Seconds after which the trainings with faults count as deadlocked, and print their stacks."""
SECONDS_TO_RESUME: Final = 15.0


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="these parts")
    parser.add_argument("--faults", type=int, default=FAULTS, help="at least so many")
    add_overrides(parser)


def measure(report: Report, options: Namespace) -> None:
    """Measure each part."""
    # On one thread sums are added in one order; and the CPU is measured, even where there is a GPU.
    os.environ.update(OMP_NUM_THREADS="1", CUDA_VISIBLE_DEVICES="")
    work = (STATE / "work").resolve()
    shutil.rmtree(work, ignore_errors=True)
    for name, part in PARTS.items():
        if name in options.only:
            (work / name).mkdir(parents=True)
            part(report, work / name, options)


def _faults(report: Report, work: Path, options: Namespace) -> None:
    faulthandler.dump_traceback_later(PATIENCE_SECONDS, exit=True)
    courses = run_courses(work, COURSES, options.faults, RATE, SEED, SECONDS_OF_DELAY)
    faulthandler.cancel_dump_traceback_later()
    verdict, faults, fates = Verdict(), Counter[str](), Counter[str]()
    for course in courses:
        check(course, verdict)
        faults.update(course.faults)
        fates.update(course.fates)
    report.line(f"{faults.total()} faults in {len(courses)} trainings, {max(each.seconds for each in courses):.0f} s:")
    for kind, counts in {"faults": faults, "workers": fates, "checkpoints": verdict.counts}.items():
        report.line(f"- {kind}: {', '.join(f'{name} {count:,}' for name, count in sorted(counts.items()))}")
    broken = {promise: len(cases) for promise, cases in verdict.broken.items()}
    report.line(f"Of {len(broken)} promises {sum(map(bool, broken.values()))} were broken.\n")
    report.misses += [f"{promise}: {case}" for promise, cases in verdict.broken.items() for case in cases]
    report.limit(faults.total() >= options.faults, f"{faults.total()} faults, and {options.faults} are wanted")


def _notice(report: Report, work: Path, options: Namespace) -> None:
    with storage_server() as server:
        report_notices(report, _request(work, server, options), work / "notice", server)


def _resume(report: Report, work: Path, options: Namespace) -> None:
    with storage_server() as server:
        rows = resumes(_request(work, server, options), work / "resume", server)
    title = f"Resume in an empty folder, from the start of Python to the first step; limit {SECONDS_TO_RESUME:.0f} s"
    report.table(title, {"size": "", "s without the download": ".1f", "s of the download": ".2f"}, rows)
    for size, seconds, _ in rows:
        miss = f"resume, {size}: {seconds:.1f} s besides the download, limit {SECONDS_TO_RESUME:.0f}"
        report.limit(seconds <= SECONDS_TO_RESUME, miss)


def _request(work: Path, server: StorageServer, options: Namespace) -> TrainRequest:
    os.environ["STORAGE_EMULATOR_HOST"] = server.url
    inputs = (STATE / "inputs").resolve()
    return make_request(PROFILE, options.set, inputs, str(work / "mirror"), "")


PARTS: Final[Mapping[str, Callable[[Report, Path, Namespace], None]]] = {
    "faults": _faults,
    "notice": _notice,
    "resume": _resume,
}


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
