"""Stores to test against: one in memory, one in a folder, and a bucket of an emulator that honours preconditions."""

from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from threading import Lock
from typing import Any

import pytest

from tasks.checkpoints.folder_store import FolderStore
from tasks.checkpoints.gcs_store import GcsStore
from tasks.checkpoints.object_store import ObjectMissing, ObjectStore

BUCKET = "checkpoints"


class MemoryStore:
    """An object store that is as fast as a dictionary, and whose bytes a test can spoil."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self._lock = Lock()

    def put_new(self, key: str, content: Path | bytes) -> bool:
        data = content if isinstance(content, bytes) else content.read_bytes()
        with self._lock:
            created = key not in self.objects
            self.objects.setdefault(key, data)
        return created

    def read(self, key: str) -> bytes:
        if key not in self.objects:
            raise ObjectMissing(f"no object {key}")
        return self.objects[key]

    def download(self, key: str, path: Path) -> None:
        path.write_bytes(self.read(key))

    def keys(self, prefix: str) -> list[str]:
        return sorted(key for key in self.objects if key.startswith(prefix))

    def delete(self, key: str) -> None:
        self.objects.pop(key, None)


@pytest.fixture(scope="session")
def gcs_client() -> Iterator[Any]:
    """A client of Google's own making, talking to the emulator."""
    from gcp_storage_emulator import server
    from gcp_storage_emulator.handlers import objects
    from google.auth.credentials import AnonymousCredentials
    from google.cloud.storage import Client

    def insert(request: Any, response: Any, storage: Any, *more: Any, **named: Any) -> None:
        """Refuse to overwrite where the request says so: the emulator itself ignores every precondition."""
        name = request.data.get("meta", request.data)["name"]
        taken = {item["name"] for item in storage.get_file_list(request.params["bucket_name"])[0]}
        if request.query.get("ifGenerationMatch") == ["0"] and name in taken:
            response.status = HTTPStatus.PRECONDITION_FAILED
            return
        objects.insert(request, response, storage, *more, **named)

    with pytest.MonkeyPatch.context() as patch:
        for _, handlers in server.HANDLERS:
            if handlers.get(server.POST) is objects.insert:
                patch.setitem(handlers, server.POST, insert)
        emulator = server.create_server("127.0.0.1", 0, in_memory=True, default_bucket=BUCKET)
        with emulator:
            port = emulator._api._httpd.server_address[1]
            yield Client(
                project="test",
                credentials=AnonymousCredentials(),
                client_options={"api_endpoint": f"http://127.0.0.1:{port}"},
            )


@pytest.fixture(params=["memory", "folder", pytest.param("gcs", marks=pytest.mark.integration)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    if request.param == "memory":
        return MemoryStore()
    if request.param == "folder":
        return FolderStore(tmp_path / "mirror")
    client = request.getfixturevalue("gcs_client")
    for blob in client.list_blobs(BUCKET):
        blob.delete()
    return GcsStore(BUCKET, client)
