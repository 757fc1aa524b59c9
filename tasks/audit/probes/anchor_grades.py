"""Documented grades of single completions, in `data/audit/anchors.toml`."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Final

from tasks.audit.probes.properties import Grades

DATA_FILES: Final = ("data/audit/anchors.toml",)
FILE: Final = Path(__file__).resolve().parents[3] / "data" / "audit" / "anchors.toml"


def anchor_grades(*titles: str) -> Grades:
    """Return the grades below some titles, later ones before earlier ones."""
    document = _read()
    return {kind: grades for title in titles for kind, grades in document[title].items()}


@cache
def _read() -> dict[str, Grades]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))
