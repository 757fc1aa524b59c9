"""Training that is struck at chosen moments and resumes, seen from outside; and the results to compare."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Final

from benchmarks.checkpoints.child import BEGINS, ENDS
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.errors import InputError, TucanoError
from tasks.checkpoints.address import open_mirror
from tasks.lineage.store.artifacts import ArtifactStore
from tasks.policy.child import ChildProcess, run_child
from tasks.train.request import TrainRequest
from tasks.train.summaries import SUMMARY_FILE

CHILD: Final = "benchmarks.checkpoints.child"
RESUMED: Final = "resumed at step "
RANDOM_FILE: Final = "random.json"
HAS_TIMES: Final = "trainer_state.json"
"""The one file of a checkpoint with something that inputs do not decide: the time of each step."""

Act = Callable[[ChildProcess], None]


def kill(child: ChildProcess) -> None:
    """Kill a child and all that it started, without any chance to react."""
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


@dataclass(frozen=True)
class Moment:
    """A moment in the life of a child: seconds after a part of its work began for the n-th time."""

    seconds: float
    part: str = ""
    """Empty: from its start."""
    occurrence: int = 1


NEVER: Final = Moment(0.0, "no part")


@dataclass(frozen=True)
class Strike:
    """A kill, and what it leaves for the next process."""

    moment: Moment
    empties: bool
    """Whether the folder with the local checkpoints is lost with the process."""


@dataclass
class Life:
    """A child from its start to its end."""

    events: list[tuple[float, str]] = field(default_factory=list)
    """Seconds since its start, and its report."""
    resumed_from: int | None = None
    """The step that it resumed from; None where it did not get so far."""
    finished: int | None = None
    """The last step that it finished; None where it finished none."""
    struck_at: float | None = None
    """Seconds since its start; None where it ended before the moment."""
    seconds: float = 0.0
    """From its start to its end."""
    exit_code: int = 0
    sentence: str = ""
    """Reason of its failure."""

    def note(self, seconds: float, text: str) -> None:
        """Note a report."""
        self.events.append((seconds, text))
        if text.startswith(RESUMED):
            self.resumed_from = int(text.removeprefix(RESUMED))
        elif text == f"make the trainer{BEGINS}" and self.resumed_from is None:
            self.resumed_from = 0

    def seconds_in(self, part: str) -> float:
        """Return the seconds of all finished occurrences of a part, of which one ends before the next begins."""
        ends = [seconds for seconds, text in self.events if text == f"{part}{ENDS}"]
        begins = [seconds for seconds, text in self.events if text == f"{part}{BEGINS}"]
        return sum(ends) - sum(begins[: len(ends)])


def live(request: TrainRequest, folder: Path, moment: Moment = NEVER, act: Act = kill) -> Life:
    """Run the child on a request in a folder, as the train stage does, and act on it at the moment."""
    life, began, seen = Life(), time.monotonic(), Counter[str]()
    children: list[ChildProcess] = []
    timers: list[threading.Timer] = []

    def strike() -> None:
        life.struck_at = time.monotonic() - began
        act(children[0])

    def begins(part: str) -> None:
        seen[part] += 1
        if (part, seen[part]) == (moment.part, moment.occurrence):
            timers.append(threading.Timer(moment.seconds, strike))
            timers[-1].start()

    def started(child: ChildProcess) -> None:
        children.append(child)
        begins("")

    def progress(done: int, total: int, text: str) -> None:  # noqa: ARG001 - what `run_child` passes
        life.note(time.monotonic() - began, text)
        if text.endswith(BEGINS):
            begins(text.removesuffix(BEGINS))

    def metrics(step: int, _: Mapping[str, float]) -> None:
        life.finished = step

    try:
        run_child(CHILD, request, folder, interpreter=None, progress=progress, metrics=metrics, started=started)
    except TucanoError as error:
        life.sentence = str(error)
    for timer in timers:
        timer.cancel()
        timer.join()
    life.seconds = time.monotonic() - began
    life.exit_code = children[0].wait()
    return life


@dataclass(frozen=True)
class Result:
    """Results of a training that decide whether it equals another."""

    output: Mapping[str, str]
    """The sha256 of each file of the policy: the chosen adapter, the metrics of all steps, every rollout."""
    checkpoint: Mapping[str, str]
    """The sha256 of each file of the final checkpoint but one: the last adapter, the optimizer and every state."""
    chosen_step: int
    rounds: int
    """Rounds of all prompts of a task, at least."""

    def differences(self, other: "Result") -> list[str]:
        """Return the names of the differing results."""
        found = [] if self.chosen_step == other.chosen_step else ["chosen step"]
        for mine, yours in ((self.output, other.output), (self.checkpoint, other.checkpoint)):
            found += sorted(name for name in mine.keys() | yours.keys() if mine.get(name) != yours.get(name))
        return found


def result_of(request: TrainRequest, folder: Path) -> Result:
    """Read a finished training's policy, and its last checkpoint from the mirror into an empty folder."""
    mirror = open_mirror(request.mirror, request.training)
    final = mirror.pins().get("final")
    manifests = [manifest for manifest in mirror.manifests() if manifest.name == final]
    if not manifests:
        raise InputError(f"the mirror of {request.training} has no final checkpoint; see the log of its training")
    mirror.restore(manifests[0], folder)
    sampler = json.loads((folder / "sampling.json").read_text(encoding="utf-8"))["sampler"]
    queues = sampler["prompts"]["queues"]
    summary = json.loads((request.output / SUMMARY_FILE).read_text(encoding="utf-8"))
    files = sorted(file for file in request.output.rglob("*") if file.is_file())
    return Result(
        output={str(file.relative_to(request.output)): sha256(file.read_bytes()).hexdigest() for file in files},
        checkpoint={
            name: sha256(_decided(folder / name)).hexdigest() for name in manifests[0].files if name != HAS_TIMES
        },
        chosen_step=summary["chosen_step"],
        rounds=min(queue["round"] for name, queue in queues.items() if name != "mix"),
    )


