"""Preemption at any moment without loss: trainings that are killed, that are given notice, and that resume.

Bit-exact: 20 trainings of the CPU recipe, whose completions our engine draws, over more than two rounds of the prompts,
each killed with SIGKILL one to three times, with all that its process had started. A quarter of the first kills come
inside a save, inside an upload and inside an evaluation each, the rest anywhere from the start of Python on; about a
third of the kills take the folder too, so that the training resumes in an empty one from the mirror alone. Half of the
mirrors are folders, half are buckets of a slow storage service on loopback. Limit: each ends with the same chosen
adapter, metrics and rollouts, and the same adapter, optimizer and states in its final checkpoint, as two uninterrupted
ones.

Notice: a checkpoint of 126 MB and more, of an adapter of 42 MB; a storage service that takes 20 MB/s; SIGTERM or the
notice of the metadata server in a step that outlasts the notice, and in one that does not. Limits: exit code 4 within
25 s, the last finished step in the mirror and whole, the lease released, and the segment's end recorded.

Resume: in an empty folder, to the beginning of the first step, at the laptop's size and with the adapter of 42 MB.
Limit: 15 s in addition to the download, each time.

Signals: 20 of them to `tucano retrain` at the tests' size, at each change of stage, in each child, and while Prefect's
server is killed or stopped. Limits: one sentence and exit code 4 within 25 s, and the same command resumes.

Kills: 12 SIGKILLs of the command and all that it started, in training, answers, evaluation and promotion. Limit: the
files of each stage but the eight with seconds in them, and the champion, equal those of an uninterrupted run.

Helpers: Prefect's server, the fork server and a child are killed and stopped. Limit: a sentence and exit code 4 within
25 s, or the run goes on.
"""

import os
import random
import shutil
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.harness import Report, add_overrides, progress, run_benchmark
from benchmarks.preemption.command import COLUMNS, as_row, failures, finish, kills, signals, strike, verdict
from benchmarks.preemption.notice import SECONDS_TO_LEAVE, SECONDS_TO_RESUME, notices, resumes
from benchmarks.preemption.runs import Life, Result, Run, Strike, draw_strike, make_request, run
from tasks.train.request import TrainRequest
from tests.storage_server import StorageServer, storage_server

STATE: Final = Path(".tucano") / "benchmark-preemption"
PROFILE: Final = "benchmarks/preemption/preemption.toml"
SEED: Final = 1
RUNS: Final = 20
AT_ONCE: Final = 2
PARTS: Final = ("save", "upload", "evaluation", "")
"""Parts in which the first kills come, in turns; the last is anywhere."""
MOST_KILLS: Final = 3
SHARE_EMPTIED: Final = 1 / 3
UPLOAD_RATE: Final = 500_000.0
"""Bytes a second that the bucket accepts while trainings are killed: an upload takes as long as some steps."""
ROUNDS: Final = 2
KINDS: Final = ("exact", "notice", "resume")
OF_A_COMMAND: Final = ("signals", "kills", "helpers")


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--runs", type=int, default=RUNS, help="that are killed")
    parser.add_argument("--at-once", type=int, default=AT_ONCE, help="of them")
    parser.add_argument("--seed", type=int, default=SEED, help="of the moments")
    parser.add_argument(
        "--only", nargs="+", choices=KINDS + OF_A_COMMAND, default=KINDS + OF_A_COMMAND, help="measure this alone"
    )
    add_overrides(parser)


def measure(report: Report, options: Namespace) -> None:
    """Kill, give notice and resume."""
    # On one thread sums are added in one order; and the CPU is measured, even where there is a GPU.
    os.environ.update(OMP_NUM_THREADS="1", CUDA_VISIBLE_DEVICES="")
    STATE.mkdir(parents=True, exist_ok=True)
    work = STATE / "runs"
    shutil.rmtree(work, ignore_errors=True)
    request = make_request(PROFILE, options.set, (STATE / "inputs").resolve(), "", "").model_copy(
        update={"mirror": str((work / "mirror").resolve())}
    )
    with storage_server() as server:
        os.environ["STORAGE_EMULATOR_HOST"] = server.url
        if "exact" in options.only:
            _exact(report, request, work, server, options)
        server.reset()
        if "notice" in options.only:
            _notices(report, request, work, server)
        if "resume" in options.only:
            _resumes(report, request, work, server)
    _commands(report, (work / "commands").resolve(), options.only)


