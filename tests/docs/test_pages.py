"""Pages name files, headings, commands and calls that are there, and each is reached."""

import ast
import re
import unicodedata
from collections import Counter
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
    seen = Counter[str]()
    found = set()
    for anchor in map(as_anchor, HEADING.findall(CODE_BLOCK.sub("", file.read_text(encoding="utf-8")))):
        found.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
        seen[anchor] += 1
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
    site = (REPOSITORY / "zensical.toml").read_text(encoding="utf-8")
    named = set(re.findall(r'"([\w./-]+\.md)"', site.partition("nav = [")[2]))
    assert sorted(page for page in named if not (REPOSITORY / page).is_file()) == []
    docs = {file.relative_to(REPOSITORY).as_posix() for file in (REPOSITORY / "docs").rglob("*.md")}
    assert sorted(docs - named) == []


def test_every_target_that_a_page_names_is_there() -> None:
    makefile = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
    texts = [file.read_text(encoding="utf-8") for file in markdown_files() if file.name != "CHANGELOG.md"]
    named = {name for text in texts for name in re.findall(r"(?:`|\$ )make ([a-z][a-z-]*)", text)}
    assert named <= {*re.findall(r"(?m)^([a-z-]+):.*## ", makefile)}


ARCHITECTURE = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
LIBRARY_HOP = ("transformers.trainer", "train")
"""A library's function in the path to a rollout."""
MOST_HOPS = 12
MOST_LINES = 4_000


def test_each_call_on_the_path_to_a_rollout_is_there_and_they_are_few() -> None:
    hops = re.findall(r"^\| \d+ \| `(\S+)` \| `(\S+)` \|", ARCHITECTURE, flags=re.MULTILINE)
    assert 0 < len(hops) <= MOST_HOPS
    for file, name in set(hops) - {LIBRARY_HOP}:
        tree = ast.parse((REPOSITORY / file).read_text(encoding="utf-8"))
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert name in functions, (file, name)


def test_an_evening_suffices_for_the_first_reading() -> None:
    start = ARCHITECTURE.partition("## Where to start reading")[2].partition("## The journey of a prompt row")[0]
    named = [REPOSITORY / name for name in re.findall(r"`(\w+/[\w/.]+)`", start)]
    files = [file for path in named for file in (path.glob("*.py") if path.is_dir() else [path])]
    assert len(files) > 20
    assert sum(len(file.read_bytes().splitlines()) for file in files) <= MOST_LINES
