"""`make docs` builds the site strictly, and for its pages a browser asks no other server for anything."""

import re
import subprocess
import sys
from typing import Final

import pytest

from schemas.source import REPOSITORY

pytestmark = pytest.mark.slow

LOADING: Final = "href|src|srcset|data|poster|style"
"""Attributes whose addresses a browser loads at once; those of `a` wait for a click."""
LOADED: Final = re.compile(rf"""<(?!a\s)\w[^>]*\s(?:{LOADING})=["']?[^"'>]*?(?:https?:)?//[\w-]+\.""", re.IGNORECASE)
IMPORTED: Final = re.compile(r"(?:@import|url\()\s*[\"']?\s*(?:https?:)?//", re.IGNORECASE)


def test_no_page_loads_anything_from_another_server() -> None:
    # The environment of `make develop` is the one that this runs in.
    command = ["make", "docs", f"VENV={sys.prefix}", f"--old-file={sys.prefix}/.developer"]
    ended = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    site = REPOSITORY / "build" / "site"
    pages = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert {site / "index.html", site / "docs" / "architecture.html"} <= set(pages)
    texts = {page.relative_to(site): page.read_text(encoding="utf-8") for page in pages}
    kinds = (LOADED, IMPORTED)
    found = [(page, match[0]) for page, text in texts.items() for kind in kinds for match in kind.finditer(text)]
    assert found == []
