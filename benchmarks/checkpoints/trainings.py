"""Training that is struck at chosen moments and resumes, seen from outside; and the results to compare."""

import json
import os
import random
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

    @property
    def position(self) -> int | None:
        """Return the step that it had reached; None where it had not begun."""
        return self.resumed_from if self.finished is None else self.finished

    def under_way(self) -> str:
        """Return the parts of its work that had begun and not ended at its last report."""
        texts = [text for _, text in self.events]
        counts = Counter(text.removesuffix(BEGINS) for text in texts if text.endswith(BEGINS))
        counts.subtract(text.removesuffix(ENDS) for text in texts if text.endswith(ENDS))
        parts = sorted(counts.elements())
        if f"step{BEGINS}" not in texts:
            return "loading"
        return ", ".join(parts if {"step", "evaluation"} & set(parts) else [*parts, "between steps"])

    def durations(self) -> dict[str, list[float]]:
        """Return the seconds of each finished occurrence of each part."""
        began: dict[str, float] = {}
        found: dict[str, list[float]] = {}
        for seconds, text in self.events:
            if text.endswith(BEGINS):
                began[text.removesuffix(BEGINS)] = seconds
            elif text.endswith(ENDS) and text.removesuffix(ENDS) in began:
                part = text.removesuffix(ENDS)
                found.setdefault(part, []).append(seconds - began.pop(part))
        return found


class _Watch:
    """Observer of a child, which acts on it at the moment."""

    def __init__(self, moment: Moment | None, act: Act) -> None:
        self.life, self.began = Life(), time.monotonic()
        self.child: ChildProcess | None = None
        self._moment, self._act = moment, act
        self._seen = Counter[str]()
        self._timer: threading.Timer | None = None

    def started(self, child: ChildProcess) -> None:
        self.child = child
        if self._moment is not None and not self._moment.part:
            self._set_timer(self._moment.seconds)

    def progress(self, done: int, total: int, text: str) -> None:  # noqa: ARG002 - what `run_child` passes
        self.life.events.append((time.monotonic() - self.began, text))
        self._seen[text] += 1
        moment = self._moment
        if moment is not None and text == f"{moment.part}{BEGINS}" and self._seen[text] == moment.occurrence:
            self._set_timer(moment.seconds)
        if text.startswith(RESUMED):
            self.life.resumed_from = int(text.removeprefix(RESUMED))
        elif text == f"make the trainer{BEGINS}" and self.life.resumed_from is None:
            self.life.resumed_from = 0

    def metrics(self, step: int, _: Mapping[str, float]) -> None:
        self.life.finished = step

    def end(self) -> Life:
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
        self.life.seconds = time.monotonic() - self.began
        if self.child is not None:
            self.life.exit_code = self.child.wait()
        return self.life

    def _set_timer(self, seconds: float) -> None:
        self._timer = threading.Timer(seconds, self._strike)
        self._timer.daemon = True
        self._timer.start()

    def _strike(self) -> None:
        self.life.struck_at = time.monotonic() - self.began
        if self.child is not None:
            self._act(self.child)


def live(request: TrainRequest, folder: Path, moment: Moment | None = None, act: Act = kill) -> Life:
    """Run the child on a request in a folder, as the train stage does, and act on it at the moment, if any."""
    watch = _Watch(moment, act)
    try:
        run_child(
            CHILD,
            request,
            folder,
            interpreter=None,
            progress=watch.progress,
            metrics=watch.metrics,
            started=watch.started,
        )
    except TucanoError as error:
        watch.life.sentence = str(error)
    return watch.end()


@dataclass(frozen=True)
class Result:
    """Results of a training that decide whether it equals another."""

    output: Mapping[str, str]
    """The sha256 of each file of the policy: the chosen adapter, the metrics of all steps, every rollout."""
    checkpoint: Mapping[str, str]
    """The sha256 of each file of the final checkpoint but one: the last adapter, the optimizer and every state."""
    chosen_step: int
    drawn_by: str
    """The engine of its rollouts."""
    rounds: int
    """Rounds of all prompts of a task, at least."""

    def differences(self, other: "Result") -> list[str]:
        """Return the names of the differing results."""
        found = [] if self.chosen_step == other.chosen_step else ["chosen step"]
        for mine, yours in ((self.output, other.output), (self.checkpoint, other.checkpoint)):
            found += sorted(name for name in mine.keys() | yours.keys() if mine.get(name) != yours.get(name))
        return found


def result_of(request: TrainRequest, folder: Path) -> Result:
    """Read a finished training's policy, and its last checkpoint from the mirror into an empty folder.

    Raises:
        InputError: The mirror has no whole checkpoint that is pinned as the final one.
    """
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
        drawn_by=summary["rollouts_drawn_by"],
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
    emptied: Sequence[bool]
    """For each life, whether it began in an empty folder."""
    result: Result | None
    """None where it did not end by itself."""

    @property
    def kills(self) -> int:
        """Return how often it was killed."""
        return sum(life.exit_code == -signal.SIGKILL for life in self.lives)

    def lost(self, place: int) -> int | None:
        """Return the steps that were repeated because one of its lives ended; None where it had reached none."""
        position = self.lives[place].position
        later = [life.resumed_from for life in self.lives[place + 1 :] if life.resumed_from is not None]
        return None if position is None or not later else position - later[0]

    def verdict(self, wanted: Result) -> str:
        """Return yes where it was killed, and ended as the wanted training did."""
        if self.result is None:
            return f"no: exit code {self.lives[-1].exit_code}, {self.lives[-1].sentence}"
        if not self.kills:
            return "no: it was not killed"
        changed = self.result.differences(wanted)
        return f"no: {', '.join(changed)}" if changed else "yes"


def run(request: TrainRequest, folder: Path, strikes: Callable[[Sequence[Life]], Strike | None]) -> Run:
    """Train to the end in an empty folder; `strikes` gives the next kill, None where it may run to its end."""
    lives: list[Life] = []
    emptied: list[bool] = []
    machine, is_empty = 1, True
    while True:
        strike = strikes(lives)
        here = request.model_copy(update={"output": folder / f"output-{len(lives) + 1}"})
        life = live(here, folder / f"machine-{machine}", strike.moment if strike else None)
        lives.append(life)
        emptied.append(is_empty)
        if life.exit_code != -signal.SIGKILL:
            break
        is_empty = strike is not None and strike.empties
        machine += is_empty
    result = None if life.exit_code else result_of(here, folder / "final")
    return Run(lives, emptied, result)


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


def draw_strike(generator: random.Random, part: str, calm: Life, done: float, empties: bool) -> Strike:
    """Draw a moment inside a part of the work, or anywhere where it is empty, by an uninterrupted life's durations.

    `done` is the share of the steps that is done already.
    """
    durations = calm.durations()
    if not part:
        loading = next(seconds for seconds, text in calm.events if text == f"step{BEGINS}")
        return Strike(Moment(generator.uniform(0, loading + 0.9 * (1 - done) * (calm.seconds - loading))), empties)
    # Not the last of the remaining ones, for then nothing may be left.
    occurrences = max(1, int(0.8 * (1 - done) * len(durations[part])))
    length = sorted(durations[part])[len(durations[part]) // 2]
    return Strike(Moment(generator.uniform(0, length), part, generator.randint(1, occurrences)), empties)
