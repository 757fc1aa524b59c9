"""A storage service on loopback: the PyPI emulator, with preconditions, threads, speed, faults and limits.

The emulator answers one request after the other, ignores every precondition, and copies what it has of an upload with
each part of it. Its resources, checksums, buckets and listings are used; requests and uploads are done here.
"""

import json
import random
import re
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from http.server import ThreadingHTTPServer
from typing import Any, Final, Literal

from gcp_storage_emulator import server as emulator
from gcp_storage_emulator.exceptions import BadRequest
from gcp_storage_emulator.handlers import buckets, objects
from gcp_storage_emulator.storage import Storage

FaultKind = Literal["429", "503", "reset-before", "reset-after", "half", "delay"]
FAULTS: Final[tuple[FaultKind, ...]] = ("429", "503", "reset-before", "reset-after", "half", "delay")
READ_SIZE: Final = 1 << 20
PERSISTED_UNIT: Final = 256 << 10
"""Of a broken part of a resumable upload, the service keeps whole units of this many bytes."""
_RESET: Final = struct.pack("ii", 1, 0)
"""Linger for no time: closing the socket resets the connection."""


@dataclass
class Faults:
    """Which requests fail, and how: the same seed gives the same sequence of decisions.

    `429` and `503` are answers; `reset-before` and `reset-after` reset the connection, before or after the request was
    carried out; `half` breaks an upload or a download in its middle; `delay` answers late.
    """

    seed: int = 0
    rate: float = 0.0
    """Share of the requests that fail, 0 to 1; may be changed at any time."""
    kinds: tuple[FaultKind, ...] = FAULTS
    seconds_of_delay: float = 3.0
    """The longest delay."""
    limit: int | None = None
    """No more faults than this; no limit where None."""
    methods: tuple[str, ...] = ("GET", "POST", "PUT", "DELETE")
    """Only requests of these methods fail."""
    injected: Counter[str] = field(default_factory=Counter)
    """How many there were, by kind."""

    def __post_init__(self) -> None:
        self._generator = random.Random(self.seed)
        self._lock = threading.Lock()

    def draw(self, method: str, *, has_bytes: bool) -> FaultKind | None:
        """Decide what happens to a request; `half` only to one that moves bytes of an object."""
        with self._lock:
            if self._generator.random() >= self.rate or method not in self.methods:
                return None
            if self.limit is not None and self.injected.total() >= self.limit:
                return None
            kinds = [kind for kind in self.kinds if has_bytes or kind != "half"]
            if not kinds:
                return None
            kind = self._generator.choice(kinds)
            self.injected[kind] += 1
            return kind

    def draw_delay(self) -> float:
        """Return the seconds of one delay."""
        with self._lock:
            return self._generator.uniform(0, self.seconds_of_delay)


