"""The one checker of reasons: what reward, `valid`, probes and rendering know of an answer they know from here.

An answer is `{"risk_score","churn","reasons":[{"campo","valor","aponta"}, ...]}` with one to three reasons. Nothing
else is read, and no word of an answer is ever shown.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

import orjson

from tasks.commerce.churn.profile import MOST, CustomerProfile, Direction, themes

MAX_CHARACTERS: Final = 2_000
"""Of an answer; three reasons have some 250."""
EVEN: Final = 0.5
"""Risk that goes with either answer."""
KEYS: Final = ("risk_score", "churn", "reasons")
REASON_KEYS: Final = ("campo", "valor", "aponta")
_KEYS: Final = frozenset(KEYS)
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


def read_answer(completion: str) -> ChurnAnswer | str:
    """Return an answer, its reasons unchecked, or why it cannot be used, whatever text it is."""
    if len(completion) > MAX_CHARACTERS:
        return f"it has {len(completion)} characters, and at most {MAX_CHARACTERS} are read"
    try:
        read = orjson.loads(completion)
    except ValueError:
        return "it is no JSON object alone"
    if type(read) is not dict or read.keys() != _KEYS:
        return f"it is no object with the keys {', '.join(KEYS)} and no others"
    answer = ChurnAnswer(read["risk_score"], read["churn"], read["reasons"])
    return _form_fault(answer, completion) or answer


def _form_fault(answer: ChurnAnswer, completion: str) -> str | None:
    """Return why what was read of a completion, of any type, is no answer."""
    risk, churn, reasons = answer
    if type(reasons) is not list or not 1 <= len(reasons) <= MOST:
        return f"its reasons are no list of 1 to {MOST}"
    if type(risk) not in (float, int) or not 0 <= risk <= 1 or type(churn) is not bool:
        return "its risk_score is no number from 0 to 1, or its churn is neither true nor false"
    if risk != EVEN and (risk > EVEN) != churn:
        return "its risk_score and its churn contradict each other"
    # No value of a profile has a colon, so that each further one belongs to a key that the reader has passed over.
    if completion.count(":") != len(KEYS) + sum([len(each) for each in reasons if type(each) is dict]):
        return "it has a key twice, or a colon in a value"
    return None


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
