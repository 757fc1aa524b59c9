"""Preflight check result: the measurement, the limit and the remedy."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from schemas.errors import GateRefused
from tasks.commerce.text.lexicons import read_data

NAMED_FAILURES: Final = 3
PREFLIGHT_FILE: Final = "preflight.json"
"""The preflight's results; they contain times, so the file is no part of the policy."""
COMPLETIONS_A_PROMPT: Final = 8  # Answers sampled for each prompt of the preflight.
LORA: Final = "lora_"  # Part of PEFT's names of adapter parameters.
DATA_FILES: Final = ("data/training/checks.toml",)


@dataclass(frozen=True)
class Check:
    """One check before a training."""

    name: str
    passed: bool
    measured: str
    """The finding, in words and numbers; never a prompt or a completion."""
    limit: str
    """The allowed value."""
    remedy: str
    """Remedy for a failure."""
    seconds: float = 0.0
    """Duration; checks that share their work count it all in the first."""


def checked(name: str, passed: bool, measured: str, key: str = "", **values: Any) -> Check:
    """Return a check with the limit and the remedy that the data has by its name, or another key, and these values."""
    said = read_data("training/checks.toml")[key or name]
    return Check(name, passed, measured, said["limit"].format(**values), said["remedy"].format(**values))


def refuse_if_failed(checks: Sequence[Check]) -> None:
    """Refuse to train if a check failed; the first few are reported with their remedies, the others by name."""
    failed = [check for check in checks if not check.passed]
    if not failed:
        return
    sentences = [f"{check.name}: {check.measured} (limit: {check.limit}), {check.remedy}" for check in failed]
    others = [check.name for check in failed[NAMED_FAILURES:]]
    more = f"; and also {', '.join(others)}" if others else ""
    raise GateRefused(
        f"the preflight failed {len(failed)} of {len(checks)} checks: {'; '.join(sentences[:NAMED_FAILURES])}{more}"
    )


def as_json(checks: Sequence[Check]) -> dict[str, Any]:
    """Return the contents of `preflight.json`."""
    return {
        "passed": all(check.passed for check in checks),
        "seconds": sum(check.seconds for check in checks),
        "checks": [asdict(check) for check in checks],
    }
