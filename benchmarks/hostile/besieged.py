"""Gateway that is attacked: started as people start it, measured from outside, and searched for what is left behind."""

import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import httpx
import psutil

from benchmarks.hostile.writer import PLANTED
from schemas.config.monitor import MonitorConfig
from schemas.documents import LoggedAnswer
from schemas.json_lines import stream_json_lines
from schemas.tables.log_file import log_files
from schemas.tasks import TASK_NAMES
from tasks.monitor.logs import read_logs

TOKEN: Final = "hostile-Benchmark-token-1"  # noqa: S105 - of a gateway that lives for minutes
VARIABLE: Final = "BENCHMARK_TOKENS"
SECONDS_TO_SEND: Final = 3
SECONDS_TO_START: Final = 120.0
GOOD: Final = {"review": "Chegou quebrado e sem nota."}
TRACES: Final = re.compile(r"Traceback|Exception|Task was destroyed|never retrieved")
_SERIES: Final = re.compile(r"^([a-z_]+)(?:\{(.*)\})? (\S+)$", re.MULTILINE)
_LABEL: Final = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')
_KNOWN_LABELS: Final = {
    "task": re.compile("|".join(TASK_NAMES)),
    "version": re.compile(r"tucano2-commerce/\d+(\+own-decoding)?"),
    "role": re.compile(r"champion"),
    "code": re.compile(r"[a-z_]{3,20}"),
    "le": re.compile(r"[\d.]+|\+Inf"),
    "outcome": re.compile(r"switched|refused"),
}


@dataclass(frozen=True)
class Gateway:
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

    def megabytes(self) -> tuple[float, float]:
        """Return the resident memory of the gateway, and that of its engine."""
        (gateway,) = psutil.Process(self.process.pid).children()
        # The youngest draws; an older one only has its libraries.
        engine = max(gateway.children(recursive=True), key=lambda process: process.create_time())
        return gateway.memory_info().rss / 1e6, engine.memory_info().rss / 1e6

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
        """Return how often the files of gateway and engine name an exception."""
        return sum(len(TRACES.findall(file.read_text(errors="replace"))) for file in (self.said, *self._work_files()))

    def leaks(self) -> list[str]:
        """Return the files that hold personal data, which is none of this machine's business."""
        files = [self.said, *self._work_files(), *(self.state / "logs").rglob("*.jsonl")]
        planted = [text.encode() for text in PLANTED]
        return [file.name for file in files if any(text in file.read_bytes() for text in planted)]

    def _work_files(self) -> list[Path]:
        return [file for file in (self.state / "work").glob("serve-*/*") if file.is_file()]


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


@contextmanager
def besieged(state: Path) -> Iterator[Gateway]:
    """Serve the champion of a state folder until the block ends."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    settings = (
        f"state.root={state}", f"serve.port={port}", f"serve.token_variable={VARIABLE}", "serve.golden_prompts=0",
        "serve.answer_all=true", f"serve.seconds_to_send={SECONDS_TO_SEND}",
    )  # fmt: skip
    command = [sys.executable, "-m", "flows", "serve", *(part for each in settings for part in ("--set", each))]
    said = state / "serve.log"
    with said.open("wb") as output:
        process = subprocess.Popen(command, stderr=output, env={**os.environ, VARIABLE: TOKEN})
    gateway = Gateway(process, port, state, said)
    try:
        deadline = time.monotonic() + SECONDS_TO_START
        while "answers at" not in said.read_text(errors="replace"):
            if process.poll() is not None or time.monotonic() > deadline:
                raise SystemExit(f"the gateway did not start: {said.read_text(errors='replace')}")
            time.sleep(0.1)
        yield gateway
    finally:
        process.terminate()
        process.wait(SECONDS_TO_START)


class GoodClient:
    """A client that asks a right question again and again, in a thread of its own."""

    def __init__(self, gateway: Gateway, every: float) -> None:
        """Begin to ask.

        Args:
            gateway: Is asked.
            every: Seconds between an answer and the next question.
        """
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
