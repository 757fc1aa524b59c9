"""Word lists of the rewards: plain files in `data/lexicons`, one entry per line, `#` for comments."""

from functools import cache
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).resolve().parents[3] / "data" / "lexicons"


@cache
def read_lexicon(name: str) -> tuple[str, ...]:
    """Return the entries of one word list, in the order of its file."""
    lines = (FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    return tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))
