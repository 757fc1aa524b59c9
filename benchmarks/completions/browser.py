"""Chromium that opens a page, uses it and reports its own times."""

import json
import shutil
import subprocess
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread
from typing import Any, Final

from schemas.errors import InputError

NAMES: Final = ("chromium", "chromium-browser", "google-chrome")
OPTIONS: Final = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--window-size=1300,1000",
)
MOST_SECONDS: Final = 60
AROUND: Final = """<!doctype html>
<meta charset="utf-8">
<iframe width="1280" height="1000" src="PAGE"></iframe>
<script>
const frame = document.querySelector("iframe");
const page = () => frame.contentDocument;
const next = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
async function timed(act) {
  const began = performance.now();
  const before = page().querySelector(".row");
  act();
  do await next(); while (page().querySelector(".row") === before);
  return performance.now() - began;
}
function change(id, value, event) {
  const control = page().getElementById(id);
  control.value = value;
  control.dispatchEvent(new Event(event, { bubbles: true }));
}
async function use() {
  while (!page()?.documentElement?.dataset.opened) await next();
  const found = { open: Number(page().documentElement.dataset.opened) };
  found["first search, 150 of it waiting for more letters"] = await timed(() => change("search", "não", "input"));
  found["next search, 150 of it waiting for more letters"] = await timed(() => change("search", "cliente", "input"));
  found["equal answers as one"] = await timed(() => page().getElementById("distinct").click());
  found["a step"] = await timed(() => change("step", "2", "change"));
  await fetch("/found", { method: "POST", body: JSON.stringify(found) });
}
use();
</script>
"""


class _Server(ThreadingHTTPServer):
    """Server of a page's folder and of the page around it, which receives what was found."""

    def __init__(self, file: Path) -> None:
        super().__init__(("127.0.0.1", 0), partial(_Handler, directory=str(file.parent)))
        self.around = AROUND.replace("PAGE", file.name).encode()
        self.found: dict[str, float] = {}
        self.done = Event()


class _Handler(SimpleHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        if self.path != "/":
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self.server.around)

    def do_POST(self) -> None:
        self.server.found = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(204)
        self.end_headers()
        self.server.done.set()

    def log_message(self, format: str, *values: Any) -> None:
        """Keep quiet."""


def find_chromium() -> str:
    """Return the path of Chromium.

    Raises:
        InputError: There is none on PATH.
    """
    for name in NAMES:
        if (found := shutil.which(name)) is not None:
            return found
    raise InputError(f"there is no {' and no '.join(NAMES)} on PATH; install Chromium")


def opened(chromium: str, file: Path) -> dict[str, float]:
    """Open a page by a new profile, use it, and return the milliseconds by what was done.

    Raises:
        InputError: The page did not answer in time.
    """
    server = _Server(file)
    Thread(target=server.serve_forever, daemon=True).start()
    with TemporaryDirectory() as profile:
        address = f"http://127.0.0.1:{server.server_port}/"
        started = subprocess.Popen(
            [chromium, *OPTIONS, "--remote-debugging-port=0", f"--user-data-dir={profile}", address],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            if not server.done.wait(MOST_SECONDS):
                raise InputError(f"the page did not open within {MOST_SECONDS} s; open {file.name} by hand to see why")
        finally:
            started.terminate()
            started.wait()
            server.shutdown()
            server.server_close()
    return server.found
