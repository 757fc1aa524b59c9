"""Checkpoints: what is kept when workers die, storage fails and machines are taken away.

Faults: concurrent trainings, each with a bucket on a storage service whose requests fail at random (429, 503, resets,
broken and late answers), and workers that are killed, frozen until their successor has begun, or beside a rival, half
of the successors on another machine; between lives the store damages or loses an object, and its clock leaps. The
workers' records and the store's content at each moment decide what must be found. Limit: no promise is broken.

Exact: trainings of the CPU recipe, each killed one to three times at random moments with all that its process had
started; a third of the kills take the folder too. Limit: each ends with the same adapter, metrics, rollouts, optimizer
and states as an uninterrupted one. `tests/e2e/test_trainings.py` kills within a save, an upload and an evaluation.

Notice: an adapter of 42 MB, a storage service that takes 20 MB/s; SIGTERM or the metadata server's notice in a step
that outlasts the notice, and in one that does not. Limits: exit code 4 within 25 s, the last finished step in the
mirror and whole, the lease released, and the segment's end recorded.

Resume: in an empty folder, to the beginning of the first step. Limit: 15 s in addition to the download, each time.
"""

import faulthandler
import os
import random
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from benchmarks.checkpoints.checks import Verdict, check
from benchmarks.checkpoints.course import run_courses
from benchmarks.checkpoints.notice import report_notices, resumes
from benchmarks.checkpoints.trainings import Life, Moment, Run, Strike, make_request, run
from benchmarks.harness import Report, add_overrides, progress, run_benchmark
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
AT_ONCE: Final = 2
MAX_KILLS: Final = 3
SHARE_EMPTIED: Final = 1 / 3
UPLOAD_RATE: Final = 500_000.0
"""Bytes a second that the bucket accepts while trainings are killed: an upload takes as long as some steps."""
SECONDS_TO_RESUME: Final = 15.0


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="these parts")
    parser.add_argument("--faults", type=int, default=FAULTS, help="at least so many")
    parser.add_argument("--runs", type=int, default=12, help="trainings that are killed")
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


def _exact(report: Report, work: Path, options: Namespace) -> None:
    with storage_server() as server:
        server.upload_rate = UPLOAD_RATE
        request = _request(work, server, options).model_copy(update={"mirror": f"gs://{server.bucket}"})

        def trained(name: str, strikes: Callable[[Sequence[Life]], Strike | None]) -> Run:
            return run(request.model_copy(update={"training": name}), work / name, strikes)

        calm = trained("calm", lambda _: None)
        if calm.result is None:
            raise SystemExit(f"the uninterrupted training failed: {calm.lives[0].sentence}")

        def killed(number: int) -> Run:
            generator = random.Random(f"{SEED} {number}")
            kills = generator.randint(1, MAX_KILLS)

            def strikes(lives: Sequence[Life]) -> Strike | None:
                moment = Moment(generator.uniform(0, 0.9 * calm.lives[0].seconds))
                return Strike(moment, generator.random() < SHARE_EMPTIED) if len(lives) < kills else None

            return trained(f"run-{number:02d}", strikes)

        with ThreadPoolExecutor(AT_ONCE) as pool:
            runs = list(progress(pool.map(killed, range(options.runs)), "killed", options.runs))
    for number, each in enumerate(runs):
        changed = [each.lives[-1].sentence] if each.result is None else each.result.differences(calm.result)
        report.limit(not changed and len(each.lives) > 1, f"run {number}: {', '.join(changed) or 'not killed'}")
    equal, kills = sum(each.result == calm.result for each in runs), sum(len(each.lives) - 1 for each in runs)
    lost = [steps for each in runs for steps in each.lost()]
    report.line(
        f"{equal} of {len(runs)} trainings, killed {kills} times, equal the uninterrupted one; with a save every "
        f"{request.config.save_every} at most {max(lost, default=0)} steps were lost at a kill.\n"
    )


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
    "exact": _exact,
    "notice": _notice,
    "resume": _resume,
}


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
