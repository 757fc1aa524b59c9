"""The one checker of reasons: what reward, `valid`, probes and rendering know of an answer they know from here.

An answer is `{"risk_score","churn","reasons":[{"campo","valor","aponta"}, ...]}` with one to three reasons. Nothing
else is read, and no word of an answer is ever shown.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from tasks.commerce.churn.profile import MOST, CustomerProfile, Direction, themes
from tasks.commerce.evidence import read_evidence

MAX_CHARACTERS: Final = 2_000
"""Of an answer; three reasons have some 250."""
EVEN: Final = 0.5
"""Risk that goes with either answer."""
REASON_KEYS: Final = ("campo", "valor", "aponta")
_KEYS: Final = frozenset(("risk_score", "churn", "reasons"))
_REASON_KEYS: Final = frozenset(REASON_KEYS)


class ReasonFault(StrEnum):
    """Fault of a reason, the first that was found, as the asker reads it."""

    FORM = "não tem a forma de um motivo"
    """It is no object of these keys with texts."""
    FIELD = "o perfil não tem esse campo"
    """The profile has no such line, or it says nothing of any customer."""
    VALUE = "o valor não é o do perfil"
    """It is not the one that the profile prints."""
    DIRECTION = "o valor não aponta para esse lado"
    """The value does not point that way; one that lies between points nowhere."""
    REPEATED = "repete um campo"
    """An earlier reason names the field, or another that says the same."""


FALSE: Final = (ReasonFault.FIELD, ReasonFault.VALUE, ReasonFault.DIRECTION)
"""Faults of a reason that says something untrue."""


class CitedReason(NamedTuple):
    """A line of the profile and the way that it points."""

    campo: str
    valor: str
    aponta: str


class ChurnAnswer(NamedTuple):
    """An answer whose reasons are unchecked."""

    risk: float
    churn: bool
    reasons: list[object]

    @property
    def direction(self) -> Direction:
        """Return the way that its own reasons point."""
        return "sai" if self.churn else "fica"


class CheckedReason(NamedTuple):
    """A reason and its fault, if any."""

    reason: CitedReason | None
    """None where it has no form."""
    fault: ReasonFault | None


def read_answer(completion: str) -> ChurnAnswer | None:
    """Return an answer, its reasons unchecked; None where it cannot be used or contradicts itself."""
    read = read_evidence(completion, _KEYS, "reasons", MAX_CHARACTERS)
    if read is None:
        return None
    risk, churn, reasons = answer = ChurnAnswer(read["risk_score"], read["churn"], read["reasons"])
    has_form = 1 <= len(reasons) <= MOST and type(risk) in (float, int) and 0 <= risk <= 1 and type(churn) is bool
    return answer if has_form and (risk == EVEN or (risk > EVEN) == churn) else None


def check(profile: CustomerProfile, reasons: Sequence[object]) -> list[CheckedReason]:
    """Return each reason of an answer with its fault, none where it holds."""
    checked: list[CheckedReason] = []
    said: set[object] = set()
    for each in reasons:
        reason = _read(each)
        if reason is None:
            checked.append(CheckedReason(None, ReasonFault.FORM))
            continue
        fault = _fault(profile, reason)
        if fault is None:
            keys = {reason.campo, (themes()[reason.campo], reason.aponta)}
            fault = ReasonFault.REPEATED if keys & said else None
            said |= keys
        checked.append(CheckedReason(reason, fault))
    return checked


def _read(found: object) -> CitedReason | None:
    if type(found) is not dict or found.keys() != _REASON_KEYS:
        return None
    reason = CitedReason(found["campo"], found["valor"], found["aponta"])
    return reason if type(reason[0]) is type(reason[1]) is type(reason[2]) is str else None


def _fault(profile: CustomerProfile, reason: CitedReason) -> ReasonFault | None:
    if reason.campo not in profile.texts:
        return ReasonFault.FIELD
    if reason.valor != profile.texts[reason.campo]:
        return ReasonFault.VALUE
    return None if reason.aponta == profile.bands[reason.campo].aponta else ReasonFault.DIRECTION
