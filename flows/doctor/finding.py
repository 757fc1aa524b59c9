"""Findings of the checks of `tucano doctor`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from schemas.config.config import Config
from schemas.errors import TucanoError

Verdict = Literal["ok", "warning", "fault"]


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's output: what was checked, what was found, and the remedy."""

    check: str
    verdict: Verdict
    """A `warning` lets a run start; a `fault` ends it, sooner or later."""
    found: str
    remedy: str = ""
    """Empty where there is nothing to fix."""
    unused: bool = False
    """Whether the profile has no use for what was to be checked, so that there is nothing to tell."""


Check = Callable[[Config], list[Finding]]


def refused(check: str, error: TucanoError | str) -> Finding:
    """Return a fault from one of the project's messages, which name the remedy after the last semicolon."""
    found, _, remedy = str(error).rpartition("; ")
    return Finding(check, "fault", found or remedy, remedy if found else "")
