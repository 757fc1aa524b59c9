"""The page of the architecture names calls that there are, and files that one evening suffices to read."""

import ast
import re

from schemas.source import REPOSITORY

PAGE = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
LIBRARY_HOP = ("transformers.trainer", "train")
"""A library's function in the path to a rollout."""
MOST_HOPS = 12
MOST_LINES = 4_000


def test_each_call_on_the_path_to_a_rollout_is_there_and_they_are_few() -> None:
    hops = re.findall(r"^\| \d+ \| `(\S+)` \| `(\S+)` \|", PAGE, flags=re.MULTILINE)
    assert 0 < len(hops) <= MOST_HOPS
    for file, name in set(hops) - {LIBRARY_HOP}:
        tree = ast.parse((REPOSITORY / file).read_text(encoding="utf-8"))
        functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
        assert name in functions, (file, name)


def test_an_evening_suffices_for_the_first_reading() -> None:
    start = PAGE[PAGE.index("## Where to start reading") : PAGE.index("## The journey of a prompt row")]
    named = [REPOSITORY / name for name in re.findall(r"`(\w+/[\w/.]+)`", start)]
    files = [file for path in named for file in (path.glob("*.py") if path.is_dir() else [path])]
    assert len(files) > 20
    assert sum(len(file.read_bytes().splitlines()) for file in files) <= MOST_LINES
