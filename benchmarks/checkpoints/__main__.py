"""Cost of checkpoints: time that training stands still, bytes sent, and the rate of mirroring.

Standing still: after each step of one training, in turns, its state is captured only, as after most steps; is captured
and passed to threads, which write and mirror it while training continues; or is saved by Transformers and uploaded
while training waits. At the size of the profile `local`, and at that of an adapter of 40 MB whose optimizer has twice
as much. A step's time is from its beginning until its saving begins. Limit: capture and passing on take at most 1 % of
it.

Bytes: of two checkpoints of that training the second sends at most those of its files that the first lacked, its
manifest and 1 KiB for each request; the same one again sends no file.

Rate: 500 MB in nine files, mirrored and uploaded by a bare `upload_many`, in turns. Limit: at least 70 % of its rate.

The storage service is a process of its own on this machine, as fast as loopback is: it takes less time than a network.
"""

import os
import shutil
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from benchmarks.checkpoints.service import BUCKET, Service, storage_service
from benchmarks.harness import Report, add_overrides, run_benchmark
from benchmarks.training.watched import BASE, SEED, TRAINING, Scene, kept, same_steps
from schemas.config.config import Config
from schemas.config.profiles import load_config
from tasks.checkpoints.address import open_mirror
from tasks.checkpoints.local import LocalCheckpoints, read_sealed
from tasks.policy.child import Channel

if TYPE_CHECKING:
    from tasks.checkpoints.checkpoint_manager import CheckpointManager
    from tasks.train.watch.checkpointer import Checkpointer

CAPTURED: Final = "captured only"
HANDED_OVER: Final = "handed over"
SYNCHRONOUS: Final = "saved and uploaded"
WAYS: Final = (CAPTURED, HANDED_OVER, SYNCHRONOUS)
RANKS: Final[Mapping[str, int]] = {"laptop": 16, "40 MB adapter": 868}
"""Rank of the adapter, by size."""
ONLY_WHEN_ASKED: Final = ("train.save_every=1000000", "train.preemption.snapshot_share=0")
"""Settings of a training that saves no checkpoint by itself."""
WARM_UP: Final = 2
"""Warm-up steps that do not count."""
FILES: Final = 9
FILE_BYTES: Final = 500_000_000 // FILES
REQUEST_BYTES: Final = 1 << 10
"""Metadata of an upload's request."""
UPLOADS: Final = 8
MAX_SHARE: Final = 0.01
MIN_RATE: Final = 0.7


@dataclass
class Times:
    """Times after the steps of one way of saving, in seconds."""

    standing: list[float] = field(default_factory=list)
    next_step: list[float] = field(default_factory=list)
    """The next step, in which the background threads work if there is something to do."""


@dataclass(frozen=True)
class Sent:
    """Bytes sent to the mirror by checkpoints."""

    whole: int
    """By the first."""
    second: int
    changed: int
    """By the second, in files that the first lacked."""
    allowed: int
    """`changed`, the manifest and the requests' metadata."""
    again: int
    """By the second once more."""
    allowed_again: int
    """The manifest and its request's metadata."""


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--saves", type=int, default=5, help="of each way at the laptop's size")
    parser.add_argument("--large-saves", type=int, default=2, help="at the other size")
    parser.add_argument("--turns", type=int, default=6, help="of mirroring 500 MB")
    add_overrides(parser)


def measure(report: Report, options: Namespace) -> None:
    """Mirror large files, then save while training at both sizes."""
    os.environ["CUDA_VISIBLE_DEVICES"] = ""

    import transformers

    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as folder, storage_service() as service:
        if options.turns:
            _report_rates(report, _rates(Path(folder) / "rates", options.turns, service))
        sent = {}
        for (size, rank), saves in zip(RANKS.items(), (options.saves, options.large_saves), strict=True):
            if not saves:
                continue
            steps = WARM_UP + len(WAYS) * saves + 1
            changes = [*ONLY_WHEN_ASKED, f"train.lora.rank={rank}", f"train.max_steps={steps}"]
            config = load_config("local", [*options.set, *changes])
            times, sent[size] = _train(config, Path(folder) / str(rank), service)
            _report_standing(report, size, times)
        _report_sent(report, sent)


