"""Chromium that opens a page of completions and runs a script in it."""

import json
import shutil
import subprocess
from collections.abc import Sequence
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
<style>iframe { display: block; border: 0 }</style>
<body>
<script>
const next = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
async function opened(width) {
  const frame = document.createElement("iframe");
  Object.assign(frame, { width, height: 1000, src: "PAGE" });
  document.body.append(frame);
  while (!frame.contentDocument?.documentElement?.dataset.opened) await next();
  return frame.contentDocument;
}
function change(control, value, event) {
  control.value = value;
  control.dispatchEvent(new Event(event, { bubbles: true }));
}
async function use(page) {
SCRIPT
}
(async () => {
  const found = [];
  for (const width of WIDTHS) found.push(await use(await opened(width)));
  await fetch("/found", { method: "POST", body: JSON.stringify(found) });
})();
</script>
"""
"""Page around the one that is used: it opens that page at each width, and runs the script on each."""


class _Server(ThreadingHTTPServer):
    """Server of a page's folder and of the page around it, which receives what was found."""

    def __init__(self, file: Path, script: str, widths: Sequence[int]) -> None:
        super().__init__(("127.0.0.1", 0), partial(_Handler, directory=str(file.parent)))
        around = AROUND.replace("PAGE", file.name).replace("WIDTHS", json.dumps(widths)).replace("SCRIPT", script)
        self.around = around.encode()
        self.found: list[Any] = []
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

    def log_message(self, *_: object) -> None:
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


def run_in_page(chromium: str, file: Path, script: str, widths: Sequence[int] = (1280,)) -> list[Any]:
    """Open a page by a new profile, and return what a script finds in it, by width.

    Args:
        chromium: The browser.
        file: The page, which says by `data-opened` that its first rows are shown.
        script: Body of an asynchronous JavaScript function of `page`, the document; it may use `next`, which waits for
            what is drawn, and `change`, which sets a control.
        widths: Widths of the page, in pixels.

    Raises:
        InputError: The page did not answer in time.
    """
    server = _Server(file, script, widths)
    Thread(target=server.serve_forever, daemon=True).start()
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
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