def _commands(report: Report, work: Path, only: Sequence[str]) -> None:
    """Strike whole runs; each state folder's run resumes after each blow, and goes to its end after the last.

    A blow whose moment has passed in its folder comes in a new one.
    """
    found: dict[str, Mapping[str, str]] = {}
    if "kills" in only:
        found["uninterrupted"] = finish(work / "uninterrupted", ())
    blows = {
        "signals": [(blow, True) for blow in signals()],
        "kills": [(blow, True) for blow in kills()],
        "helpers": failures(),
    }
    for kind in (kind for kind in OF_A_COMMAND if kind in only):
        rows, folders = [], 1
        for blow, ends in progress(blows[kind], kind):
            struck = strike(work / f"{kind}-{folders}", (), blow, ends=ends)
            if struck is None:
                folders += 1
                struck = strike(work / f"{kind}-{folders}", (), blow, ends=ends)
            held = verdict(blow, struck, ends=ends)
            rows.append((*as_row(blow, struck), held))
            report.limit(held == "yes", f"{kind}: {' '.join(rows[-1])}")
        report.table(f"Struck: {kind}", COLUMNS, rows, left=("signal", "under way", "said"))
        if kind != "helpers":
            names = [f"{kind}-{number}" for number in range(1, folders + 1)]
            found |= {name: finish(work / name, ()) for name in names}
    wanted = found.get("uninterrupted")
    for kind, digests in found.items():
        if wanted is not None:
            changed = sorted(name for name in wanted if digests.get(name) != wanted[name])
            report.line(f"{kind}: of {len(wanted)} files, versions and aliases {len(changed)} differ.")
            report.limit(not changed, f"{kind}: {', '.join(changed)} differ from the uninterrupted run's")


def _exact(report: Report, request: TrainRequest, work: Path, server: StorageServer, options: Namespace) -> None:
    server.upload_rate = UPLOAD_RATE
    mirrors = (request.mirror, f"gs://{server.bucket}")
    calm: list[tuple[Life, Result]] = []
    for place, mirror in enumerate(progress(mirrors, "uninterrupted")):
        name = f"calm-{place}"
        undisturbed = run(request.model_copy(update={"mirror": mirror, "training": name}), work / name, lambda _: None)
        (life,) = undisturbed.lives
        if undisturbed.result is None:
            raise SystemExit(f"the uninterrupted training ended with exit code {life.exit_code}: {life.sentence}")
        calm.append((life, undisturbed.result))
    wanted = calm[0][1]
    found: dict[int, Run] = {}
    with ThreadPoolExecutor(options.at_once) as pool:
        running = {}
        for number in range(1, options.runs + 1):
            place = number % len(mirrors)
            asked = request.model_copy(update={"mirror": mirrors[place], "training": f"run-{number:02d}"})
            strikes = _Strikes(
                random.Random(f"{options.seed} {number}"), number, calm[place][0], request.config.max_steps
            )
            running[pool.submit(partial(run, asked, work / f"run-{number:02d}", strikes))] = number
        for future in progress(as_completed(running), "killed", options.runs):
            found[running[future]] = future.result()
    ordered = [found[number] for number in sorted(found)]
    _report_runs(report, ordered, wanted, calm[0][0], request)
    for number, each in enumerate(ordered, start=1):
        verdict = _verdict(each, wanted)
        report.limit(verdict == "yes", f"run {number}: {verdict}")
    changed = wanted.differences(calm[1][1])
    report.limit(not changed, f"the two uninterrupted trainings differ in {', '.join(changed)}")
    report.limit(wanted.drawn_by == "ours", f"{wanted.drawn_by} drew the rollouts, and not our engine")
    miss = f"the prompts were gone through {wanted.rounds} times, and more than {ROUNDS} are wanted"
    report.limit(wanted.rounds >= ROUNDS, miss)


