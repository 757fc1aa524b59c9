"""A browser that opens pages at a desktop's and a telephone's width and reports what a reader sees of them.

Headless Chromium has no window narrower than 500 pixels: each page stands in two frames of a page around it, from the
same origin, whose script measures them all at one start of the browser.
"""

import json
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any, Final

import pytest

from tests.completions_page import NAMES, OPTIONS

SIZES: Final[Mapping[int, int]] = {1280: 1000, 390: 844}
"""Heights of the windows by their widths, in pixels."""
_SECONDS: Final = 120
_AROUND: Final = """<!doctype html>
<meta charset="utf-8">
<!-- One above the other, since frames out of the window are not rendered. -->
<style>iframe { position: absolute; left: 0; top: 0; border: 0 }</style>
<body>
<script>
const { pages, selectors, sizes } = ASKED;
const part = (element, page) => {
  const box = element.getBoundingClientRect();
  const seen = { left: 0, top: 0, right: page.innerWidth, bottom: page.innerHeight };
  for (let around = element.parentElement; around; around = around.parentElement) {
    const style = page.getComputedStyle(around);
    const frame = around.getBoundingClientRect();
    if (around !== page.document.documentElement && around !== page.document.body && style.overflowX !== "visible") {
      seen.left = Math.max(seen.left, frame.left);
      seen.right = Math.min(seen.right, frame.right);
      seen.top = Math.max(seen.top, frame.top);
      seen.bottom = Math.min(seen.bottom, frame.bottom);
    }
  }
  const across = box.width > 0 && box.left >= seen.left - 1 && box.right <= seen.right + 1;
  const down = box.height > 0 && box.top >= seen.top - 1 && box.bottom <= seen.bottom + 1;
  return { text: element.textContent.trim(), across, at_once: across && down };
};
const view = (page) => ({
  overflow: page.document.documentElement.scrollWidth - page.document.documentElement.clientWidth,
  parts: Object.fromEntries(
    selectors.map((each) => [each, [...page.document.querySelectorAll(each)].map((one) => part(one, page))])),
});
const rendered = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
const opened = (name, width, height) => new Promise((done) => {
  const frame = document.createElement("iframe");
  Object.assign(frame, { width, height, src: name, onload: () => done({ name, width, frame }) });
  document.body.append(frame);
});
const look = async () => {
  const asked = pages.flatMap((name) => Object.entries(sizes).map(([width, height]) => opened(name, width, height)));
  const frames = await Promise.all(asked);
  await rendered();
  await rendered();
  const found = frames.map(({ name, width, frame }) => ({ name, width, ...view(frame.contentWindow) }));
  await fetch("/found", { method: "POST", body: JSON.stringify(found) });
};
// The browser ends once this page is loaded, and it is not before the image is answered, which is after the look.
document.body.append(Object.assign(new Image(), { src: "/hold" }));
look();
</script>
"""


@dataclass(frozen=True)
class Part:
    """One element of a page."""

    text: str
    across: bool
    """Its whole width is seen without scrolling sideways."""
    at_once: bool
    """All of it is seen as the page opens."""


@dataclass(frozen=True)
class View:
    """A page at one width."""

    overflow: int
    """Pixels by which the document is wider than its window."""
    parts: Mapping[str, Sequence[Part]]
    """Its elements by the selector that found them."""


@dataclass(frozen=True)
class Browser:
    """Chromium, started once for each `look`."""

    program: str
    profile: Path

    def look(self, folder: Path, pages: Iterable[str], selectors: Iterable[str] = ()) -> Mapping[tuple[str, int], View]:
        """Open pages of a folder at each width of `SIZES`.

        Args:
            folder: What is served, on loopback; it stays as it is.
            pages: The pages' paths in the folder.
            selectors: CSS selectors of the elements to look at, in every page.

        Returns:
            By page and width what is seen.
        """
        asked = {"pages": list(pages), "selectors": list(selectors), "sizes": SIZES}
        command = [self.program, *OPTIONS, f"--user-data-dir={self.profile}", "--dump-dom"]
        with _served(folder, _AROUND.replace("ASKED", json.dumps(asked))) as (address, found):
            subprocess.run([*command, address], check=True, capture_output=True, timeout=_SECONDS)
            measured: list[dict[str, Any]] = found.get_nowait()
        return {(each["name"], int(each["width"])): _view(each) for each in measured}


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    """Give the machine's Chromium."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"none of {', '.join(NAMES)} is on PATH")
    return Browser(program, tmp_path_factory.mktemp("browser"))


@contextmanager
def _served(folder: Path, around: str) -> Iterator[tuple[str, SimpleQueue[Any]]]:
    """Serve a folder on loopback, with the page around at its root; give the address, and what that page finds."""
    found: SimpleQueue[Any] = SimpleQueue()
    is_found = Event()

    class Handler(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/hold":
                is_found.wait(_SECONDS)
                self.send_error(404)
            elif self.path == "/":
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.end_headers()
                self.wfile.write(around.encode())
            else:
                super().do_GET()

        def do_POST(self) -> None:
            found.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()
            is_found.set()

        def log_message(self, *_: object) -> None:
            """Keep the output to the tests."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/", found
        is_found.set()
        server.shutdown()


def _view(measured: dict[str, Any]) -> View:
    parts = {selector: tuple(Part(**part) for part in found) for selector, found in measured["parts"].items()}
    return View(measured["overflow"], parts)
