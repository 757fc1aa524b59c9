"""Churn: the risk, the answer, and the lines of the profile that speak for it.

`grounded`, components in [0, 1]; the checker (`tasks.commerce.churn.checker`) says what is true:

- `churn`: whether the answer is the outcome. Gamed by the commoner outcome.
- `risk`: one minus the Brier score of the risk, between the surest two that count. Gamed likewise.
- `reasons`: the true ones that count, less the false ones, beside the three (or fewer) that explain the answer best.
  Gamed by easy lines.
- `telling`: how telling those that count are, beside these three. Gamed by lines that tell of most customers.

A reason that points as the answer does counts. One against it is conceded: it counts beside one that does, or beside
none where the profile has none, if the profile has fewer than three. An answer that cannot be read, or that contradicts
itself, earns 0. A right decision without a true reason earns 0.5. Reasons of a wrong one earn a tenth, or an answer
that reads nothing for its decision would be paid for the lines that it copies.
"""

from typing import Final

from tasks.commerce.churn.checker import FALSE, check, read_answer
from tasks.commerce.churn.profile import MOST, read_profile
from tasks.commerce.reward import Reference, Reward, Score, fill_unknown

WEIGHTS: Final = {"churn": 0.25, "risk": 0.25, "reasons": 0.30, "telling": 0.20}
NOTHING: Final = Score(dict.fromkeys(WEIGHTS, 0.0))
SURE: Final = (0.2, 0.8)
"""Risks beyond which no surer one earns more or less."""

MISLED: Final = 0.1
"""Share of their worth that the reasons of a wrong decision keep."""


def score(completion: str, prompt: str, reference: Reference | None, _: object) -> Score:
    """Score the decision and its reasons."""
    profile, answer = read_profile(prompt), read_answer(completion)
    if profile is None or answer is None:
        return NOTHING
    checked = check(profile, answer.reasons)
    false = len([fault for _, fault in checked if fault in FALSE])
    true = [reason for reason, fault in checked if reason and fault is None]
    own = [reason for reason in true if reason.aponta == answer.direction]
    pro, best = profile.pointing[answer.direction], profile.explanations[answer.direction]
    counted = own if len(pro) >= MOST or (pro and not own) else true
    told = sum([profile.bands[reason.campo].peso for reason in counted])
    churned = (reference or {}).get("churn")
    kept = 1.0 if churned in (None, answer.churn) else MISLED
    components = {
        "churn": None if churned is None else float(answer.churn is churned),
        "risk": None if churned is None else _risk(answer.risk, churned),
        "reasons": kept * min(1.0, max(0, len(counted) - false) / len(best.fields)) if best.fields else 0.0,
        "telling": kept * min(1.0, told / best.weight) if best.fields else 0.0,
    }
    return Score(fill_unknown(components, WEIGHTS), {"risk_score": answer.risk, "churn": answer.churn})


def _risk(risk: float, churned: bool) -> float:
    """Return the Brier score of a risk clipped to `SURE`, scaled so that the surest wrong one earns 0."""
    least, most = SURE
    error = abs(min(max(risk, least), most) - churned)
    return 1 - (error**2 - least**2) / (most**2 - least**2)


REWARD: Final = Reward(WEIGHTS, score)
