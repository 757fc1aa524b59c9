"""Many short lives of one training's workers: killed, frozen until another has continued, two at once.

Its storage service fails as configured; between the lives the service loses an object of the newest checkpoint or flips
a bit of one, and its clock leaps. Its content at every moment is recorded, as well as the workers' reports.
"""

import json
import logging
import multiprocessing
import os
import random
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any, Final

from benchmarks.checkpoints.worker import Order, Place, Strike, live
from tasks.checkpoints.catalog import BLOBS, MANIFESTS
from tasks.checkpoints.manifest import Manifest
from tests.storage_server import Faults, StorageServer, storage_server
from tests.tasks.train.small_request import TRAINING

FATES: Final = {"killed": 9, "frozen": 5, "rivals": 3, "leaves": 3}
"""Fates of a worker, and their frequencies: killed, or frozen until its successor has begun; killed while another waits
for the lease; or it leaves by itself."""
MOMENT_SECONDS: Final = (0.3, 7.0)
"""Time from a worker's start to its fate: some have not begun by then."""
STEPS: Final = (3, 10)
"""Steps of a worker that leaves by itself, and most steps of one that wakes up."""
PLACES: Final[tuple[Place, ...]] = ("found", "proved", "saved")
SHARE_PLACED: Final = 0.5
"""Share of killed or frozen workers that are struck at one of these places, not at any moment."""
SHARE_DAMAGED: Final = 0.45
"""Share of the pauses between lives, without a frozen worker, in which the store damages something."""
SHARE_LEAPT: Final = 0.3
"""Share of the pauses in which the store's clock leaps."""
LEAP_MINUTES: Final = (10, 70)
SHARE_MOVED: Final = 0.5
"""Share of the lives that are on another machine than the one before, with an empty disk."""
SECONDS_TO_END: Final = 120.0
"""Seconds after which a worker that should have ended counts as deadlocked."""
POLL_SECONDS: Final = 0.02

Event = dict[str, Any]
_STARTING: Final = threading.Lock()


@dataclass
class Course:
    """Everything that happened in one training; the first has files that are sent in several parts."""

    number: int
    events: list[Event] = field(default_factory=list)
    """Events of the workers and of the store, by time; each has `at`, `life` and `event`."""
    faults: dict[str, int] = field(default_factory=dict)
    fates: Counter[str] = field(default_factory=Counter)
    deadlocks: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass
class _Worker:
    process: ForkServerProcess
    life: int
    machine: str
    must_end: float = float("inf")


