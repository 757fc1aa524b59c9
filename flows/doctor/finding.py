"""What one check of `tucano doctor` comes to."""

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "warning", "fault"]


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's: what was looked at, what was found, and what mends it."""

    check: str
    verdict: Verdict
    """A `warning` lets a run begin; a `fault` ends it, sooner or later."""
    found: str
    remedy: str = ""
    """Empty where nothing is to be mended."""


@dataclass(frozen=True)
class ClockReading:
    """Another machine's clock, held against this one's."""

    of: str
    """Whose it is."""
    seconds_ahead: float
    """How far it is ahead of this machine's; below 0, behind."""


@dataclass(frozen=True)
class Outcome:
    """What a check found, and which clocks it saw on its way."""

    findings: tuple[Finding, ...]
    clocks: tuple[ClockReading, ...] = ()


def single(check: str, verdict: Verdict, found: str, remedy: str = "", *clocks: ClockReading) -> Outcome:
    """Return the outcome of a check that found one thing."""
    return Outcome((Finding(check, verdict, found, remedy),), clocks)


def refused(check: str, sentence: str, verdict: Verdict = "fault") -> Finding:
    """Return a finding from one of the house's sentences, which name the remedy after the last semicolon."""
    found, _, remedy = sentence.rpartition("; ")
    return Finding(check, verdict, found or remedy, remedy if found else "")
