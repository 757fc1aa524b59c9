"""`make docs` builds the site strictly, and for its pages a browser asks no other server for anything."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Final

import pytest

from schemas.source import REPOSITORY

pytestmark = pytest.mark.slow

LOADING: Final = {"href", "src", "srcset", "data", "poster", "style"}
"""Attributes whose addresses a browser loads at once; those of `a` wait for a click."""
ELSEWHERE: Final = re.compile(r"(?:https?:)?//[\w-]+\.", re.IGNORECASE)
IMPORTED: Final = re.compile(r"(?:@import|url\()\s*[\"']?\s*(?:https?:)?//", re.IGNORECASE)


@pytest.fixture(scope="module")
def site() -> Path:
    # The environment of `make develop` is the one that this runs in.
    command = ["make", "docs", f"VENV={sys.prefix}", f"--old-file={sys.prefix}/.developer"]
    ended = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return REPOSITORY / "build" / "site"


class Loads(HTMLParser):
    """What a browser loads for a page."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.classes: set[str] = set()
        self.styles = ""
        self._in_style = False
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.classes |= set(given.get("class", "").split())
        self._in_style = tag == "style"
        if tag != "a":
            self.addresses += [value for name, value in given.items() if name in LOADING]

    def handle_endtag(self, tag: str) -> None:
        self._in_style = False

    def handle_data(self, data: str) -> None:
        self.styles += data if self._in_style else ""


def test_no_page_loads_anything_from_another_server(site: Path) -> None:
    pages = {page: Loads(page) for page in site.rglob("*.html")}
    assert {site / "index.html", site / "docs" / "architecture.html"} <= set(pages)
    found = {
        f"{page.relative_to(site)}: {address}"
        for page, loads in pages.items()
        for address in (*loads.addresses, *IMPORTED.findall(loads.styles))
        if ELSEWHERE.match(address) or IMPORTED.search(address)
    }
    assert found == set()
    assert [file.name for file in site.rglob("*.css") if IMPORTED.search(file.read_text(encoding="utf-8"))] == []
