"""Cost of checkpoints: time that training stands still, bytes sent, and the rate of mirroring.

After each step of one training, in turns, its state is captured only, as after most steps; is captured and passed to
threads, which write and mirror it while training continues; or is saved by Transformers and uploaded while training
waits. The storage service is a process of its own on this machine: it takes less time than a network.
"""

import multiprocessing
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.harness import Report
from benchmarks.training.watched import BASE, SEED, TRAINING, kept, same_steps, watched_trainer
from schemas.config.config import Config
from schemas.config.profiles import load_config
from tasks.checkpoints.address import open_mirror
from tasks.checkpoints.local import LocalCheckpoints, read_sealed
from tasks.policy.child import Channel
from tests.storage_server import storage_server

if TYPE_CHECKING:
    from tasks.checkpoints.checkpoint_manager import CheckpointManager
    from tasks.train.watch.callbacks import Checkpointer

BUCKET: Final = "checkpoints"
CAPTURED: Final = "captured only"
HANDED_OVER: Final = "handed over"
SYNCHRONOUS: Final = "saved and uploaded"
WAYS: Final = (CAPTURED, HANDED_OVER, SYNCHRONOUS)
SIZES: Final[Mapping[str, tuple[int, int]]] = {"laptop": (16, 5), "40 MB adapter": (868, 2)}
"""Rank of the adapter and saves of each way, by size."""
ONLY_WHEN_ASKED: Final = ("train.save_every=1000000", "train.preemption.snapshot_share=0")
"""Settings of a training that saves no checkpoint by itself."""
WARM_UP: Final = 2
"""Warm-up steps that do not count."""
FILES: Final = 9
FILE_BYTES: Final = 500_000_000 // FILES
REQUEST_BYTES: Final = 1 << 10
"""Metadata of an upload's request."""
UPLOADS: Final = 8
TURNS: Final = 4
MAX_SHARE: Final = 0.01
MIN_RATE: Final = 0.7


@dataclass
class _Times:
    """Times after the steps of one way of saving, in seconds."""

    standing: list[float] = field(default_factory=list)
    next_step: list[float] = field(default_factory=list)
    """The next step, in which the background threads work if there is something to do."""


def measure_cost(report: Report, folder: Path, overrides: Sequence[str]) -> None:
    """Mirror large files, then save while training at both sizes."""
    import transformers

    transformers.utils.logging.disable_progress_bar()
    with _storage_service() as service:
        _report_rates(report, _rates(folder / "rates", service))
        sent: dict[str, Sequence[int]] = {}
        for size, (rank, saves) in SIZES.items():
            steps = WARM_UP + len(WAYS) * saves + 1
            changes = [*ONLY_WHEN_ASKED, f"train.lora.rank={rank}", f"train.max_steps={steps}"]
            config = load_config("local", [*overrides, *changes])
            times, bytes_sent = _train(config, folder / str(rank), service)
            _report_standing(report, size, times)
            sent[size] = bytes_sent
        columns = ("adapter", "first", "second", "at most", "again", "at most ")
        rows: list[tuple[str | int, ...]] = [(size, *found) for size, found in sent.items()]
        report.table("Bytes sent to the mirror", dict.fromkeys(columns, ","), rows)
        for size, (_, second, allowed, again, allowed_again) in sent.items():
            report.limit(second <= allowed, f"{size}: a second checkpoint sends {second:,} bytes, limit {allowed:,}")
            miss = f"{size}: the same checkpoint sends {again:,} bytes, limit {allowed_again:,}"
            report.limit(again <= allowed_again, miss)


class _Service:
    """A storage service in a process of its own; `gs://` reaches it while it runs."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        os.environ["STORAGE_EMULATOR_HOST"] = connection.recv()

    def take_received(self) -> int:
        """Return the bytes uploaded since the last call."""
        self._connection.send("received")
        return int(self._connection.recv())

    def forget(self) -> None:
        """Remove every object."""
        self._connection.send("forget")
        self._connection.recv()


def _serve(connection: Connection) -> None:
    with storage_server(bucket=BUCKET) as server:
        connection.send(server.url)
        while (wanted := connection.recv()) is not None:
            connection.send(server.bytes_received)
            server.bytes_received = 0
            if wanted == "forget":
                server.reset()


@contextmanager
def _storage_service() -> Iterator[_Service]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=[theirs], daemon=True)
    process.start()
    try:
        yield _Service(ours)
    finally:
        ours.send(None)
        process.join()


def _train(config: Config, folder: Path, service: _Service) -> tuple[Mapping[str, _Times], Sequence[int]]:
    """Train and save each way in turns; then mirror two of the checkpoints again."""
    folder.mkdir(parents=True)
    service.forget()
    checkpoints = folder / "checkpoints"
    with (
        Path(os.devnull).open("w", encoding="utf-8") as nobody,
        # TRL prints what it logs.
        redirect_stdout(nobody),
        kept(config, checkpoints, f"gs://{BUCKET}/kept") as keeper,
    ):
        trainer, checkpointer = watched_trainer(config, folder, Channel(nobody), same_steps(config), keeper)
        timer = _timer(trainer, checkpointer, keeper, folder / "ours")
        trainer.add_callback(timer)
        trainer.train()
    first, second = sorted(checkpoints.glob("checkpoint-*"))[-2:]
    return timer.times, _sent(first, second, service)


def _timer(trainer: Any, checkpointer: "Checkpointer", keeper: "CheckpointManager", work: Path) -> Any:
    """Return a callback that saves after each step, in a different way each time, and records the time."""
    from google.cloud.storage import Client
    from transformers import Trainer, TrainerCallback

    bucket = Client().bucket(BUCKET)

    class Timer(TrainerCallback):  # type: ignore[misc]
        def __init__(self) -> None:
            self.times = {way: _Times() for way in WAYS}
            self._before: str | None = None
            self._started = 0.0

        def on_step_begin(self, *_: Any, **__: Any) -> None:
            self._started = time.perf_counter()

        def on_step_end(self, args: Any, state: Any, control: Any, **named: Any) -> None:
            checkpointer.on_step_end(args, state, control, **named)

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            stopped = time.perf_counter()
            if self._before is not None:
                self.times[self._before].next_step.append(stopped - self._started)
            # The next way must not wait for the threads' remaining work.
            keeper.flush()
            turn = state.global_step - WARM_UP - 1
            way = WAYS[turn % len(WAYS)]
            began = time.perf_counter()
            self._save(way, args, state, control)
            # The last step is never only captured: it would be mirrored anyway.
            if turn >= 0 and not control.should_training_stop:
                self.times[way].standing.append(time.perf_counter() - began)
                self._before = way
            shutil.rmtree(work, ignore_errors=True)

        def _save(self, way: str, args: Any, state: Any, control: Any) -> None:
            if way == SYNCHRONOUS:
                # Ours is replaced by one that writes nothing.
                Trainer._save_checkpoint(trainer, trainer.model, None)  # noqa: SLF001
                _upload(bucket, work, f"synchronous-{state.global_step}")
                return
            checkpointer.on_save(args, state, control)
            if way == HANDED_OVER:
                assert keeper.last is not None
                keeper.keep(keeper.last, "newest")

    return Timer()


def _upload(bucket: Any, folder: Path, prefix: str) -> None:
    """Upload every file of a folder from threads, as Google's client does it best."""
    from google.cloud.storage import transfer_manager

    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    transfer_manager.upload_many(
        [(str(path), bucket.blob(f"{prefix}/{path.relative_to(folder)}")) for path in paths],
        worker_type="thread",
        max_workers=UPLOADS,
        skip_if_exists=True,
        raise_exception=True,
    )


