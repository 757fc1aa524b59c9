"""Portuguese reasoning of an answer: how likely it is, the reasons for it that hold, and then those against it.

Every word is of `data/evidence/churn.toml` or of the profile: no text of the answer is shown. The V4.2 report's
reward is of what is shown.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tasks.commerce.churn.profile import MOST, CustomerProfile, phrases, read_profile
from tasks.commerce.churn.scorer import EVEN, ChurnAnswer, CitedReason, check, read_answer
from tasks.commerce.reward import Reference, Reward, Score
from tasks.commerce.served import Served, written
from tasks.commerce.text.json_fields import REPORT_WEIGHTS, is_boolean, is_share, report_components

PLURAL: Final = re.compile(r"\{([^{}|]+)\|([^{}|]+)\}")
"""The word for 1 and the one for other numbers."""
NO_PROFILE: Final = (
    "o pedido não traz perfil com linhas conhecidas, e nada pôde ser conferido: escreva uma instrução e, abaixo dela, "
    "linhas como `Pedidos: 3`"
)
NO_REASONS: Final = f"a resposta não é só um objeto JSON de risco, decisão coerente e 1 a {MOST} motivos"


def render(completion: str, prompt: str) -> Served:
    """Check an answer to a prompt and write what holds of it."""
    profile, answer = read_profile(prompt), read_answer(completion)
    if profile is None:
        return Served(None, False, NO_PROFILE)
    if answer is None:
        return Served(None, False, NO_REASONS)
    checked = check(profile, answer.reasons)
    left_out = [f"motivo {place}: {fault}" for place, (_, fault) in enumerate(checked, 1) if fault]
    said = [reason for reason, fault in checked if reason and fault is None]
    if profile.pointing[answer.direction] and all(reason.aponta != answer.direction for reason in said):
        left_out.append("nenhum motivo aponta para a decisão")
    text = _written(profile, answer, said) if said else None
    parsed = {"reasons": [reason._asdict() for reason in said]}
    return Served(text, not left_out, "; ".join(left_out) or None, parsed)


def serve(completion: str, prompt: str) -> Served:
    """Check an answer to a prompt, and return risk and outcome, which are its judgement, with what holds as words."""
    served, answer = render(completion, prompt), read_answer(completion)
    if answer is None or not isinstance(served.parsed, dict):
        return served
    fields = {"risk_score": answer.risk, "churn": answer.churn, "reasoning": served.text or ""}
    return served._replace(text=written(fields), parsed=fields | served.parsed)


def _written(profile: CustomerProfile, answer: ChurnAnswer, said: Sequence[CitedReason]) -> str:
    known = phrases()
    # Of several phrases the profile decides: its answers stay alike, and neighbours read differently.
    number = sum(map(ord, "".join(profile.texts.values())))
    own, against = (
        [
            said_with(choice[number % len(choice)], each.valor)
            for each in said
            if (each.aponta == answer.direction) is supports
            for choice in [profile.bands[each.campo].frases]
        ]
        for supports in (True, False)
    )
    # Without a reason of its own a decision is the least certain one.
    certainty = max(answer.risk, 1 - answer.risk) if own else EVEN
    choice = next(each for each in known.conclusoes if certainty >= each.de)[answer.direction]
    first = (known.texto.motivos if own else known.texto.contra_os_dados).format(
        conclusao=choice[number // 2 % len(choice)], motivos=_listed(own or against)
    )
    return f"{first} {known.texto.ressalva.format(motivos=_listed(against))}" if own and against else first


def said_with(phrase: str, value: str) -> str:
    """Return a phrase with a value in it, its words in the singular for 1."""
    return PLURAL.sub(r"\1" if value == "1" else r"\2", phrase).format(valor=value)


def _listed(clauses: Sequence[str]) -> str:
    *others, last = clauses
    return f"{', '.join(others)} e {last}" if others else last


CHECKS: Final[Mapping[str, Callable[[Any], bool]]] = {"risk_score": is_share, "churn": is_boolean, "reasoning": bool}


def score(completion: str, prompt: str, _reference: Reference | None, _: object) -> Score:
    """Score by the V4.2 report a readable object, its three fields and their types.

    The reasoning is that of the reasons that hold, so that rewards compare.
    """
    answer = read_answer(completion)
    if answer is None:
        return Score(report_components(0.0, {}, tuple(CHECKS), CHECKS))
    text = render(completion, prompt).text
    fields = {"risk_score": answer.risk, "churn": answer.churn} | ({"reasoning": text} if text else {})
    return Score(report_components(1.0, fields, tuple(CHECKS), CHECKS), fields)


V42_REWARD: Final = Reward(REPORT_WEIGHTS, score)
