"""Chromium without a window, driven by the DevTools protocol (https://chromedevtools.github.io/devtools-protocol)."""

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from websockets.sync.client import connect
from websockets.sync.connection import Connection

SECONDS: Final = 60
_OPTIONS: Final = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--remote-debugging-port=0",
)  # fmt: skip


class Page:
    """An open page."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._number = connection, 0

    def call(self, method: str, **values: Any) -> Any:
        """Call a method of the protocol, and return its result."""
        self._number += 1
        self._connection.send(json.dumps({"id": self._number, "method": method, "params": values}))
        while True:
            message = json.loads(self._connection.recv(SECONDS))
            if message.get("id") == self._number:
                assert "error" not in message, message
                return message["result"]

    def open(self, url: str, width: int, *, dark: bool = False) -> None:
        """Open an address in a window of a width in pixels, with a reader's choice of colours."""
        phone = width < 600
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def run(self, script: str) -> Any:
        """Return what an expression is in the page."""
        found = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait(self, script: str) -> None:
        """Wait until an expression is true."""
        deadline = time.monotonic() + SECONDS
        while not self.run(f"Boolean({script})"):
            assert time.monotonic() < deadline, (script, self.run("document.body.innerText"))
            time.sleep(0.05)


@contextmanager
def browsing(profile: Path) -> Iterator[Page]:
    """Give a page of the machine's Chromium; skip the test where there is none."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium is on PATH")
    command = [program, *_OPTIONS, f"--user-data-dir={profile}", "about:blank"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as chromium:
        try:
            port = _port(profile / "DevToolsActivePort")
            pages = httpx.get(f"http://127.0.0.1:{port}/json/list", timeout=SECONDS).json()
            (address,) = (each["webSocketDebuggerUrl"] for each in pages if each["type"] == "page")
            with connect(address, max_size=None) as connection:
                yield Page(connection)
        finally:
            chromium.terminate()


def _port(file: Path) -> str:
    deadline = time.monotonic() + SECONDS
    while not file.exists() or not file.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return file.read_text().splitlines()[0]
