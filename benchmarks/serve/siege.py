"""Gateway that is attacked: hostile clients, a good one beside them, and the search for what is left behind."""

import asyncio
import re
import socket
import subprocess
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import httpx
import psutil

from benchmarks.serve.attacks import PLANTED, Attack
from schemas.config.serve import MonitorConfig
from schemas.documents import LoggedAnswer
from schemas.json_lines import stream_json_lines
from schemas.tables.production_logs import log_files
from schemas.tasks import TASK_NAMES
from tasks.monitor.logs import read_logs

TOKEN: Final = "hostile-Benchmark-token-1"  # noqa: S105 - of a gateway that lives for minutes
VARIABLE: Final = "BENCHMARK_TOKENS"
GOOD: Final = {"review": "Chegou quebrado e sem nota."}
CLIENTS: Final = 24
"""Attacks at once, beside the connections that are held."""
MAX_ANSWER_SECONDS: Final = 60.0
"""None comes later than the gateway's deadline."""
SECONDS_QUIET: Final = 0.15
"""Time without any byte after which a client that got its answer goes."""
SECONDS_BEFORE_ANOTHER: Final = 2.0
_STATUS: Final = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
_REQUEST_ID: Final = re.compile(rb'"(?:request_id|id)": ?"([a-z_]+-[0-9a-f]{32})"')
_TRACES: Final = re.compile(r"Traceback|Exception|Task was destroyed|never retrieved")
_SERIES: Final = re.compile(r"^([a-z_]+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
_LABEL: Final = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')
_KNOWN_LABELS: Final = {
    "task": re.compile("|".join(TASK_NAMES)),
    "version": re.compile(r"tucano2-commerce/\d+(\+own-decoding)?"),
    "code": re.compile(r"[a-z_]{3,20}"),
    "le": re.compile(r"[\d.]+|\+Inf"),
    "outcome": re.compile(r"switched|refused"),
}


@dataclass
class Fate:
    """What became of an attack."""

    attack: Attack
    statuses: tuple[int, ...] = ()
    request_ids: tuple[str, ...] = ()
    """Of the answers that were received."""
    is_hanging: bool = False
    """Whether nothing came, and the connection stayed."""


@dataclass
class Siege:
    """All attacks on one port."""

    port: int
    fates: list[Fate] = field(default_factory=list)
    held: int = 0
    """Connections that were opened to be held, those included that took the place of closed ones."""

    async def attack(self, attacks: Iterable[Attack]) -> None:
        """Send all attacks, and hold those connections that are to be held until the others ended."""
        every = list(attacks)
        holding = [asyncio.create_task(self._hold(each)) for each in every if each.manner == "hold"]
        others = iter([each for each in every if each.manner != "hold"])

        async def work() -> None:
            for each in others:
                self.fates.append(await self._fate(each))

        await asyncio.gather(*(work() for _ in range(CLIENTS)))
        for task in holding:
            task.cancel()
        await asyncio.wait(holding or [asyncio.create_task(asyncio.sleep(0))])
        self.fates += [Fate(each) for each in every if each.manner == "hold"]

    async def _hold(self, attack: Attack) -> None:
        while True:
            with suppress(OSError):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                self.held += 1
                try:
                    writer.write(attack.sent)
                    await reader.read()
                finally:
                    writer.close()
            await asyncio.sleep(SECONDS_BEFORE_ANOTHER)

    async def _fate(self, attack: Attack) -> Fate:
        received = bytearray()
        is_hanging = False
        try:
            async with asyncio.timeout(MAX_ANSWER_SECONDS):
                await self._send(attack, received)
        except TimeoutError:
            is_hanging = True
        except OSError:
            pass
        statuses = tuple(int(status) for status in _STATUS.findall(received))
        return Fate(
            attack,
            tuple(status for status in statuses if status != 100),
            tuple(dict.fromkeys(found.decode() for found in _REQUEST_ID.findall(received))),
            is_hanging,
        )

    async def _send(self, attack: Attack, received: bytearray) -> None:
        sock = socket.socket()
        if attack.manner == "unread":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", self.port))
        reader, writer = await asyncio.open_connection(sock=sock, limit=4096 if attack.manner == "unread" else 1 << 20)
        try:
            if attack.manner == "drip":
                await _drip(attack.sent, reader, writer, received)
                return
            writer.write(attack.sent)
            if attack.manner == "leave":
                await _leave(attack, reader, writer)
            elif attack.manner == "unread":
                await writer.drain()
                await asyncio.sleep(1)
            else:
                await _read(reader, received)
        finally:
            writer.transport.abort()


async def _drip(sent: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, received: bytearray) -> None:
    """Send what is before the zero at once, and the rest letter by letter, until the gateway has had enough."""
    begin, _, rest = sent.partition(b"\0")
    writer.write(begin)
    for letter in rest:
        writer.write(bytes([letter]))
        with suppress(TimeoutError):
            piece = await asyncio.wait_for(reader.read(4096), 0.5)
            received += piece
            return
    received += await reader.read(4096)


async def _leave(attack: Attack, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Leave at a moment that the length of the request decides: at once, a little later, or within the answer."""
    await writer.drain()
    moment = len(attack.sent) % 3
    if moment == 1:
        await asyncio.sleep(0.05)
    elif moment == 2:
        with suppress(TimeoutError):
            await asyncio.wait_for(reader.read(400), 5)


async def _read(reader: asyncio.StreamReader, received: bytearray) -> None:
    """Read until the connection ends, or until an answer has come and nothing follows."""
    while True:
        try:
            wait = SECONDS_QUIET if _STATUS.search(received) else None
            piece = await asyncio.wait_for(reader.read(1 << 16), wait)
        except TimeoutError:
            return
        if not piece:
            return
        received += piece


@dataclass(frozen=True)
class Besieged:
    """A running gateway."""

    process: "subprocess.Popen[bytes]"
    port: int
    state: Path
    said: Path
    """File of its stderr."""

    def ask(self) -> httpx.Response:
        """Ask what a shop asks."""
        return self._request("POST", "/v1/tasks/sentiment", GOOD)

    def metrics(self) -> str:
        """Return the metrics."""
        return self._request("GET", "/metrics", None).text

    def _request(self, method: str, path: str, sent: object) -> httpx.Response:
        url = f"http://127.0.0.1:{self.port}{path}"
        return httpx.request(method, url, json=sent, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=70)

    def megabytes(self) -> float:
        """Return the resident memory of the gateway and all that it started."""
        (gateway,) = psutil.Process(self.process.pid).children()
        return sum(each.memory_info().rss for each in (gateway, *gateway.children(recursive=True))) / 1e6

    def logged(self) -> set[str | None]:
        """Return the requests in the log."""
        return {
            line.request_id
            for file in sorted((self.state / "logs").glob("*.jsonl"))
            for line in stream_json_lines(file, LoggedAnswer, "production log")
        }

    def monitored(self) -> int:
        """Return how many answers `tucano monitor` reads in the log."""
        files = log_files(self.state / "logs")
        versions = tuple(f"tucano2-commerce/{number}{more}" for number in "123" for more in ("", "+own-decoding"))
        logs = read_logs(files, files.digests(), MonitorConfig(), versions, None, datetime.now(UTC))
        return len(logs.table)

    def traces(self) -> int:
        """Return how often what the gateway said names an exception."""
        return len(_TRACES.findall(self.said.read_text(errors="replace")))

    def leaks(self) -> list[str]:
        """Return the files that hold personal data, which is none of this machine's business."""
        files = [self.said, *(self.state / "logs").rglob("*.jsonl")]
        planted = [text.encode() for text in PLANTED]
        return [file.name for file in files if any(text in file.read_bytes() for text in planted)]


def strange_labels(metrics: str) -> list[str]:
    """Return the labels of Prometheus' text that no gateway would write by itself."""
    return [
        f"{name}={value[:40]}"
        for _, labels, _ in _SERIES.findall(metrics)
        for name, value in _LABEL.findall(labels)
        if name not in _KNOWN_LABELS or not _KNOWN_LABELS[name].fullmatch(value)
    ]


def total(metrics: str, name: str) -> int:
    """Return the sum of a counter over its labels."""
    return round(sum(float(value) for found, _, value in _SERIES.findall(metrics) if found == f"{name}_total"))


class GoodClient:
    """A client that asks a right question again and again, in a thread of its own."""

    def __init__(self, gateway: Besieged, every: float) -> None:
        """Begin to ask."""
        self.seconds: list[float] = []
        """Of each question until its answer."""
        self.faults: list[str] = []
        """What came in the place of answers."""
        self._gateway, self._every = gateway, every
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> None:
        """Ask no more."""
        self._ends.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ends.wait(self._every):
            began = time.monotonic()
            try:
                response = self._gateway.ask()
            except httpx.HTTPError as error:
                self.faults.append(type(error).__name__)
                continue
            self.seconds.append(time.monotonic() - began)
            if response.status_code != 200:
                self.faults.append(str(response.status_code))
