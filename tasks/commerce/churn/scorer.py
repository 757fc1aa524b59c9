"""Churn: the risk, the answer, and the lines of the profile that speak for it.

An answer is `{"risk_score","churn","reasons":[{"campo","valor","aponta"}, ...]}` with one to three reasons. The one
checker below says what is true, for the reward, `valid`, the probes and the rendering. Nothing else is read, and no
word of an answer is ever shown. Components in [0, 1]:

- `churn`: whether the answer is the outcome. Gamed by the commoner outcome.
- `risk`: one minus the Brier score of the risk, between the surest two that count. Gamed likewise.
- `reasons`: the true ones that count, less the false ones, beside the three (or fewer) that explain the answer best.
  Gamed by easy lines.
- `telling`: how telling those that count are, beside these three. Gamed by lines that tell of most customers.

A reason that points as the answer does counts. One against it is conceded: it counts beside one that does, or beside
none where the profile has none, if the profile has fewer than three. An answer that cannot be read, or that contradicts
itself, earns 0. A right decision without a true reason earns 0.5, and one with reasons against it alone 0.6. Reasons of
a wrong one earn a tenth, or an answer that reads nothing for its decision would be paid for the lines that it copies.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from tasks.commerce.churn.profile import MOST, PHRASES, CustomerProfile, Direction, read_profile, said_by
from tasks.commerce.reward import Reference, Reward, Score, fill_unknown
from tasks.commerce.served import Served, read_evidence, written
from tasks.commerce.text.json_fields import REPORT_WEIGHTS

WEIGHTS: Final = {"churn": 0.25, "risk": 0.25, "reasons": 0.30, "telling": 0.20}
SURE: Final = (0.2, 0.8)  # Risks beyond which no surer one earns more or less.
MISLED: Final = 0.1  # Share of their worth that the reasons of a wrong decision keep.
AGAINST: Final = 0.2  # The same of reasons that are all against the decision.
MAX_CHARACTERS: Final = 2_000
EVEN: Final = 0.5
TEXTS: Final = PHRASES.texto


class ReasonFault(StrEnum):
    """Fault of a reason, the first that was found, as the asker reads it."""

    FORM = "não tem a forma de um motivo"
    FALSE = "o perfil não diz isso"
    REPEATED = "repete um campo"


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


def read_answer(completion: str) -> ChurnAnswer | None:
    """Return an answer, its reasons unchecked; None where it cannot be used or contradicts itself."""
    read = read_evidence(completion, {"risk_score", "churn", "reasons"}, "reasons", MAX_CHARACTERS)
    if read is None:
        return None
    risk, churn, reasons = answer = ChurnAnswer(read["risk_score"], read["churn"], read["reasons"])
    has_form = 1 <= len(reasons) <= MOST and type(risk) in (float, int) and 0 <= risk <= 1 and type(churn) is bool
    return answer if has_form and (risk == EVEN or (risk > EVEN) == churn) else None


def check(profile: CustomerProfile, reasons: Sequence[object]) -> list[tuple[CitedReason | None, ReasonFault | None]]:
    """Return each reason of an answer, if it has the form of one, with its fault, none where it holds."""
    checked: list[tuple[CitedReason | None, ReasonFault | None]] = []
    said: set[object] = set()
    for each in reasons:
        if type(each) is not dict or each.keys() != {*CitedReason._fields} or set(map(type, each.values())) != {str}:
            checked.append((None, ReasonFault.FORM))
            continue
        name, value, way = reason = CitedReason(**each)
        fault: ReasonFault | None = ReasonFault.FALSE
        if profile.texts.get(name) == value and profile.bands[name].aponta == way:
            fault = None if said.isdisjoint(said_by(name, way)) else ReasonFault.REPEATED
            said |= said_by(name, way)
        checked.append((reason, fault))
    return checked


def score(completion: str, prompt: str, reference: Reference | None, _: object) -> Score:
    """Score the decision and its reasons."""
    profile, answer = read_profile(prompt), read_answer(completion)
    if profile is None or answer is None:
        return Score(dict.fromkeys(WEIGHTS, 0.0))
    checked = check(profile, answer.reasons)
    false = [fault for _, fault in checked].count(ReasonFault.FALSE)
    true = [reason for reason, fault in checked if reason and fault is None]
    own = [reason for reason in true if reason.aponta == answer.direction]
    pro, best = profile.pointing[answer.direction], profile.explaining(answer.direction)
    counted = own if len(pro) >= MOST or (pro and not own) else true
    churned = (reference or {}).get("churn")
    kept = (1.0 if churned in (None, answer.churn) else MISLED) * (1.0 if own else AGAINST)
    told = profile.weight(reason.campo for reason in counted)
    components = {
        "churn": None if churned is None else float(answer.churn is churned),
        "risk": None if churned is None else _risk(answer.risk, churned),
        "reasons": kept * min(1.0, max(0, len(counted) - false) / len(best)) if best else 0.0,
        "telling": kept * min(1.0, told / profile.weight(best)) if best else 0.0,
    }
    return Score(fill_unknown(components, WEIGHTS), {"risk_score": answer.risk, "churn": answer.churn})


def _risk(risk: float, churned: bool) -> float:
    """Return the Brier score of a risk clipped to `SURE`, scaled so that the surest wrong one earns 0."""
    least, most = SURE
    error = abs(min(max(risk, least), most) - churned)
    return 1 - (error**2 - least**2) / (most**2 - least**2)


REWARD: Final = Reward(WEIGHTS, score)

PLURAL: Final = re.compile(r"\{([^{}|]+)\|([^{}|]+)\}")  # The word for 1 and the one for other numbers.


def render(completion: str, prompt: str) -> Served:
    """Check an answer to a prompt and write what holds of it, in words of the data and the profile."""
    profile, answer = read_profile(prompt), read_answer(completion)
    if profile is None or answer is None:
        return Served(None, False, TEXTS.sem_perfil if profile is None else TEXTS.sem_motivos)
    checked = check(profile, answer.reasons)
    left_out = [f"motivo {place}: {fault}" for place, (_, fault) in enumerate(checked, 1) if fault]
    said = [reason for reason, fault in checked if reason and fault is None]
    if profile.pointing[answer.direction] and all(reason.aponta != answer.direction for reason in said):
        left_out.append(TEXTS.sem_apoio)
    text = _reasoning(profile, answer, said) if said else None
    return Served(text, not left_out, "; ".join(left_out) or None, {"reasons": [each._asdict() for each in said]})


def serve(completion: str, prompt: str) -> Served:
    """Check an answer to a prompt, and return risk and outcome, which are its judgement, with what holds as words."""
    served, answer = render(completion, prompt), read_answer(completion)
    if answer is None or not isinstance(served.parsed, dict):
        return served
    fields = {"risk_score": answer.risk, "churn": answer.churn, "reasoning": served.text or ""}
    return served._replace(text=written(fields), parsed=fields | served.parsed)


def _reasoning(profile: CustomerProfile, answer: ChurnAnswer, said: Sequence[CitedReason]) -> str:
    # Of several phrases the profile decides: its answers stay alike, and neighbours read differently.
    number = sum(map(ord, "".join(profile.texts.values())))
    clauses: dict[bool, list[str]] = {True: [], False: []}
    for each in said:
        choice = profile.bands[each.campo].frases
        clauses[each.aponta == answer.direction].append(said_with(choice[number % len(choice)], each.valor))
    own, against = (_listed(some) for some in clauses.values())
    # Without a reason of its own a decision is the least certain one.
    certainty = max(answer.risk, 1 - answer.risk) if own else EVEN
    choice = next(each for each in PHRASES.conclusoes if certainty >= each.de)[answer.direction]
    first: str = (TEXTS.motivos if own else TEXTS.contra_os_dados).format(
        conclusao=choice[number // 2 % len(choice)], motivos=own or against
    )
    return f"{first} {TEXTS.ressalva.format(motivos=against)}" if own and against else first


def said_with(phrase: str, value: str) -> str:
    """Return a phrase with a value in it, its words in the singular for 1."""
    return PLURAL.sub(r"\1" if value == "1" else r"\2", phrase).format(valor=value)


def _listed(clauses: Sequence[str]) -> str:
    return " e ".join(filter(None, (", ".join(clauses[:-1]), *clauses[-1:])))


def v42_score(completion: str, prompt: str, _reference: Reference | None, _: object) -> Score:
    """Score by the V4.2 report a readable object, its three fields and their types; reasoning is what is rendered."""
    answer = read_answer(completion)
    if answer is None:
        return Score(dict.fromkeys(REPORT_WEIGHTS, 0.0))
    text = render(completion, prompt).text
    fields = {"risk_score": answer.risk, "churn": answer.churn} | ({"reasoning": text} if text else {})
    there = len(fields) / 3
    return Score({"json": 1.0, "schema": there, "types": there}, fields)


V42_REWARD: Final = Reward(REPORT_WEIGHTS, v42_score)