class StorageServer:
    """A running service with one bucket."""

    def __init__(self, faults: Faults, bucket: str) -> None:
        self.faults = faults
        self.bucket = bucket
        self.bytes_received = 0
        """Bytes of bodies of uploads so far, of broken ones too; may be set to 0."""
        self.upload_rate: float | None = None
        """Bytes a second over all uploads together; unlimited where None. May be changed while they run."""
        self.refusal: HTTPStatus | None = None
        """The answer to every request, such as 403, where there is one."""
        self.clock_ahead = timedelta(0)
        """How far the service's clock is ahead of this machine's."""
        self.storage = _Storage(self._now)
        self.lock = threading.Lock()
        self._rate_lock = threading.Lock()
        self._free_at = 0.0
        buckets.create_bucket(bucket, self.storage)
        self.storage.buckets[bucket]["softDeletePolicy"] = {"retentionDurationSeconds": "0"}
        self._httpd = _Server(("127.0.0.1", 0), partial(_Handler, self))
        self.url = f"http://127.0.0.1:{self._httpd.server_address[1]}"
        self._thread = threading.Thread(target=self._httpd.serve_forever, args=(0.05,), daemon=True)

    def client(self) -> Any:
        """Return a client of Google's own making that speaks to this service, without credentials."""
        from google.auth.credentials import AnonymousCredentials
        from google.cloud.storage import Client

        return Client(project="test", credentials=AnonymousCredentials(), client_options={"api_endpoint": self.url})

    def keys(self) -> list[str]:
        """Return the names of all objects, sorted."""
        with self.lock:
            return sorted(self.storage.objects.get(self.bucket, {}))

    def damage(self, key: str, generator: random.Random) -> None:
        """Flip a bit of a stored byte; what the service says of the object stays as it was."""
        with self.lock:
            content = bytearray(self.storage.get_file(self.bucket, key))
            content[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
            self.storage.replace(self.bucket, key, bytes(content))

    def lose(self, key: str) -> None:
        """Lose an object."""
        with self.lock:
            self.storage.delete_file(self.bucket, key)

    def reset(self) -> None:
        """Forget every object, fault and limit."""
        self.faults, self.upload_rate, self.refusal, self.clock_ahead = Faults(), None, None, timedelta(0)
        self.bytes_received = 0
        for key in self.keys():
            self.lose(key)

    def count_received(self, size: int) -> None:
        """Count bytes of an upload and wait as long as the upload rate asks."""
        with self._rate_lock:
            self.bytes_received += size
            if self.upload_rate is None:
                return
            now = time.monotonic()
            self._free_at = max(now, self._free_at) + size / self.upload_rate
            wait = self._free_at - now
        time.sleep(wait)

    def _now(self) -> datetime:
        return datetime.now(UTC) + self.clock_ahead

    def start(self) -> None:
        """Answer requests from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Answer no more requests."""
        self._httpd.shutdown()
        self._httpd.server_close()
        self._thread.join()


@contextmanager
def storage_server(faults: Faults | None = None, bucket: str = "checkpoints") -> Iterator[StorageServer]:
    """Run a storage service with one bucket.

    A process whose environment has STORAGE_EMULATOR_HOST set to its `url` reaches it as `gs://<bucket>`.

    Args:
        faults: What goes wrong; nothing where None. `server.faults` may be changed at any time.
        bucket: Name of the bucket.
    """
    service = StorageServer(faults or Faults(), bucket)
    service.start()
    try:
        yield service
    finally:
        service.stop()


@dataclass
class _Upload:
    """A resumable upload: its bytes arrive in parts, each read from the connection to where it belongs."""

    resource: dict[str, Any]
    content: bytearray = field(default_factory=bytearray)
    received: int = 0
    finished: bool = False

    def place_for(self, start: int, size: int, total: int | None) -> memoryview:
        """Return where a part goes; what is sent again takes the place that it had."""
        if start > self.received:
            raise BadRequest(f"the part starts at {start}, but only {self.received} bytes are there")
        missing = max(start + size, total or 0) - len(self.content)
        if missing > 0:
            self.content.extend(bytes(missing))
        return memoryview(self.content)[start : start + size]


class _Storage(Storage):  # type: ignore[misc]  # the emulator has no types
    """The emulator's storage, in memory alone; an object gets its time and its number when it is whole."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        super().__init__(use_memory_fs=True)
        self._now = now
        self._generation = time.time_ns() // 1000
        self.uploads: dict[str, _Upload] = {}

    def _write_config_to_file(self) -> None:
        """Nothing outlives the process."""

    def create_resumable_upload(self, bucket_name: str, file_name: str, file_obj: dict[str, Any]) -> str:
        if bucket_name not in self.buckets:
            raise NotFound
        upload_id = uuid.uuid4().hex
        self.uploads[upload_id] = _Upload(file_obj)
        return upload_id

    def create_file(self, bucket_name: str, file_name: str, content: Any, file_obj: dict[str, Any]) -> None:
        self._generation += 1
        now = self._now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        file_obj |= {"generation": str(self._generation), "timeCreated": now, "updated": now}
        super().create_file(bucket_name, file_name, content, file_obj)

    def replace(self, bucket_name: str, file_name: str, content: bytes) -> None:
        self._store.write_bytes(self._object_path(bucket_name, file_name), content)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128


class _Handler(emulator.RequestHandler):  # type: ignore[misc]  # the emulator has no types
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def __init__(self, service: StorageServer, *args: Any) -> None:
        self.service = service
        super().__init__(service.storage, *args)

    def do_GET(self) -> None:
        self._handle("GET")

    def do_POST(self) -> None:
        self._handle("POST")

    def do_PUT(self) -> None:
        self._handle("PUT")

    def do_DELETE(self) -> None:
        self._handle("DELETE")

    def do_PATCH(self) -> None:
        self._handle("PATCH")

    def _handle(self, method: str) -> None:
        request, response = emulator.Request(self, method), emulator.Response(self)
        size = int(self.headers.get("Content-Length") or 0)
        sends = "/upload/" in request.path and size > 0
        fault = self.service.faults.draw(method, has_bytes=sends or request.query.get("alt") == ["media"])
        if fault == "reset-before":
            return self._reset()
        if fault == "delay":
            time.sleep(self.service.faults.draw_delay())
        upload = self.storage.uploads.get(request.query.get("upload_id", [""])[0])
        body = bytearray(size) if upload is None else b""
        received = size // 2 if sends and fault == "half" else size
        refusal = self.service.refusal or (HTTPStatus(int(fault)) if fault in {"429", "503"} else None)
        if upload is None or refusal is not None:
            body = self._receive(memoryview(bytearray(size))[:received], counted=sends)
        ...


    def _send_half(self, response: Any) -> None:
        whole = bytes(response._content) if not isinstance(response._content, str) else response._content.encode()
        self.send_response(response.status.value, response.status.phrase)
        for name, value in response._headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(whole)))
        self.end_headers()
        self.wfile.write(whole[: len(whole) // 2])
        self.wfile.flush()
        self._reset()

    def _reset(self) -> None:
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self.connection.close()

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


def _parse(body: bytearray, content_type: str, request: Any) -> Any:
    """Return a request's body as the emulator's handlers want it."""
    if content_type.startswith("multipart/related"):
        boundary = content_type.partition("boundary=")[2].strip("\"'")
        delimiter = b"--" + boundary.encode()
        _, description, rest = bytes(body).split(delimiter, 2)
        head, _, content = rest.partition(b"\r\n\r\n")
        return {
            "meta": json.loads(description.partition(b"\r\n\r\n")[2]),
            "content": content[: content.rindex(b"\r\n" + delimiter)],
            "content-type": head.partition(b":")[2].decode().strip(),
        }
    if content_type.startswith("application/json") and "upload_id" not in request.query:
        return json.loads(body) if body else None
    return bytes(body)
