"""Checkpoints: what is kept when workers die, storage fails and machines are taken away.

Faults: concurrent trainings, each with a bucket on a storage service whose requests fail at random (429, 503, resets,
broken and late answers), and workers that are killed, frozen until their successor has begun, or beside a rival, half
of the successors on another machine; between lives the store damages or loses an object, and its clock leaps. The
workers' records and the store's content at each moment decide what must be found. Limit: no promise is broken.

Exact: trainings of the CPU recipe, each killed one to three times with all that its process had started, a quarter of
the first kills inside a save, an upload and an evaluation each; a third of the kills take the folder too. Limit: each
ends with the same adapter, metrics, rollouts, optimizer and states as an uninterrupted one.

Notice: an adapter of 42 MB, a storage service that takes 20 MB/s; SIGTERM or the metadata server's notice in a step
that outlasts the notice, and in one that does not. Limits: exit code 4 within 25 s, the last finished step in the
mirror and whole, the lease released, and the segment's end recorded.

Resume: in an empty folder, to the beginning of the first step. Limit: 15 s in addition to the download, each time.

Signals and helpers that fail strike `tucano retrain` at the tests' size. Limits: one sentence and exit code 4 within
25 s, or the run goes on where only a helper was stopped; the same command resumes.
"""

import faulthandler
import os
import random
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.checkpoints.checks import Verdict, check
from benchmarks.checkpoints.commands import COLUMNS, HELPERS, SIGNALS, as_row, strike
from benchmarks.checkpoints.course import run_courses
from benchmarks.checkpoints.notice import LONG_STEP, SECONDS_TO_LEAVE, notices, resumes
from benchmarks.checkpoints.trainings import Life, Result, Run, Strike, draw_strike, make_request, run
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
PARTS_OF_A_KILL: Final = ("save", "upload", "evaluation", "")
"""Parts in which the first kills come, in turns; the last is anywhere."""
MAX_KILLS: Final = 3
SHARE_EMPTIED: Final = 1 / 3
UPLOAD_RATE: Final = 500_000.0
"""Bytes a second that the bucket accepts while trainings are killed: an upload takes as long as some steps."""
ROUNDS: Final = 2
SECONDS_TO_RESUME: Final = 15.0
BLOWS: Final = {"signals": SIGNALS, "helpers": HELPERS}


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--only", nargs="+", choices=[*PARTS, *BLOWS], default=[*PARTS, *BLOWS], help="these parts")
    parser.add_argument("--faults", type=int, default=FAULTS, help="at least so many")
    parser.add_argument("--runs", type=int, default=12, help="trainings that are killed")
    parser.add_argument("--blows", type=int, default=1, help="of signals and of helpers each, spread evenly")
    add_overrides(parser)


def measure(report: Report, options: Namespace) -> None:
    """Measure each part."""
    # On one thread sums are added in one order; and the CPU is measured, even where there is a GPU.
    os.environ.update(OMP_NUM_THREADS="1", CUDA_VISIBLE_DEVICES="")
    work = (STATE / "work").resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    for name, part in PARTS.items():
        if name in options.only:
            part(report, work / name, options)
    kinds = [kind for kind in BLOWS if kind in options.only]
    if kinds:
        _commands(report, work / "commands", kinds, options.blows)


def _faults(report: Report, work: Path, options: Namespace) -> None:
    faulthandler.dump_traceback_later(PATIENCE_SECONDS, exit=True)
    courses = run_courses(work, COURSES, options.faults, RATE, SEED, SECONDS_OF_DELAY)
    faulthandler.cancel_dump_traceback_later()
    verdict, faults, fates = Verdict(), Counter[str](), Counter[str]()
    for course in courses:
        check(course, verdict)
        faults.update(course.faults)
        fates.update(course.fates)
    numbers = {"faults": faults, "workers": fates, "ended by": verdict.endings, "checkpoints": verdict.counts}
    report.line(f"{faults.total()} faults in {len(courses)} trainings, {max(each.seconds for each in courses):.0f} s:")
    for kind, counts in numbers.items():
        report.line(f"- {kind}: {', '.join(f'{name} {count:,}' for name, count in sorted(counts.items()))}")
    broken = {promise: len(cases) for promise, cases in verdict.broken.items()}
    report.line(f"Of {len(broken)} promises {sum(map(bool, broken.values()))} were broken.\n")
    report.misses += [f"{promise}: {case}" for promise, cases in verdict.broken.items() for case in cases]
    report.limit(faults.total() >= options.faults, f"{faults.total()} faults, and {options.faults} are wanted")