def _decided(file: Path) -> bytes:
    """Return a file's bytes, without those that another thread decides."""
    if file.name != RANDOM_FILE:
        return file.read_bytes()
    states = json.loads(file.read_text(encoding="utf-8"))
    # Google's client draws its uploads' boundaries from it; training draws from torch's and from its own.
    del states["python"]
    return json.dumps(states).encode()


@dataclass(frozen=True)
class Run:
    """A training to its end, including all kills."""

    lives: Sequence[Life]
    result: Result | None
    """None where it did not end by itself."""

    def lost(self) -> list[int]:
        """Return the steps that were repeated after each kill, where a step had been finished."""
        return [
            life.finished - after.resumed_from
            for life, after in pairwise(self.lives)
            if life.finished is not None and after.resumed_from is not None
        ]


def run(request: TrainRequest, folder: Path, strikes: Callable[[Sequence[Life]], Strike | None]) -> Run:
    """Train to the end in an empty folder; `strikes` gives the next kill, None where it may run to its end."""
    lives: list[Life] = []
    machine = 1
    while True:
        strike = strikes(lives)
        here = request.model_copy(update={"output": folder / f"output-{len(lives) + 1}"})
        life = live(here, folder / f"machine-{machine}", strike.moment if strike else NEVER)
        lives.append(life)
        if life.exit_code != -signal.SIGKILL:
            return Run(lives, None if life.exit_code else result_of(here, folder / "final"))
        machine += strike is not None and strike.empties


def make_request(profile: str, settings: Sequence[str], state: Path, mirror: str, training: str) -> TrainRequest:
    """Return the request that the train stage would make; missing artifacts are made in the state folder."""
    command = [sys.executable, "-m", "flows", "train", "--profile", profile, "--json"]
    for setting in (*settings, f"state.root={state}", "train.max_steps=2"):
        command += ["--set", setting]
    made = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if made.returncode:
        raise SystemExit(f"the inputs cannot be made: tucano train ended with exit code {made.returncode}")
    (policy,) = json.loads(made.stdout)["trainings"]
    return request_again(load_config(profile, list(settings)), policy["sha256"], state, mirror, training)


def request_again(config: Config, policy: str, state: Path, mirror: str, training: str) -> TrainRequest:
    """Return the request of another training on the inputs of a finished one, named by its policy's sha256."""
    store = ArtifactStore(state / "artifacts")
    inputs = store.record(policy).inputs
    return TrainRequest(
        config=config.train,
        spec=config.rewards.spec,
        validation_temperature=config.evaluate.temperature,
        validation_batch_size=config.evaluate.batch_size,
        max_prompt_tokens=config.curate.max_prompt_tokens,
        seed=config.seed,
        base=store.path(inputs["base"]),
        base_sha256=inputs["base"],
        dataset=store.path(inputs["dataset"]),
        store=store.path(inputs["prompts"]) / "store",
        audit=store.path(inputs["audit"]),
        mirror=mirror,
        training=training,
        output=state / "output",
    )
