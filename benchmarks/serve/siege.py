"""Gateway that is attacked: hostile clients, a good one beside them, and the search for what is left behind."""

import asyncio
import re
import subprocess
import threading
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import httpx
import psutil
from prometheus_client.parser import text_string_to_metric_families

from benchmarks.serve.attacks import PLANTED, Attack
from schemas.config.serve import MonitorConfig
from schemas.tables.production_logs import log_files
from schemas.tasks import TASK_NAMES
from tasks.monitor.logs import read_logs

TOKEN: Final = "hostile-Benchmark-token-1"  # noqa: S105 - of a gateway that lives for minutes
VARIABLE: Final = "BENCHMARK_TOKENS"
GOOD: Final = {"review": "Chegou quebrado e sem nota."}
CLIENTS: Final = 24  # Attacks at once.
MAX_ANSWER_SECONDS: Final = 60.0  # None comes later than the gateway's deadline.
SECONDS_QUIET: Final = 0.15
"""Time without any byte after which a client that got its answer goes."""
_STATUS: Final = re.compile(rb"HTTP/1\.[01] (\d{3}) ")
_REQUEST_ID: Final = re.compile(rb'"(?:request_id|id)": ?"([a-z_]+-[0-9a-f]{32})"')
_TRACES: Final = re.compile(r"Traceback|Exception|Task was destroyed|never retrieved")
_KNOWN_LABELS: Final = {
    "task": re.compile("|".join(TASK_NAMES)),
    "version": re.compile(r"tucano2-commerce/\d+(\+own-decoding)?"),
    "code": re.compile(r"[a-z_]{3,20}"),
    "le": re.compile(r"[\d.]+|\+Inf"),
    "outcome": re.compile(r"switched|refused"),
}


@dataclass(frozen=True)
class Fate:
    """What became of an attack."""

    attack: Attack
    statuses: tuple[int, ...]
    request_ids: frozenset[str]
    """Of the answers that were received."""
    is_hanging: bool
    """Whether nothing came, and the connection stayed."""


async def besiege(port: int, attacks: Iterable[Attack]) -> list[Fate]:
    """Send all attacks, a few at a time."""
    waiting, fates = iter(attacks), list[Fate]()

    async def work() -> None:
        for attack in waiting:
            received, is_hanging = bytearray(), False
            try:
                async with asyncio.timeout(MAX_ANSWER_SECONDS):
                    await _send(port, attack.sent, received)
            except TimeoutError:
                is_hanging = True
            except OSError:
                pass
            statuses = tuple(status for found in _STATUS.findall(received) if (status := int(found)) != 100)
            ids = frozenset(found.decode() for found in _REQUEST_ID.findall(received))
            fates.append(Fate(attack, statuses, ids, is_hanging))

    await asyncio.gather(*(work() for _ in range(CLIENTS)))
    return fates


async def _send(port: int, sent: bytes, received: bytearray) -> None:
    """Send, and read until the connection ends, or until an answer has come and nothing follows."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(sent)
        with suppress(TimeoutError):
            patience = None
            while piece := await asyncio.wait_for(reader.read(1 << 16), patience):
                received += piece
                patience = SECONDS_QUIET if _STATUS.search(received) else None
    finally:
        writer.transport.abort()


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
        for family in text_string_to_metric_families(metrics)
        for sample in family.samples
        for name, value in sample.labels.items()
        if name not in _KNOWN_LABELS or not _KNOWN_LABELS[name].fullmatch(value)
    ]


def total(metrics: str, name: str) -> int:
    """Return the sum of a counter over its labels."""
    samples = (sample for family in text_string_to_metric_families(metrics) for sample in family.samples)
    return round(sum(sample.value for sample in samples if sample.name == f"{name}_total"))


class GoodClient:
    """A client that asks a right question every second, in a thread of its own."""

    def __init__(self, gateway: Besieged) -> None:
        """Begin to ask."""
        self.seconds: list[float] = []
        """Of each question until its answer."""
        self.faults: list[str] = []
        """What came in the place of answers."""
        self._gateway = gateway
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def end(self) -> None:
        """Ask no more."""
        self._ends.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ends.wait(1.0):
            began = time.monotonic()
            try:
                self._gateway.ask().raise_for_status()
            except httpx.HTTPStatusError as error:
                self.faults.append(str(error.response.status_code))
            except httpx.HTTPError as error:
                self.faults.append(type(error).__name__)
                continue
            self.seconds.append(time.monotonic() - began)