def _sent(first: Path, second: Path, service: _Service) -> Sequence[int]:
    """Mirror two checkpoints, and the second one again, where there were none.

    Returns:
        Bytes sent by the first; by the second, and the most that it may send; by it once more, and the most.
    """
    mirror = open_mirror(f"gs://{BUCKET}/sent", TRAINING)
    service.take_received()
    mirror.publish(first)
    whole = service.take_received()
    manifest = mirror.publish(second)
    received = service.take_received()
    mirror.publish(second)
    again = service.take_received()
    known = {file.sha256 for file in read_sealed(first).files.values()}
    changed = {file.sha256: file.size for file in manifest.files.values() if file.sha256 not in known}
    of_manifest = len(manifest.to_bytes()) + REQUEST_BYTES
    # As well as the files and the manifest there may be an empty object, whose time is the store's.
    allowed = sum(changed.values()) + len(changed) * REQUEST_BYTES + of_manifest + REQUEST_BYTES
    return whole, received, allowed, again, of_manifest


def _rates(folder: Path, service: _Service) -> Mapping[str, float]:
    """Mirror and upload a large checkpoint in turns; return the median seconds of both."""
    from google.cloud.storage import Client

    generator = np.random.default_rng(SEED)

    def fill(draft: Path) -> None:
        for number in range(FILES):
            (draft / f"weights-{number}.safetensors").write_bytes(generator.bytes(FILE_BYTES))

    checkpoint = LocalCheckpoints(folder, TRAINING, BASE).write(1, 1, {}, fill)
    bucket = Client().bucket(BUCKET)
    mirror = open_mirror(f"gs://{BUCKET}/rates", TRAINING)
    ways: Mapping[str, Callable[[], object]] = {
        "mirrored": lambda: mirror.publish(checkpoint),
        "bare": lambda: _upload(bucket, checkpoint, "bare"),
    }
    seconds: dict[str, list[float]] = {way: [] for way in ways}
    # One extra turn does not count; the order alternates.
    for turn in range(TURNS + 1):
        for way in sorted(ways, reverse=bool(turn % 2)):
            service.forget()
            started = time.perf_counter()
            ways[way]()
            if turn:
                seconds[way].append(time.perf_counter() - started)
    service.forget()
    shutil.rmtree(folder)
    return {way: median(taken) for way, taken in seconds.items()}


def _report_rates(report: Report, seconds: Mapping[str, float]) -> None:
    share = seconds["bare"] / seconds["mirrored"]
    report.line(
        f"500 MB in {FILES} files are mirrored in {seconds['mirrored']:.1f} s, and by a bare upload_many in "
        f"{seconds['bare']:.1f} s: {share:.2f} of its rate, limit {MIN_RATE}.\n"
    )
    report.limit(share >= MIN_RATE, f"mirroring reaches {share:.2f} of the rate of a bare upload, limit {MIN_RATE}")


def _report_standing(report: Report, size: str, times: Mapping[str, _Times]) -> None:
    step = median(times[CAPTURED].next_step)
    rows = []
    for way, each in times.items():
        standing = median(each.standing)
        rows.append((way, 1000 * standing, standing / step, 1000 * median(each.next_step)))
    columns = {"after a step": "", "stands still, ms": ".1f", "of a step": ".2%", "the next step, ms": ".0f"}
    title = f"{size}: median of {len(times[HANDED_OVER].standing)}, a step takes {1000 * step:.0f} ms"
    report.table(title, columns, rows)
    taken = median(times[HANDED_OVER].standing) / step
    report.limit(taken <= MAX_SHARE, f"{size}: handing over takes {taken:.2%} of a step, limit {MAX_SHARE:.0%}")
