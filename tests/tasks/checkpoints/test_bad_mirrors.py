"""Mirrors and disks that cannot be used, as a training meets them: one clear sentence, and nothing is deleted."""

import io
import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from schemas.config.train import TrainConfig
from schemas.errors import InputError
from tasks.checkpoints import local
from tasks.checkpoints.address import open_mirror, open_store
from tasks.checkpoints.checkpoint_manager import Checkpoint
from tasks.checkpoints.lease import Lease
from tasks.checkpoints.local import read_sealed
from tasks.checkpoints.mirror import nothing
from tasks.policy.child import Channel
from tasks.train.request import TrainRequest
from tasks.train.resume.lease import CHECKPOINTS_FOLDER, acquire_training
from tasks.train.resume.preemption import Preemption
from tests.small_disk import mounted_disk
from tests.storage_server import StorageServer
from tests.tasks.checkpoints.checkpoint_folders import BASE, filling

TRAINING = "train-1"
FILES = {"adapter.bin": b"weights", "tokenizer.json": b"the same"}
DISK = 1 << 20
HOUR = timedelta(hours=1)


class Worker:
    """A training on a machine of its own, which saves a checkpoint after every step."""

    def __init__(self, folder: Path, mirror: str, base: str = BASE, training: str = TRAINING) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.mirror = mirror
        self.alarms = io.StringIO()
        self._base = base
        self._training = training

    def train(self, steps: int, files: dict[str, bytes] = FILES, meanwhile: Callable[[], None] = nothing) -> int:
        """Train for so many steps, and return the step that was resumed from."""
        with acquire_training(self._request(), self.folder, Channel(self.alarms), Preemption(25)) as held:
            meanwhile()
            for step in range(held.step + 1, held.step + steps + 1):
                fill = filling({**files, "state.json": str(step).encode()})
                held.keeper.keep(Checkpoint(step, {}, fill), "newest")
                held.keeper.flush()
        return held.step

    def saved(self) -> list[int]:
        """Return the steps of the mirror's checkpoints whose every byte verifies, the newest first."""
        mirror = open_mirror(self.mirror, self._training)
        for manifest in mirror.manifests():
            mirror.verify(manifest)
        return [manifest.step for manifest in mirror.manifests()]

    def _request(self) -> TrainRequest:
        return TrainRequest(
            config=TrainConfig.model_validate({"keep_checkpoints": 9}),
            spec="grounded",
            validation_temperature=0.1,
            validation_batch_size=1,
            max_prompt_tokens=1,
            seed=0,
            base=self.folder / "base",
            base_sha256=self._base,
            dataset=self.folder / "dataset",
            store=self.folder / "store",
            audit=self.folder / "audit",
            mirror=self.mirror,
            training=self._training,
            output=self.folder / "output",
        )


