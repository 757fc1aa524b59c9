"""The storage service of the tests does what the real one promises, and goes wrong as it is set to."""

import random
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from google.api_core.exceptions import NotFound, PreconditionFailed
from google.cloud.storage.exceptions import DataCorruption

from tests.storage_server import FAULTS, Faults, StorageServer, storage_server

pytestmark = pytest.mark.integration

LARGE = random.Random(0).randbytes(9 << 20)
"""Google's client sends more than 8 MiB in another way."""


@pytest.fixture
def service() -> Any:
    with storage_server(bucket="bucket") as running:
        yield running


@pytest.mark.parametrize("content", [b"small", LARGE], ids=["small", "large"])
def test_only_the_generation_that_is_asked_for_is_replaced_deleted_and_read(
    service: StorageServer, content: bytes
) -> None:
    bucket = service.client().bucket("bucket")
    first = bucket.blob("a")
    first.upload_from_string(content, if_generation_match=0)
    for wrong in (0, first.generation + 1):
        with pytest.raises(PreconditionFailed):
            bucket.blob("a").upload_from_string(content, if_generation_match=wrong)
        with pytest.raises(PreconditionFailed):
            bucket.blob("a").delete(if_generation_match=wrong)
    bucket.blob("a").upload_from_string(content + b"2", if_generation_match=first.generation)
    assert bucket.blob("a").download_as_bytes() == content + b"2"
    with pytest.raises(NotFound):
        bucket.blob("a", generation=first.generation).download_as_bytes()
    second = bucket.get_blob("a")
    assert second.generation > first.generation
    second.delete(if_generation_match=second.generation)
    assert service.keys() == []


def test_a_large_upload_that_started_first_loses_to_one_that_ended_first(service: StorageServer) -> None:
    bucket = service.client().bucket("bucket")
    started = bucket.blob("a").create_resumable_upload_session(size=4, if_generation_match=0)
    bucket.blob("a").upload_from_string(b"ended", if_generation_match=0)
    answer = service.client()._http.put(started, data=b"late", headers={"Content-Range": "bytes 0-3/4"})
    assert answer.status_code == 412
    assert bucket.blob("a").download_as_bytes() == b"ended"


def test_requests_are_answered_at_once_and_not_one_after_the_other(service: StorageServer) -> None:
    service.upload_rate = 1 << 20
    bucket = service.client().bucket("bucket")
    with ThreadPoolExecutor(2) as pool:
        slow = pool.submit(bucket.blob("slow").upload_from_string, bytes(1 << 20))
        while service.bytes_received == 0:
            time.sleep(0.01)
        assert list(service.client().list_blobs("bucket")) == []
        assert not slow.done()
        service.upload_rate = None
    assert service.keys() == ["slow"]


def test_uploads_share_the_rate_and_are_counted(service: StorageServer) -> None:
    service.upload_rate = 4 << 20
    bucket = service.client().bucket("bucket")
    began = time.monotonic()
    with ThreadPoolExecutor(4) as pool:
        for number in range(4):
            pool.submit(bucket.blob(str(number)).upload_from_string, bytes(512 << 10))
    assert time.monotonic() - began > 0.4
    assert 0 <= service.bytes_received - (2 << 20) < 10_000


def test_a_damaged_object_is_described_as_before(service: StorageServer) -> None:
    bucket = service.client().bucket("bucket")
    bucket.blob("a").upload_from_string(LARGE)
    before = bucket.get_blob("a")
    service.damage("a", random.Random(0))
    after = bucket.get_blob("a")
    assert (after.crc32c, after.generation, after.size) == (before.crc32c, before.generation, before.size)
    content = bucket.blob("a").download_as_bytes(checksum=None)
    assert sum(one != other for one, other in zip(content, LARGE, strict=True)) == 1
    with pytest.raises(DataCorruption):
        bucket.blob("a").download_as_bytes(checksum="crc32c")
    service.lose("a")
    assert bucket.get_blob("a") is None


def test_the_same_seed_decides_the_same_and_counts_by_kind() -> None:
    def draws(seed: int) -> list[str | None]:
        faults = Faults(seed=seed, rate=0.3)
        drawn = [faults.draw("PUT", has_bytes=True) for _ in range(300)]
        assert faults.injected.total() == sum(kind is not None for kind in drawn)
        return [*drawn]

    assert draws(1) == draws(1) != draws(2)
    assert set(draws(1)) == {None, *FAULTS}
    assert 50 < sum(kind is not None for kind in draws(1)) < 130


def test_no_more_faults_than_the_limit_and_only_of_the_methods() -> None:
    faults = Faults(rate=1, limit=3, methods=("PUT",))
    assert [faults.draw("GET", has_bytes=False) for _ in range(5)] == [None] * 5
    assert sum(faults.draw("PUT", has_bytes=True) is not None for _ in range(5)) == 3