def _exact(report: Report, work: Path, options: Namespace) -> None:
    with storage_server() as server:
        server.upload_rate = UPLOAD_RATE
        request = _request(work, server, options)
        mirrors = (request.mirror, f"gs://{server.bucket}")
        calm: list[tuple[Life, Result]] = []
        for place, mirror in enumerate(progress(mirrors, "uninterrupted")):
            name = f"calm-{place}"
            undisturbed = run(
                request.model_copy(update={"mirror": mirror, "training": name}), work / name, lambda _: None
            )
            (life,) = undisturbed.lives
            if undisturbed.result is None:
                raise SystemExit(f"the uninterrupted training ended with exit code {life.exit_code}: {life.sentence}")
            calm.append((life, undisturbed.result))
        found: dict[int, Run] = {}
        with ThreadPoolExecutor(AT_ONCE) as pool:
            running = {}
            for number in range(1, options.runs + 1):
                place = number % len(mirrors)
                asked = request.model_copy(update={"mirror": mirrors[place], "training": f"run-{number:02d}"})
                strikes = _strikes(number, calm[place][0], request.config.max_steps)
                running[pool.submit(partial(run, asked, work / f"run-{number:02d}", strikes))] = number
            for future in progress(as_completed(running), "killed", options.runs):
                found[running[future]] = future.result()
    wanted = calm[0][1]
    _report_runs(report, found, wanted, request)
    changed = wanted.differences(calm[1][1])
    report.limit(not changed, f"the two uninterrupted trainings differ in {', '.join(changed)}")
    report.limit(wanted.drawn_by == "ours", f"{wanted.drawn_by} drew the rollouts, and not our engine")
    miss = f"the prompts were gone through {wanted.rounds} times, and more than {ROUNDS} are wanted"
    report.limit(wanted.rounds >= ROUNDS, miss)


def _strikes(number: int, calm: Life, steps: int) -> Callable[[Sequence[Life]], Strike | None]:
    """Return random kills of one training."""
    generator = random.Random(f"{SEED} {number}")
    kills = generator.randint(1, MAX_KILLS)

    def strikes(lives: Sequence[Life]) -> Strike | None:
        if len(lives) >= kills:
            return None
        # The mirrors alternate too, so that each sees every part.
        part = generator.choice(PARTS_OF_A_KILL) if lives else PARTS_OF_A_KILL[number // 2 % len(PARTS_OF_A_KILL)]
        position = next((life.position for life in reversed(lives) if life.position is not None), 0)
        empties = generator.random() < SHARE_EMPTIED
        return draw_strike(generator, part, calm, position / steps, empties)

    return strikes


def _report_runs(report: Report, runs: Mapping[int, Run], wanted: Result, request: TrainRequest) -> None:
    lost: dict[str, list[int]] = {"disk": [], "mirror": []}
    parts = Counter[str]()
    for number, each in sorted(runs.items()):
        for place in range(each.kills):
            parts.update(each.lives[place].under_way().split(", "))
            again = each.lost(place)
            if again is not None:
                lost["mirror" if each.emptied[place + 1] else "disk"].append(again)
        verdict = each.verdict(wanted)
        report.limit(verdict == "yes", f"run {number}: {verdict}")
    equal = sum(each.verdict(wanted) == "yes" for each in runs.values())
    kills = sum(each.kills for each in runs.values())
    report.line(f"{equal} of {len(runs)} trainings, killed {kills} times, equal the uninterrupted one.")
    report.line("Under way at a kill: " + ", ".join(f"{part} {count}" for part, count in parts.most_common()) + ".")
    rows = [(source, max(steps), sum(steps) / len(steps), len(steps)) for source, steps in lost.items() if steps]
    title = f"Steps lost at a kill; saved every {request.config.save_every}"
    report.table(title, {"resumed from": "", "at most": "", "mean": ".1f", "kills": ""}, rows)


def _notice(report: Report, work: Path, options: Namespace) -> None:
    with storage_server() as server:
        found = notices(_request(work, server, options), work / "notice", server)
    rows = []
    for each in found:
        fate = "finished" if each.life.finished == LONG_STEP else "abandoned"
        step = f"{each.scenario.step_seconds:.0f} s, {fate}"
        left = "released" if each.released else "held"
        rows.append(
            (each.scenario.name, step, each.seconds, each.life.exit_code, each.mirrored or "-", left, each.ended)
        )
        report.misses += each.misses()
    columns = {"notice": "", "step under way": "", "s to exit": ".1f", "exit code": "", "mirrored": ""}
    title = f"Notice with a checkpoint of {found[0].megabytes:.0f} MB at 20 MB/s; limit {SECONDS_TO_LEAVE:.0f} s"
    shown = [(*row[:-1], str(row[-1])) for row in rows]
    report.table(title, {**columns, "lease": "", "segment": ""}, shown, left=("step under way", "lease", "segment"))


def _resume(report: Report, work: Path, options: Namespace) -> None:
    with storage_server() as server:
        found = resumes(_request(work, server, options), work / "resume", server)
    rows = [(size, seconds, download) for size, each in found.items() for seconds, download in each]
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


def _commands(report: Report, work: Path, kinds: Sequence[str], count: int) -> None:
    """Strike whole runs; each state folder's run resumes after each blow.

    A blow whose moment has passed in its folder comes in a new one.
    """
    rows = []
    for kind in kinds:
        blows, folders = BLOWS[kind], 1
        chosen = (
            blows if count >= len(blows) else [blows[(2 * n + 1) * len(blows) // (2 * count)] for n in range(count)]
        )
        for blow in progress(chosen, kind):
            struck = strike(work / f"{kind}-{folders}", blow)
            if struck is None:
                folders += 1
                struck = strike(work / f"{kind}-{folders}", blow)
            rows.append(as_row(blow, struck))
            report.limit(rows[-1][-1] == "yes", f"{kind}: {' '.join(rows[-1])}")
    report.table("`tucano retrain` that is struck", COLUMNS, rows, left=("signal", "under way", "said"))


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
