"""Portuguese reasoning of an answer: how likely it is, the reasons for it that hold, and then those against it.

Every word is of `data/evidence/churn.toml` or of the profile: no text of the answer is shown.
"""

from collections.abc import Sequence
from typing import Final

from tasks.commerce.churn.cited.checker import ChurnAnswer, CitedReason, check, read_answer
from tasks.commerce.churn.cited.phrases import PLURAL, read_phrases
from tasks.commerce.churn.cited.profile import CustomerProfile, read_profile
from tasks.commerce.evidence.render import Rendered

UNSUPPORTED: Final = "no reason points as the answer does"


def render(completion: str, prompt: str) -> Rendered:
    """Check an answer to a prompt and write what holds of it."""
    profile, answer = read_profile(prompt), read_answer(completion)
    if profile is None:
        return Rendered(None, False, "the prompt has no profile whose lines are known")
    if isinstance(answer, str):
        return Rendered(None, False, answer)
    checked = check(profile, answer.reasons)
    left_out = [f"reason {place} has a wrong {fault.value}" for place, (_, fault) in enumerate(checked, 1) if fault]
    said = [reason for reason, fault in checked if reason and fault is None]
    if profile.pointing[answer.direction] and all(reason.aponta != answer.direction for reason in said):
        left_out.append(UNSUPPORTED)
    return Rendered(_written(profile, answer, said) if said else None, not left_out, "; ".join(left_out) or None)


def _written(profile: CustomerProfile, answer: ChurnAnswer, said: Sequence[CitedReason]) -> str:
    known, certainty = read_phrases(), max(answer.risk, 1 - answer.risk)
    conclusion = next(each for each in known.conclusoes if certainty >= each.de)
    # Of several phrases the profile decides: its answers stay alike, and neighbours read differently.
    number = sum(map(ord, "".join(profile.texts.values())))
    own, against = (
        [_clause(profile, each, number) for each in said if (each.aponta == answer.direction) is supports]
        for supports in (True, False)
    )
    choice = conclusion.sai if answer.churn else conclusion.fica
    first = (known.texto.motivos if own else known.texto.contra_os_dados).format(
        conclusao=choice[number // 2 % len(choice)], motivos=_listed(own or against)
    )
    return f"{first} {known.texto.ressalva.format(motivos=_listed(against))}" if own and against else first


def _clause(profile: CustomerProfile, reason: CitedReason, number: int) -> str:
    phrases = profile.bands[reason.campo].frases
    return said_with(phrases[number % len(phrases)], reason.valor)


def said_with(phrase: str, value: str) -> str:
    """Return a phrase with a value in it, its words in the singular for 1."""
    return PLURAL.sub(r"\1" if value == "1" else r"\2", phrase).format(valor=value)


def _listed(clauses: Sequence[str]) -> str:
    *others, last = clauses
    return f"{', '.join(others)} e {last}" if others else last
