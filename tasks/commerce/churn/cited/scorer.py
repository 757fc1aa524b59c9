"""Churn with cited reasons: the risk, the answer, and the lines of the profile that speak for it.

`cited`, components in [0, 1]; the checker (`tasks.commerce.churn.cited.checker`) says what is true:

- `churn`: whether the answer is the outcome. Gamed by the commoner outcome.
- `risk`: one minus the Brier score of the risk, between the surest two that count. Gamed likewise.
- `reasons`: true ones that point as the answer does, less the false ones, of two. Gamed by two easy lines.
- `telling`: how telling the true ones are, beside the three most telling lines of the profile, whichever way they
  point. Gamed by the lines that are telling of most customers.

A reason that points against the answer is conceded: it tells, and supports nothing. An answer that cannot be read, or
that contradicts itself, earns 0.
"""

from typing import TYPE_CHECKING, Final

from tasks.commerce.churn.cited.checker import FALSE, MOST, check, read_answer
from tasks.commerce.churn.cited.profile import CustomerProfile, read_profile
from tasks.commerce.reward import Reference, Reward, Score, fill_unknown

if TYPE_CHECKING:
    from tasks.commerce.sql_qa.sandbox import Databases

WEIGHTS: Final = {"churn": 0.25, "risk": 0.25, "reasons": 0.30, "telling": 0.20}
NOTHING: Final = Score(dict.fromkeys(WEIGHTS, 0.0))
ENOUGH: Final = 2
"""Reasons for the answer that earn all."""
SURE: Final = (0.2, 0.8)
"""Risks beyond which no surer one earns more or less."""


def score(completion: str, prompt: str, reference: Reference | None, databases: "Databases | None") -> Score:  # noqa: ARG001 - every task's signature
    """Score the decision and its reasons."""
    profile, answer = read_profile(prompt), read_answer(completion)
    if profile is None or isinstance(answer, str):
        return NOTHING
    checked = check(profile, answer.reasons)
    false = sum(fault in FALSE for _, fault in checked)
    true = [reason for reason, fault in checked if reason and fault is None]
    direction = "sai" if answer.churn else "fica"
    supporting = sum(reason.aponta == direction for reason in true)
    told = sum(profile.bands[reason.campo].peso for reason in true)
    churned = (reference or {}).get("churn")
    components = {
        "churn": None if churned is None else float(answer.churn is churned),
        "risk": None if churned is None else _risk(answer.risk, churned),
        "reasons": min(1.0, max(0, supporting - false) / ENOUGH),
        "telling": told / most if (most := _most(profile)) else 0.0,
    }
    return Score(fill_unknown(components, WEIGHTS), {"risk_score": answer.risk, "churn": answer.churn})


def _risk(risk: float, churned: bool) -> float:
    """Return the Brier score of a risk clipped to `SURE`, scaled so that the surest wrong one earns 0."""
    least, most = SURE
    error = abs(min(max(risk, least), most) - churned)
    return 1 - (error**2 - least**2) / (most**2 - least**2)


def _most(profile: CustomerProfile) -> int:
    """Return how telling the profile's most telling lines are together."""
    fields = [*profile.pointing("sai"), *profile.pointing("fica")]
    return sum(sorted((profile.bands[name].peso for name in fields), reverse=True)[:MOST])


REWARD: Final = Reward(WEIGHTS, score)