def _train(config: Config, folder: Path, service: Service) -> tuple[Mapping[str, Times], Sent]:
    """Train and save each way in turns; then mirror two of the checkpoints again."""
    folder.mkdir()
    service.forget()
    checkpoints = folder / "checkpoints"
    with (
        Path(os.devnull).open("w", encoding="utf-8") as nobody,
        # TRL prints what it logs.
        redirect_stdout(nobody),
        kept(config, checkpoints, f"gs://{BUCKET}/kept") as keeper,
    ):
        trainer, checkpointer = Scene(config, folder, Channel(nobody), same_steps(config)).ours(keeper)
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
            self.times = {way: Times() for way in WAYS}
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


def _sent(first: Path, second: Path, service: Service) -> Sent:
    """Mirror two checkpoints, and the second one again, where there were none."""
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
    small = len(changed) * REQUEST_BYTES + of_manifest + REQUEST_BYTES
    bytes_changed = sum(changed.values())
    return Sent(whole, received, bytes_changed, bytes_changed + small, again, of_manifest)


def _rates(folder: Path, turns: int, service: Service) -> Mapping[str, Sequence[float]]:
    """Mirror and upload a large checkpoint in turns; return the seconds of both."""
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
    for turn in range(turns + 1):
        for way in sorted(ways, reverse=bool(turn % 2)):
            service.forget()
            started = time.perf_counter()
            ways[way]()
            if turn:
                seconds[way].append(time.perf_counter() - started)
    service.forget()
    shutil.rmtree(folder)
    return seconds


def _report_standing(report: Report, size: str, times: Mapping[str, Times]) -> None:
    step = median(times[CAPTURED].next_step)
    shares = {way: median(of_way.standing) / step for way, of_way in times.items()}
    rows = []
    for way, of_way in times.items():
        limit = f"{MAX_SHARE:.0%}" if way == HANDED_OVER else ""
        standing, following = 1000 * median(of_way.standing), 1000 * median(of_way.next_step)
        rows.append((way, standing, 1000 * max(of_way.standing), shares[way], limit, following))
    forms = {
        "stands still, ms": ".1f",
        "longest, ms": ".1f",
        "of a step": ".2%",
        "at most": "",
        "the next step, ms": ".0f",
    }
    title = f"{size}: median of {len(times[HANDED_OVER].standing)}, a step takes {1000 * step:.0f} ms"
    report.table(title, {"after a step": "", **forms}, rows)
    taken = shares[HANDED_OVER]
    report.limit(taken <= MAX_SHARE, f"{size}: handing over takes {taken:.2%} of a step, limit {MAX_SHARE:.0%}")


def _report_sent(report: Report, sent: Mapping[str, Sent]) -> None:
    rows = []
    for size, found in sent.items():
        figures = (found.whole, found.second, found.changed, found.allowed, found.again, found.allowed_again)
        rows.append((size, *(f"{figure:,}" for figure in figures)))
        second = f"{size}: a second checkpoint sends {found.second:,} bytes, limit {found.allowed:,}"
        report.limit(found.second <= found.allowed, second)
        again = f"{size}: the same checkpoint sends {found.again:,} bytes, limit {found.allowed_again:,}"
        report.limit(found.again <= found.allowed_again, again)
    columns = ("", "first", "second", "of it changed", "at most", "again", "at most")
    report.table("Bytes sent to the mirror", columns, rows)


def _report_rates(report: Report, seconds: Mapping[str, Sequence[float]]) -> None:
    share = median(seconds["bare"]) / median(seconds["mirrored"])
    rows = []
    for way, taken in seconds.items():
        limited = (f"{share:.2f}", f"{MIN_RATE}") if way == "mirrored" else ()
        rows.append((way, f"{median(taken):.2f}", f"{FILES * FILE_BYTES / 1e6 / median(taken):.0f}", *limited))
    title = f"500 MB in {FILES} files, median of {len(seconds['bare'])}"
    report.table(title, ("", "s", "MB/s", "of the bare rate", "at least"), rows)
    report.limit(share >= MIN_RATE, f"mirroring reaches {share:.2f} of the rate of a bare upload, limit {MIN_RATE}")


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