@pytest.fixture
def bucket(service: StorageServer, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", service.url)
    return f"gs://{service.bucket}/laptop"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted_disk(tmp_path, DISK) as disk:
        yield disk


def refusal(call: Callable[[], object]) -> str:
    """Return why something is refused: one sentence, with what to do."""
    with pytest.raises(InputError) as refused:
        call()
    sentence = str(refused.value)
    assert "\n" not in sentence
    assert "; " in sentence
    return sentence


def objects(address: str) -> dict[str, tuple[int, str]]:
    """Return what a mirror has, by key."""
    store, _ = open_store(address)
    return {stored.key: (stored.generation, stored.crc32c) for stored in store.list("")}


def checkpoints(address: str) -> dict[str, tuple[int, str]]:
    """Return what a mirror has but for the leases, which come and go."""
    return {key: found for key, found in objects(address).items() if "/lease/" not in key}


@pytest.mark.integration
def test_a_bucket_that_refuses_is_named_before_a_step_is_trained_and_when_one_is_saved(
    service: StorageServer, bucket: str, tmp_path: Path
) -> None:
    status = HTTPStatus.FORBIDDEN
    said = "there is no permission to use the bucket checkpoints; give the account the role"
    worker = Worker(tmp_path / "a", bucket)
    worker.train(2)
    before = objects(bucket)
    service.refusal = status
    assert refusal(lambda: Worker(tmp_path / "b", bucket).train(1)).startswith(said)
    service.refusal = None
    assert objects(bucket) == before

    def refuse() -> None:
        service.refusal = status

    assert refusal(lambda: worker.train(1, meanwhile=refuse)).startswith(said)
    assert "the checkpoint of step 3 is on the local disk only" in worker.alarms.getvalue()
    service.refusal = None
    assert worker.saved() == [2, 1]
    # Its lease could not be given back, and has run out by now.
    service.clock_ahead = HOUR
    assert worker.train(1) == 3
    assert worker.saved() == [4, 3, 2, 1]


@pytest.mark.integration
def test_a_full_disk_of_the_mirror_is_named_and_the_checkpoint_stays_on_the_other(
    small_disk: Path, tmp_path: Path
) -> None:
    worker = Worker(tmp_path / "a", str(small_disk))
    worker.train(2)
    before = checkpoints(str(small_disk))
    said = refusal(lambda: worker.train(1, {**FILES, "adapter.bin": os.urandom(DISK)}))
    assert said.startswith(
        f"the checkpoint mirror {small_disk} cannot be written (No space left on device); free space"
    )
    assert "the checkpoint of step 3 is on the local disk only" in worker.alarms.getvalue()
    assert before.items() <= checkpoints(str(small_disk)).items()
    assert worker.saved() == [2, 1]
    # What the worker has on its own disk is resumed from, once there is room.
    assert worker.train(1) == 3
    assert worker.saved() == [4, 2, 1]


@pytest.mark.integration
def test_a_full_local_disk_is_named_and_the_mirror_is_as_it_was(small_disk: Path, bucket: str, tmp_path: Path) -> None:
    worker = Worker(small_disk / "a", bucket)
    worker.train(2)
    before = checkpoints(bucket)
    said = refusal(lambda: worker.train(1, {**FILES, "adapter.bin": os.urandom(DISK)}))
    folder = small_disk / "a" / CHECKPOINTS_FOLDER
    assert said.startswith(f"the checkpoint of step 3 cannot be written to {folder} (No space left on device); free")
    assert before.items() <= checkpoints(bucket).items()
    assert worker.saved() == [2, 1]
    assert [read_sealed(path).step for path in sorted(folder.iterdir())] == [1, 2]
    assert worker.train(1) == 2


@pytest.mark.parametrize("ahead", [HOUR, -HOUR], ids=["ahead", "behind"])
def test_a_machine_whose_clock_is_wrong_by_an_hour_trains_as_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ahead: timedelta
) -> None:
    mirror = str(tmp_path / "mirror")
    Worker(tmp_path / "a", mirror).train(2)
    before = checkpoints(mirror)

    class Wrong(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> "Wrong":
            return cls.fromtimestamp((datetime.now(UTC) + ahead).timestamp(), tz)

    def another_prunes_and_waits() -> None:
        assert open_mirror(mirror, TRAINING).prune(keep_last=9).blobs == 0
        with pytest.raises(_Waits):
            _acquire(mirror)

    with monkeypatch.context() as patch:
        patch.setattr(local, "datetime", Wrong)
        assert Worker(tmp_path / "b", mirror).train(2, meanwhile=another_prunes_and_waits) == 2
    # Its checkpoints are the newest, whatever time they have.
    worker = Worker(tmp_path / "c", mirror)
    assert worker.train(0) == 4
    assert worker.saved() == [4, 3, 2, 1]
    assert before.items() <= checkpoints(mirror).items()


class _Waits(Exception):
    """Another process waits for the lease."""


def _acquire(address: str) -> None:
    def waiting(_: str, left: float) -> None:
        assert 0 < left <= 60
        raise _Waits

    opened = open_mirror(address, TRAINING)
    Lease.acquire(opened.store, opened.root, seconds=60, waiting=waiting)
