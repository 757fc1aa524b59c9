"""Each page in Portuguese gives the commands and the files of its English twin."""

import re
from pathlib import Path
from typing import Final

import pytest

from schemas.source import REPOSITORY

PAGES: Final = sorted((REPOSITORY / "docs" / "pt-BR").glob("*.md"))
BLOCK: Final = re.compile(r"^```(console|json|toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(page: Path) -> list[str]:
    """Return the lines of commands and files, without comments, which are translated."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [re.sub(r"(?:^|\s+)# .*", "", line) for _, block in blocks for line in block.splitlines()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_in_portuguese_has_its_twins_commands_and_files(page: Path) -> None:
    twin = REPOSITORY / "docs" / page.name
    assert examples(page) == examples(twin)


def test_both_readmes_have_the_same_commands() -> None:
    assert examples(REPOSITORY / "README.pt-BR.md") == examples(REPOSITORY / "README.md")
