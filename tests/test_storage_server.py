"""The storage service of the tests does what the real one promises, and goes wrong as it is set to."""

import random
from typing import Any

import pytest
from google.api_core.exceptions import NotFound, PreconditionFailed

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


def test_the_same_seed_decides_the_same_and_counts_by_kind() -> None:
    def draws(seed: int) -> list[str | None]:
        faults = Faults(seed=seed, rate=0.3)
        drawn = [faults.draw("PUT", has_bytes=True) for _ in range(300)]
        assert faults.injected.total() == sum(kind is not None for kind in drawn)
        return [*drawn]

    assert draws(1) == draws(1) != draws(2)
    assert set(draws(1)) == {None, *FAULTS}
    assert 50 < sum(kind is not None for kind in draws(1)) < 130
