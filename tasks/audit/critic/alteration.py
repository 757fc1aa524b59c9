"""Alterations of a good answer: what makes it bad, and what keeps it good.

Who writes an alteration does not write what detects it: nothing here asks a reward, and no reward imports this.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from schemas.tasks import TaskName
from tasks.commerce.reward import Reference
from tasks.commerce.sql_qa.sandbox import Database

Kind = Literal["corruption", "rewrite"]
Severity = Literal["costly", "unsendable", "harmless"]
LIMITS: Final[Mapping[Severity, float]] = MappingProxyType({"costly": 0.3, "unsendable": 0.5, "harmless": 0.15})
"""Share of the good answer's reward that a corruption must lose at least, and a rewrite at most."""
TOLERANCE: Final = 1e-9


@dataclass(frozen=True)
class Case:
    """A prompt with its good answer."""

    task: TaskName
    prompt_id: str
    prompt: str
    reference: Reference
    answer: str
    witness: Database | None = None
    """Another store than the reward's copies, where sql_qa's corruptions must give other rows."""


Change = Callable[[Case, random.Random], str | None]
"""Returns the altered answer; None where the alteration does not apply."""


@dataclass(frozen=True)
class CriticAlteration:
    """A named change of a good answer."""

    name: str
    severity: Severity
    """`costly` is a bad answer, `unsendable` one that a manager would not send at all, `harmless` a rewrite."""
    change: Change
    applies: float = 1.0
    """Share of fresh prompts to which it applies, at least."""

    @property
    def kind(self) -> Kind:
        """Return whether it makes the answer bad or keeps it good."""
        return "rewrite" if self.severity == "harmless" else "corruption"

    def apply(self, case: Case, seed: int) -> str | None:
        """Return the altered answer, the same for the same seed; None where it does not apply or changes nothing."""
        altered = self.change(case, random.Random(f"{seed}:{self.name}:{case.prompt_id}"))
        return None if altered == case.answer else altered


def within_limit(severity: Severity, loss: float) -> bool:
    """Return whether an alteration of that severity may lose, or loses, so much of the good answer's reward."""
    if severity == "harmless":
        return loss <= LIMITS[severity] + TOLERANCE
    return loss >= LIMITS[severity] - TOLERANCE
