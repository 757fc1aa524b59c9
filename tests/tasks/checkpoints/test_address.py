"""A mirror by its address: the store that it names, and one sentence where it names none."""

from pathlib import Path

import pytest

from tasks.checkpoints.address import open_store, trainings
from tests.storage_server import StorageServer


@pytest.fixture(params=["folder", "gs://checkpoints/some/prefix/"])
def address(
    request: pytest.FixtureRequest, service: StorageServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> str:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", service.url)
    return str(tmp_path / "mirror") if request.param == "folder" else request.param


def test_the_trainings_are_those_that_the_mirror_has_anything_of(address: str) -> None:
    assert trainings(address) == []
    store, prefix = open_store(address)
    for key in (
        "second/manifests/00000001-00000001.json",
        "first/lease/00000001/00000000.json",
        "third/stretches/00000001-begin.json",
        "third/manifests/00000001-00000001.json",
        "blobs-only/blobs/sha256/abc",
        "manifests/of-no-training",
        "clock/abc",
    ):
        store.put_new(f"{prefix}{key}", b"x")
    assert trainings(address) == ["first", "second", "third"]
