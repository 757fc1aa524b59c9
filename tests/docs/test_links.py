import re
import tomllib
import unicodedata
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

from schemas.source import REPOSITORY

ADDRESS = re.compile(r"!?\[(?:[^\[\]]|!\[[^\]]*\]\([^)]*\))*\]\(([^)\s]+)\)")
IMAGE = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+?)\s*$", re.MULTILINE)
CODE_BLOCK = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
CODE_SPAN = re.compile(r"`+[^`\n]+`+")
FOLDERS = ("docs", "infra", "data", "benchmarks", "tests")


def markdown_files() -> list[Path]:
    files = [*REPOSITORY.glob("*.md"), *(file for folder in FOLDERS for file in (REPOSITORY / folder).rglob("*.md"))]
    return sorted(file for file in files if file.is_file())


def relative_links(text: str) -> list[str]:
    prose = CODE_SPAN.sub("", CODE_BLOCK.sub("", text))
    found = [*ADDRESS.findall(prose), *IMAGE.findall(prose)]
    return [link for link in found if not re.match(r"[a-z]+:", link)]


@cache
def anchors(file: Path) -> frozenset[str]:
    """Return the anchors of a page's headings, as forges make them."""
    seen: dict[str, int] = {}
    found = set()
    for heading in HEADING.findall(CODE_BLOCK.sub("", file.read_text(encoding="utf-8"))):
        anchor = as_anchor(heading)
        count = seen.get(anchor, 0)
        seen[anchor] = count + 1
        found.add(f"{anchor}-{count}" if count else anchor)
    return frozenset(found)


def as_anchor(heading: str) -> str:
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    kept = "".join(letter for letter in words if letter in " -_" or unicodedata.category(letter)[0] in "LN")
    return kept.replace(" ", "-")


def faults(file: Path) -> list[str]:
    broken = []
    for link in relative_links(file.read_text(encoding="utf-8")):
        path, _, anchor = unquote(link).partition("#")
        target = (file.parent / path).resolve() if path else file
        if not target.exists():
            broken.append(f"{link}: there is no {path}")
        elif anchor and (target.suffix != ".md" or anchor not in anchors(target)):
            broken.append(f"{link}: {target.name} has no heading {anchor}")
    return broken


@pytest.mark.parametrize("file", markdown_files(), ids=lambda file: file.relative_to(REPOSITORY).as_posix())
def test_every_relative_link_and_anchor_of_a_page_is_there(file: Path) -> None:
    assert faults(file) == []


def test_a_link_to_nowhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "other.md").write_text("# One\n\n```text\n# Two\n```\n", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(
        "# Page\n[a](other.md#one) [b](other.md#two) [c](gone.md) ![d](gone.png) [![e](gone2.png)](#page)\n"
        "`[f](g.md)` [h](https://example.org/x.md) [i](#nothing)\n",
        encoding="utf-8",
    )
    assert faults(page) == [
        "other.md#two: other.md has no heading two",
        "gone.md: there is no gone.md",
        "gone.png: there is no gone.png",
        "#nothing: page.md has no heading nothing",
        "gone.png: there is no gone.png",
        "gone2.png: there is no gone2.png",
    ]


def test_every_page_is_reached_from_the_readme() -> None:
    reached, waiting = set(), [REPOSITORY / "README.md"]
    while waiting:
        file = waiting.pop()
        reached.add(file)
        for link in relative_links(file.read_text(encoding="utf-8")):
            target = (file.parent / unquote(link).partition("#")[0]).resolve()
            if target.suffix == ".md" and target not in reached and target.is_file():
                waiting.append(target)
    pages = {*(REPOSITORY / "docs").rglob("*.md"), REPOSITORY / "CONTRIBUTING.md", REPOSITORY / "CHANGELOG.md"}
    assert sorted(page.name for page in pages - reached) == []


def test_the_site_has_every_page() -> None:
    site = tomllib.loads((REPOSITORY / "zensical.toml").read_text(encoding="utf-8"))["project"]
    named = {page for entry in site["nav"] for page in _pages(entry)}
    assert sorted(page for page in named if not (REPOSITORY / page).is_file()) == []
    docs = {file.relative_to(REPOSITORY).as_posix() for file in (REPOSITORY / "docs").rglob("*.md")}
    assert sorted(docs - named) == []


def _pages(entry: dict[str, object]) -> list[str]:
    found: list[str] = []
    for value in entry.values():
        found += [value] if isinstance(value, str) else [page for inner in value for page in _pages(inner)]  # type: ignore[attr-defined]
    return found
