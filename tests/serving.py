"""A running `tucano serve`, as people start it."""

import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil

from tests.gateway import wait_for

SECONDS = 120
"""Longest wait for anything: a limit of hanging, not of speed."""


@dataclass
class Served:
    """A running `tucano serve`."""

    process: "subprocess.Popen[str]"
    url: str
    logs: Path
    said: list[str] = field(default_factory=list)
    """Lines of its stderr."""

    def ask(self, review: str = "Chegou quebrado") -> httpx.Response:
        return httpx.post(f"{self.url}/v1/tasks/sentiment", json={"review": review}, timeout=SECONDS)

    def logged(self) -> dict[str, dict[str, Any]]:
        """Return the lines of the log by their requests."""
        lines = [line for file in self.logs.glob("*.jsonl") for line in file.read_text().splitlines()]
        return {line["request_id"]: line for line in map(json.loads, lines)}

    @property
    def gateway(self) -> psutil.Process:
        (gateway,) = psutil.Process(self.process.pid).children()
        return gateway


@contextmanager
def serving(
    root: Path, port: int, arguments: Sequence[str], environment: Mapping[str, str] | None = None
) -> Iterator[Served]:
    """Run `tucano serve` on a state folder until the block ends, in another environment where one is given."""
    command = [sys.executable, "-m", "flows", *arguments]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    served = Served(process, f"http://127.0.0.1:{port}", root / "logs")
    assert process.stderr is not None
    listener = threading.Thread(target=served.said.extend, args=[process.stderr])
    listener.start()
    try:
        wait_for(lambda: any("answers at" in line for line in served.said) or process.poll() is not None, SECONDS)
        assert process.poll() is None, served.said
        yield served
    finally:
        process.terminate()
        process.wait(SECONDS)
        listener.join()