class _Strikes:
    """Random kills of one training."""

    def __init__(self, generator: random.Random, number: int, calm: Life, steps: int) -> None:
        self._generator = generator
        self._number = number
        self._calm = calm
        self._steps = steps
        self._kills = generator.randint(1, MOST_KILLS)

    def __call__(self, lives: Sequence[Life]) -> Strike | None:
        if len(lives) >= self._kills:
            return None
        # The mirrors alternate too, so that each sees every part.
        part = self._generator.choice(PARTS) if lives else PARTS[self._number // 2 % len(PARTS)]
        position = next((life.position for life in reversed(lives) if life.position is not None), 0)
        empties = self._generator.random() < SHARE_EMPTIED
        return draw_strike(self._generator, part, self._calm, position / self._steps, empties)


def _verdict(found: Run, wanted: Result) -> str:
    if found.result is None:
        return f"no: exit code {found.lives[-1].exit_code}, {found.lives[-1].sentence}"
    if not found.kills:
        return "no: it was not killed"
    changed = found.result.differences(wanted)
    return f"no: {', '.join(changed)}" if changed else "yes"


def _report_runs(report: Report, runs: Sequence[Run], wanted: Result, calm: Life, request: TrainRequest) -> None:
    rows = []
    lost: dict[str, list[int]] = {"disk": [], "mirror": []}
    parts = Counter[str]()
    for number, each in enumerate(runs, start=1):
        for place in range(each.kills):
            life, following = each.lives[place], each.lives[place + 1]
            source = "mirror" if each.emptied[place + 1] else "disk"
            again = each.lost(place)
            if again is not None:
                lost[source].append(again)
            # While it loads, the parts in brackets are of the loading.
            parts.update(set(life.under_way().partition(" (")[0].split(", ")))
            row = (
                str(number) if not place else "",
                f"{life.seconds:.1f}",
                "-" if life.position is None else str(life.position),
                life.under_way(),
                f"{'-' if following.resumed_from is None else following.resumed_from}, {source}",
                "-" if again is None else str(again),
                _verdict(each, wanted) if place == each.kills - 1 else "",
            )
            rows.append(row)
    report.table(
        "Killed with SIGKILL: the step that was finished, what was under way, and where it resumed from",
        ("run", "after s", "step", "under way", "resumes from", "steps lost", "equal"),
        rows,
        left=("under way", "equal"),
    )
    kills = sum(each.kills for each in runs)
    equal = sum(_verdict(each, wanted) == "yes" for each in runs)
    report.line(f"{equal} of {len(runs)} trainings, killed {kills} times, equal the uninterrupted one.")
    report.line("Under way at a kill: " + ", ".join(f"{part} {count}" for part, count in parts.most_common()) + ".")
    for source, steps in lost.items():
        if steps:
            report.line(
                f"Steps lost at a kill, resuming from the {source}: at most {max(steps)}, "
                f"{sum(steps) / len(steps):.1f} in the mean of {len(steps)}; saved every {request.config.save_every}."
            )
    report.line(
        f"Uninterrupted: {request.config.max_steps} steps in {calm.seconds:.0f} s, every prompt drawn "
        f"{wanted.rounds} times or more, step {wanted.chosen_step} chosen."
    )
    for name in ("adapter_model.safetensors", "optimizer.safetensors"):
        report.line(f"{name} of the final checkpoint: sha256 {wanted.checkpoint[name]}")


def _notices(report: Report, request: TrainRequest, work: Path, server: StorageServer) -> None:
    found = notices(request, work / "notice", server)
    columns = ("notice", "step under way", "s", "exit code", "step", "mirrored", "lease", "segment")
    report.table(
        f"Notice with a checkpoint of {found[0].megabytes:.0f} MB at 20 MB/s: seconds to the exit",
        columns,
        [
            (
                each.scenario.name,
                f"{each.scenario.step_seconds:.0f} s, {each.fate}",
                f"{each.seconds:.1f}",
                str(each.exit_code),
                str(each.finished),
                str(each.mirrored),
                "released" if each.released else "held",
                str(each.ended),
            )
            for each in found
        ],
        left=("step under way", "lease", "segment"),
    )
    report.line(f"Limit: {SECONDS_TO_LEAVE:.0f} s.")
    report.misses += [miss for each in found for miss in each.misses()]


def _resumes(report: Report, request: TrainRequest, work: Path, server: StorageServer) -> None:
    found = resumes(request, work / "resume", server)
    lives = [each for of_size in found.values() for each in of_size]
    parts = dict.fromkeys(part for each in lives for part in each.parts)
    report.table(
        "Resume in an empty folder: seconds from the start of Python to the first step",
        ("part", *(f"{size} {number}" for size, of_size in found.items() for number in range(1, len(of_size) + 1))),
        [
            *((part, *(f"{each.parts.get(part, 0.0):.2f}" for each in lives)) for part in parts),
            ("all but the download", *(f"{each.seconds:.2f}" for each in lives)),
            ("the download", *(f"{each.download:.2f}" for each in lives)),
        ],
    )
    report.line(f"Limit: {SECONDS_TO_RESUME:.0f} s besides the download.")
    for number, each in enumerate(lives, start=1):
        miss = f"resume {number}: {each.seconds:.1f} s besides the download, limit {SECONDS_TO_RESUME:.0f}"
        report.limit(each.seconds <= SECONDS_TO_RESUME, miss)


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
