"""A bucket when the service fails, refuses, or keeps another time than this machine."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path

import pytest

from schemas.errors import InputError
from tasks.checkpoints import gcs_store
from tasks.checkpoints.gcs_store import GcsStore
from tasks.checkpoints.object_store import StoredObject, create
from tests.storage_server import FaultKind, Faults, StorageServer

pytestmark = pytest.mark.integration

LARGE = os.urandom(20 << 20)
"""Sent in several parts."""


@pytest.fixture
def store(service: StorageServer, monkeypatch: pytest.MonkeyPatch) -> GcsStore:
    monkeypatch.setattr(gcs_store, "UPLOAD_CHUNK", 8 << 20)
    return GcsStore(service.bucket, service.client())


@pytest.mark.parametrize(
    ("kind", "content"),
    [("503", LARGE), ("reset-before", b"small"), ("half", LARGE), ("delay", b"small")],
    ids=["503", "reset", "half", "delay"],
)
def test_a_failed_request_is_sent_again(
    service: StorageServer, store: GcsStore, kind: FaultKind, content: bytes, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(content)
    service.faults = Faults(rate=1, kinds=(kind,), limit=2, seconds_of_delay=0.2)
    stored = store.put_new("a", tmp_path / "file")
    # What is only late is not sent again, and what is small is one request.
    assert service.faults.injected == {kind: 1 if kind == "delay" and content == b"small" else 2}
    assert stored is not None
    wanted: dict[Callable[[], object], object] = {
        lambda: store.read("a"): content,
        lambda: store.download("a", tmp_path / "back"): None,
        lambda: store.list(""): [stored],
        lambda: store.delete(stored): True,
    }
    for call, answer in wanted.items():
        service.faults = Faults(rate=1, kinds=(kind,), limit=1, seconds_of_delay=0.2)
        assert call() == answer
    assert (tmp_path / "back").read_bytes() == content
    assert service.keys() == []


def test_a_writer_whose_answer_is_lost_knows_its_own_object(service: StorageServer, store: GcsStore) -> None:
    content = b"small"
    service.faults = Faults(rate=1, kinds=("reset-after",), limit=4)
    assert create(store, "lease/1", content)
    assert service.faults.injected["reset-after"] > 0
    service.faults = Faults(rate=1, kinds=("reset-after",), limit=1)
    assert not create(store, "lease/1", b"another's")
    assert store.read("lease/1") == content


def _calls(store: GcsStore, folder: Path) -> list[Callable[[], object]]:
    (folder / "large").write_bytes(LARGE)
    stored = StoredObject("a", 1, 1, "AAAAAA==", datetime.now(UTC))
    return [
        lambda: store.put_new("a", b"x"),
        lambda: store.put_new("a", folder / "large"),
        lambda: store.list(""),
        lambda: store.read("a"),
        lambda: store.download("a", folder / "back"),
        lambda: store.delete(stored),
    ]


@pytest.mark.parametrize(
    ("refusal", "said"),
    [
        (HTTPStatus.FORBIDDEN, r"^there is no permission to use the bucket checkpoints; give the account the role"),
        (HTTPStatus.UNAUTHORIZED, r"^the Google credentials for the bucket checkpoints are refused; run `gcloud"),
        (HTTPStatus.SERVICE_UNAVAILABLE, r"^the bucket checkpoints could not be reached within 0.1 .*HTTP status 503"),
        (HTTPStatus.FORBIDDEN, r"^the quota for the bucket checkpoints is used up; raise it"),
    ],
)
def test_a_refusal_is_one_sentence(service: StorageServer, tmp_path: Path, refusal: HTTPStatus, said: str) -> None:
    store = GcsStore(service.bucket, service.client(), seconds_to_retry=0.1)
    service.refusal, service.refusal_text = refusal, "over quota" if "quota for" in said else ""
    for call in _calls(store, tmp_path):
        with pytest.raises(InputError, match=said):
            call()
    assert not (tmp_path / "back").exists()
    assert service.keys() == []


def test_credentials_that_name_no_project_are_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = '{"type": "authorized_user", "client_id": "a", "client_secret": "b", "refresh_token": "c"}'
    (tmp_path / "own").write_text(own)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "own"))
    monkeypatch.setenv("PATH", "")
    GcsStore("loja")


def test_an_altered_upload_is_no_object(service: StorageServer, store: GcsStore, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(LARGE)
    service.faults = Faults(rate=1, kinds=("altered",), limit=1, methods=("PUT",))
    with pytest.raises(InputError, match="bucket checkpoints"):
        store.put_new("a", tmp_path / "file")
    assert service.keys() == []