class _Director:
    """Director of one training: its draws, its workers, and the damages of its store."""

    def __init__(self, number: int, seed: int, folder: Path, server: StorageServer) -> None:
        self.course = Course(number)
        self._seed = seed
        self._folder = folder
        self._server = server
        self._generator = random.Random(f"{seed} {number}")
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["benchmarks.checkpoints.worker"])
        self._lives = 0
        self._machines = 0
        self._awake: list[_Worker] = []
        self._asleep: list[_Worker] = []
        self._free = ""
        """The machine of the last worker that died, whose disk the next one may find."""
        self._losing = ""
        self._watch_store()

    def injected(self) -> int:
        """Return how many faults there were."""
        damages = [event["event"] for event in self.course.events if event["event"].endswith(" object")]
        self.course.faults = {**self._server.faults.injected, **{kind: damages.count(kind) for kind in set(damages)}}
        return sum(self.course.faults.values())

    def play(self) -> None:
        """Run one worker, or two at once; at the end all have ended but the frozen ones."""
        fate = self._generator.choices(list(FATES), list(FATES.values()))[0]
        self.course.fates[fate] += 1
        steps = 1000 if fate in {"killed", "rivals"} else self._generator.randint(*STEPS)
        strike = None
        if fate in {"killed", "frozen"} and self._generator.random() < SHARE_PLACED:
            number = signal.SIGKILL if fate == "killed" else signal.SIGSTOP
            place = self._generator.choice(PLACES)
            strike = Strike(place, 1 if place == "found" else self._generator.randint(1, 3), number)
        worker = self._start(steps, strike)
        if fate == "rivals":
            self._expect_end(self._start(self._generator.randint(*STEPS)))
        moment = time.monotonic() + self._generator.uniform(*MOMENT_SECONDS)
        if fate == "leaves" or strike is not None:
            self._expect_end(worker)
            moment = float("inf")
        while worker in self._awake and time.monotonic() < moment and not self._noted(worker, "struck"):
            self._attend(worker)
        if worker in self._awake and fate == "frozen":
            self._signal(worker, signal.SIGSTOP)
            worker.must_end = float("inf")
            self._awake.remove(worker)
            self._asleep.append(worker)
        elif worker in self._awake and fate != "leaves":
            self._kill(worker)
        while self._awake:
            self._attend(worker)
        # Not while one is frozen: it has decided its next actions by what it saw.
        if not self._asleep and self._generator.random() < SHARE_DAMAGED:
            self._damage()
        if self._generator.random() < SHARE_LEAPT:
            self._server.clock_ahead += timedelta(minutes=self._generator.uniform(*LEAP_MINUTES))

    def play_in_peace(self) -> None:
        """Wake the frozen worker and run one more, without faults."""
        self._server.faults.rate = 0.0
        worker = self._start(STEPS[0])
        self._expect_end(worker)
        while self._awake or self._asleep:
            self._attend(worker)

    def kill_all(self) -> None:
        """Leave no process behind."""
        for worker in [*self._awake, *self._asleep]:
            self._kill(worker)

    def _start(self, steps: int, strike: Strike | None = None) -> _Worker:
        if not self._free or self._generator.random() < SHARE_MOVED:
            self._machines += 1
            self._free = f"machine-{self._machines}"
        machine, self._free = self._free, ""
        self._lives += 1
        order = Order(
            life=self._lives,
            machine=machine,
            folder=self._folder / machine,
            steps=steps,
            address=self._server.url,
            ledger=self._folder / "ledger.jsonl",
            log=self._folder / "workers.log",
            seed=self._seed * 1000 + self.course.number,
            large=self.course.number == 0,
            strike=strike,
        )
        process = self._context.Process(target=live, args=(order,), daemon=True)
        with _STARTING:
            process.start()
        worker = _Worker(process, self._lives, machine)
        self._awake.append(worker)
        return worker

    def _attend(self, newest: _Worker) -> None:
        """Attend to the workers for a moment: remove the ended, wake the frozen once another has begun."""
        time.sleep(POLL_SECONDS)
        if self._asleep and (not newest.process.is_alive() or self._noted(newest, "began")):
            for worker in self._asleep:
                self._signal(worker, signal.SIGCONT)
                self._expect_end(worker)
            self._awake, self._asleep = [*self._awake, *self._asleep], []
        for worker in list(self._awake):
            if not worker.process.is_alive():
                self._bury(worker)
            elif time.monotonic() > worker.must_end:
                self.course.deadlocks.append(f"course {self.course.number}, life {worker.life}")
                self._signal(worker, signal.SIGUSR1)
                time.sleep(1)
                self._kill(worker)

    def _noted(self, worker: _Worker, event: str) -> bool:
        ledger = self._folder / "ledger.jsonl"
        notes = ledger.read_text(encoding="utf-8").splitlines() if ledger.exists() else []
        return any(note["life"] == worker.life and note["event"] == event for note in map(json.loads, notes))

    def _expect_end(self, worker: _Worker) -> None:
        worker.must_end = time.monotonic() + SECONDS_TO_END

    def _kill(self, worker: _Worker) -> None:
        self._signal(worker, signal.SIGKILL)
        self._bury(worker)

    def _bury(self, worker: _Worker) -> None:
        worker.process.join()
        self._awake = [other for other in self._awake if other is not worker]
        self._asleep = [other for other in self._asleep if other is not worker]
        self._free = worker.machine

    @staticmethod
    def _signal(worker: _Worker, number: int) -> None:
        # It may end at any moment.
        with suppress(ProcessLookupError):
            if worker.process.is_alive() and worker.process.pid is not None:
                os.kill(worker.process.pid, number)

    def _damage(self) -> None:
        """Lose or corrupt an object of the newest checkpoint."""
        # By then all requests of dead workers have arrived.
        time.sleep(self._server.faults.seconds_of_delay)
        prefix = f"{TRAINING}/{MANIFESTS}"
        keys = set(self._server.keys())
        names = sorted(key for key in keys if key.startswith(prefix))
        if not names:
            return
        try:
            manifest = Manifest.from_bytes(self._server.storage.get_file(self._server.bucket, names[-1]))
        except ValueError:
            return  # already damaged
        blobs = [f"{TRAINING}/{BLOBS}{file.sha256}" for file in manifest.files.values()]
        key = self._generator.choice([names[-1], *blobs])
        if key not in keys:
            return
        if self._generator.random() < 0.5:
            self._server.damage(key, self._generator)
            self._note("corrupted object", key=key)
        else:
            self._losing = key
            self._server.lose(key)

    def _watch_store(self) -> None:
        """Record every object that a request creates or deletes, at that moment."""
        storage = self._server.storage
        kind = type(storage)

        def create_file(bucket: str, name: str, content: bytes, resource: dict[str, Any]) -> None:
            kind.create_file(storage, bucket, name, content, resource)
            self._note("created", key=name, content=bytes(content))

        def delete_file(bucket: str, name: str) -> None:
            kind.delete_file(storage, bucket, name)
            # Between lives only the damage deletes anything.
            self._note("lost object" if name == self._losing else "deleted", key=name)
            self._losing = ""

        storage.__dict__.update(create_file=create_file, delete_file=delete_file)

    def _note(self, event: str, **details: Any) -> None:
        self.course.events.append({"at": time.monotonic(), "life": None, "event": event, **details})


def run_courses(
    state: Path, courses: int, faults: int, rate: float, seed: int, seconds_of_delay: float
) -> list[Course]:
    """Run concurrent trainings, each until it has had its share of the faults and then in peace.

    The seed decides every draw, `rate` is the share of the requests that fail, and answers are delayed by at most so
    many seconds. A training's events stay in its folder, to find out how a promise came to be broken.
    """

    def one(number: int) -> Course:
        folder = (state / f"course-{number}").resolve()
        folder.mkdir(parents=True)
        started = time.monotonic()
        wanted = Faults(seed=seed * 1000 + number, rate=rate, seconds_of_delay=seconds_of_delay)
        with storage_server(wanted) as server:
            director = _Director(number, seed, folder, server)
            try:
                while director.injected() < -(-faults // courses):
                    director.play()
                director.play_in_peace()
            finally:
                director.kill_all()
        course = director.course
        notes = (folder / "ledger.jsonl").read_text(encoding="utf-8").splitlines()
        course.events = sorted([*course.events, *map(json.loads, notes)], key=lambda event: float(event["at"]))
        course.seconds = time.monotonic() - started
        with (folder / "events.jsonl").open("w", encoding="utf-8") as file:
            for event in course.events:
                file.write(json.dumps({name: value for name, value in event.items() if name != "content"}) + "\n")
        return course

    # The emulator below the service logs missing objects, which are no fault.
    logging.getLogger("gcp_storage_emulator").setLevel(logging.CRITICAL)
    with ThreadPoolExecutor(courses) as pool:
        return list(pool.map(one, range(courses)))
