"""What a preflight check says: what was measured, against which limit, and what to do where it failed."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any, Final

from schemas.errors import GateRefused

NAMED_FAILURES: Final = 3
PREFLIGHT_FILE: Final = "preflight.json"
"""What the preflight found; it holds times, and so is no part of the policy."""


@dataclass(frozen=True)
class Check:
    """One check of a training that has not begun."""

    name: str
    passed: bool
    measured: str
    """What was found, in words and numbers; never a prompt or a completion."""
    limit: str
    """What is allowed."""
    remedy: str
    """What to do where it failed."""
    seconds: float = 0.0
    """What it took; of checks that share their work, the first has all of it."""


def refuse_if_failed(checks: Sequence[Check]) -> None:
    """Refuse to train where a check failed.

    Raises:
        GateRefused: Some did; the first few are told with their remedies, the others by name.
    """
    failed = [check for check in checks if not check.passed]
    if not failed:
        return
    told = [f"{check.name}: {check.measured} (limit: {check.limit}), {check.remedy}" for check in failed]
    others = [check.name for check in failed[NAMED_FAILURES:]]
    more = f"; and also {', '.join(others)}" if others else ""
    raise GateRefused(
        f"the preflight failed {len(failed)} of {len(checks)} checks: {'; '.join(told[:NAMED_FAILURES])}{more}"
    )


def as_table(checks: Sequence[Check]) -> str:
    """Return the checks as a table in Markdown; the remedy only where it is needed."""
    lines = ["| check | | measured | limit | seconds | remedy |", "|---|---|---|---|---:|---|"]
    for check in checks:
        verdict, remedy = ("passed", "") if check.passed else ("FAILED", check.remedy)
        cells = [check.name, verdict, check.measured, check.limit, f"{check.seconds:.1f}", remedy]
        # A page would take `<think>` for HTML, and leave it out.
        lines.append(f"| {' | '.join(escape(cell, quote=False).replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(lines)


def as_json(checks: Sequence[Check]) -> dict[str, Any]:
    """Return the checks as `preflight.json` holds them."""
    return {
        "passed": all(check.passed for check in checks),
        "seconds": sum(check.seconds for check in checks),
        "checks": [asdict(check) for check in checks],
    }
