"""A storage service on loopback: the PyPI emulator, with preconditions, threads, speed, faults and limits.

The emulator answers one request after the other, ignores every precondition, and copies what it has of an upload with
each part of it. Its resources, checksums, buckets and listings are used; requests and uploads are done here.
"""

import base64
import json
import random
import re
import socket
import struct
import sys
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from http.server import ThreadingHTTPServer
from typing import Any, Final, Literal

import google_crc32c
from gcp_storage_emulator import server as emulator
from gcp_storage_emulator.exceptions import NotFound
from gcp_storage_emulator.handlers import buckets, objects
from gcp_storage_emulator.storage import Storage

from tests.answering_server import in_a_thread

FaultKind = Literal["429", "503", "reset-before", "reset-after", "half", "delay", "altered"]
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
    carried out; `half` breaks an upload or a download in its middle; `delay` answers late; `altered`, which encryption
    makes unlikely, flips a bit of an upload on its way. A share `rate` of the requests of some methods fails, and no
    more than the limit; `injected` counts them by kind. All may be changed at any time.
    """

    seed: int = 0
    rate: float = 0.0
    kinds: tuple[FaultKind, ...] = FAULTS
    seconds_of_delay: float = 3.0
    """The longest delay."""
    limit: int | None = None
    methods: tuple[str, ...] = ("GET", "POST", "PUT", "DELETE")
    injected: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._generator = random.Random(self.seed)
        self._lock = threading.Lock()

    def draw(self, method: str, *, has_bytes: bool) -> FaultKind | None:
        """Decide what happens to a request; `half` and `altered` only to one that moves bytes of an object."""
        with self._lock:
            if self._generator.random() >= self.rate or method not in self.methods:
                return None
            if self.limit is not None and self.injected.total() >= self.limit:
                return None
            kinds = [kind for kind in self.kinds if has_bytes or kind not in {"half", "altered"}]
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
        self.refusal_text = ""
        """What that answer says, where it says more than its status."""
        self.clock_ahead = timedelta(0)
        """How far the service's clock is ahead of this machine's."""
        self.storage = _Storage(self._now)
        self.lock = threading.Lock()
        self._rate_lock = threading.Lock()
        self._free_at = 0.0
        buckets.create_bucket(bucket, self.storage)
        self.storage.buckets[bucket]["softDeletePolicy"] = {"retentionDurationSeconds": "0"}
        self.url = ""

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
        self.faults, self.upload_rate, self.clock_ahead = Faults(), None, timedelta(0)
        self.refusal, self.refusal_text, self.bytes_received = None, "", 0
        self.storage.uploads.clear()
        self.storage.earlier = None
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


@contextmanager
def storage_server(faults: Faults | None = None, bucket: str = "checkpoints") -> Iterator[StorageServer]:
    """Run a storage service with one bucket; nothing goes wrong without `faults`, which may change at any time.

    A process whose environment has STORAGE_EMULATOR_HOST set to its `url` reaches it as `gs://<bucket>`.
    """
    service = StorageServer(faults or Faults(), bucket)
    with in_a_thread(_Server(("127.0.0.1", 0), partial(_Handler, service))) as service.url:
        yield service


@dataclass
class _Upload:
    """A resumable upload: its bytes arrive in parts, each read from the connection to where it belongs."""

    resource: dict[str, Any]
    content: bytearray = field(default_factory=bytearray)
    received: int = 0
    finished: bool = False

    def place_for(self, part: dict[str, Any], size: int) -> memoryview:
        """Return where a part goes; what is sent again takes the place that it had."""
        if self.finished or part["start"] is None or not self.received >= part["start"] <= part["total"] - size:
            return memoryview(bytearray(size))
        if not self.content:
            self.content = bytearray(part["total"])
        return memoryview(self.content)[part["start"] : part["start"] + size]

    def keep(self, part: dict[str, Any], size: int) -> None:
        """Count the first bytes of a part as received."""
        if part["start"] is not None and part["start"] <= self.received:
            self.received = max(self.received, part["start"] + size)


class _Storage(Storage):  # type: ignore[misc]  # the emulator has no types
    """The emulator's storage, in memory alone; an object gets its time and its generation when it is whole."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        super().__init__(use_memory_fs=True)
        self._now = now
        self._generation = time.time_ns() // 1000
        self.uploads: dict[str, _Upload] = {}
        self.earlier: dict[int, dict[str, Any]] | None = None
        """Generations that are no longer current, by number; None in a bucket without versions."""

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

    def generation_of(self, bucket_name: str, file_name: str | None) -> int:
        """Return the generation of an object; 0 where there is none."""
        return int(self.objects.get(bucket_name, {}).get(file_name, {}).get("generation", 0))

    def delete_file(self, bucket_name: str, file_name: str) -> None:
        if self.earlier is not None and (current := self.objects.get(bucket_name, {}).get(file_name)):
            self.earlier[int(current["generation"])] = current
        super().delete_file(bucket_name, file_name)

    def replace(self, bucket_name: str, file_name: str, content: bytes) -> None:
        self._store.write_bytes(self._object_path(bucket_name, file_name), content)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that went away."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


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

    def _handle(self, method: str) -> None:
        request, response = emulator.Request(self, method), emulator.Response(self)
        size = int(self.headers.get("Content-Length") or 0)
        sends = "/upload/" in request.path and size > 0
        fault = self.service.faults.draw(method, has_bytes=sends or request.query.get("alt") == ["media"])
        if fault == "reset-before":
            return self._reset()
        if fault == "delay":
            time.sleep(self.service.faults.draw_delay())
        refusal = self.service.refusal or (HTTPStatus(int(fault)) if fault in {"429", "503"} else None)
        upload = self.storage.uploads.get(request.query.get("upload_id", [""])[0])
        part = objects._parse_resumable_content_range(self.headers.get("Content-Range", ""))

        body = upload.place_for(part, size) if upload and not refusal else memoryview(bytearray(size))
        if sends and fault == "half":
            self._receive(body[: size // 2], counted=True)
            if upload:
                upload.keep(part, size // 2 - size // 2 % PERSISTED_UNIT)
            return self._reset()
        self._receive(body, counted=sends)
        if sends and fault == "altered":
            body[size // 2] ^= 1
        with self.service.lock:
            if refusal:
                _answer(response, refusal, self.service.refusal_text)
            elif upload:
                upload.keep(part, size)
                self._go_on(upload, part["total"], request, response)
            else:
                request._data = _parse(bytes(body), self.headers.get("Content-Type") or "")
                self._carry_out(request, response)
        if fault == "reset-after":
            return self._reset()
        if fault == "half":
            return self._send_half(response)
        response.close()
        self.wfile.flush()
        return None

    def _go_on(self, upload: _Upload, total: int | None, request: Any, response: Any) -> None:
        """Answer to a part of a resumable upload; the last one makes the object."""
        resource = upload.resource
        bucket, name = resource["bucket"], resource["name"]
        if upload.finished:
            response.json(resource)
        elif total is None or upload.received < total:
            response.status = objects.GoogleHTTPStatus.RESUME_INCOMPLETE
            if upload.received:
                response["Range"] = f"bytes=0-{upload.received - 1}"
        elif not self._condition_holds(request, self.storage.generation_of(bucket, name)):
            _answer(response, HTTPStatus.PRECONDITION_FAILED)
        else:
            content = memoryview(upload.content).toreadonly()
            checksum = _crc32c(content)
            if resource["crc32c"] not in {None, checksum}:
                return _answer(response, HTTPStatus.BAD_REQUEST)
            resource |= {"crc32c": checksum, "size": str(len(content))}
            self.storage.create_file(bucket, name, content, resource)
            upload.finished, upload.content = True, bytearray()
            response.json(resource)
        return None

    def _carry_out(self, request: Any, response: Any) -> None:
        """Let the emulator do what the request says, where its conditions hold."""
        for pattern, handlers in emulator.HANDLERS:
            match = re.fullmatch(pattern, request.path)
            if match and request.method in handlers:
                request.set_match(match)
                break
        else:
            return _answer(response, HTTPStatus.NOT_IMPLEMENTED)
        name = request.params.get("object_id")
        if isinstance(request.data, dict):
            name = request.data.get("meta", request.data).get("name")
        current = self.storage.generation_of(request.params.get("bucket_name"), name)
        if not self._condition_holds(request, current):
            return _answer(response, HTTPStatus.PRECONDITION_FAILED)
        wanted = int(request.query.get("generation", [current])[0])
        earlier = {} if self.storage.earlier is None else self.storage.earlier
        if wanted != current:
            is_gone = request.method != "DELETE" or earlier.pop(wanted, None) is None
            return _answer(response, HTTPStatus.NOT_FOUND) if is_gone else None
        if request.query.get("alt") == ["media"]:
            response["X-Goog-Generation"] = str(current)
        handlers[request.method](request, response, self.storage)
        if "generation" in request.query and request.method == "DELETE":
            earlier.pop(wanted, None)
        if request.query.get("versions", [""])[0].lower() == "true":
            document, prefix = json.loads(response._content), request.query.get("prefix", [""])[0]
            document["items"] += [each for each in earlier.values() if each["name"].startswith(prefix)]
            response.json(document)
        return None

    @staticmethod
    def _condition_holds(request: Any, current: int) -> bool:
        return int(request.query.get("ifGenerationMatch", [current])[0]) == current

    def _receive(self, body: memoryview, *, counted: bool) -> None:
        """Fill the memory from the connection."""
        received = 0
        while received < len(body):
            unit = READ_SIZE >> 4 if counted and self.service.upload_rate else READ_SIZE
            count = self.rfile.readinto(body[received : received + unit])
            if not count:
                raise ConnectionAbortedError("the client went away in the middle of a request")
            received += count
            if counted:
                self.service.count_received(count)

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


def _crc32c(content: memoryview) -> str:
    checksum = 0
    for start in range(0, len(content), READ_SIZE):
        checksum = google_crc32c.extend(checksum, bytes(content[start : start + READ_SIZE]))
    return base64.b64encode(checksum.to_bytes(4, "big")).decode()


def _answer(response: Any, status: HTTPStatus, text: str = "") -> None:
    response.status = status
    response.json({"error": {"code": status.value, "message": text or status.phrase}})


def _parse(body: bytes, content_type: str) -> Any:
    """Return a request's body as the emulator's handlers want it."""
    if content_type.startswith("application/json"):
        return json.loads(body) if body else None
    if not content_type.startswith("multipart/related"):
        return body
    delimiter = b"--" + content_type.partition("boundary=")[2].strip("\"'").encode()
    _, description, rest = body.split(delimiter, 2)
    head, _, content = rest.partition(b"\r\n\r\n")
    return {
        "meta": json.loads(description.partition(b"\r\n\r\n")[2]),
        "content": content[: content.rindex(b"\r\n" + delimiter)],
        "content-type": head.partition(b":")[2].decode().strip(),
    }
