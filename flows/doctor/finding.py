"""Results of one check of `tucano doctor`."""

from dataclasses import dataclass
from typing import Literal

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


@dataclass(frozen=True)
class ClockReading:
    """Another machine's clock relative to this one's."""

    of: str
    """Owner of the clock."""
    seconds_ahead: float
    """How far it is ahead of this machine's; negative if behind."""


@dataclass(frozen=True)
class CheckOutcome:
    """Findings of a check, and the clocks that it read on its way."""

    findings: tuple[Finding, ...]
    clocks: tuple[ClockReading, ...] = ()


def single(check: str, verdict: Verdict, found: str, remedy: str = "", *clocks: ClockReading) -> CheckOutcome:
    """Return the outcome of a check that found one thing."""
    return CheckOutcome((Finding(check, verdict, found, remedy),), clocks)


def unused(check: str, why: str) -> CheckOutcome:
    """Return the outcome of a check of something that the profile has no use for."""
    return CheckOutcome((Finding(check, "ok", why, unused=True),))


def refused(check: str, sentence: str, verdict: Verdict = "fault") -> Finding:
    """Return a finding from one of the project's messages, which name the remedy after the last semicolon."""
    found, _, remedy = sentence.rpartition("; ")
    return Finding(check, verdict, found or remedy, remedy if found else "")
