"""Churn: from a shopper's history, the risk that they never buy again, as a small JSON object.

`grounded`, components in [0, 1]:

- `json`: the form, as in extraction: 1 for the object alone, less with chatter, less again if it was repaired. Counts
  in full only as far as `types` are right, and a quarter at least. Gamed by a valid object without meaning.
- `types`: fields that pass their check (a number in [0, 1], a real boolean, a text), over the three requested ones and
  any extra ones. Gamed by one fixed object for every shopper.
- `churn`: 1 for the right answer. Gamed by the likelier answer.
- `risk`: 1 - (risk_score - churned)^2, one minus the Brier score (Brier 1950): only an honest risk earns most. Gamed by
  0.5, worth 0.75.
- `reasoning`: 1 for 20 to 220 characters of original Portuguese; each number that is not in the profile takes away a
  half. Gamed by one fixed sentence: only its numbers are checked against the profile.

If risk and answer contradict each other (`churn` with a risk below 0.5), both keep a quarter of their value: giving
both answers is giving neither. One fixed object earns 0.77 a shopper on 600 of a simulated store of 20,000
orders, as seven in ten shoppers have left: the AUC separates it from an informed answer.

All but `json` keep 0.43 if text stands beside the object or in fields that nobody asked for (`parser.NOT_ALONE`).

Source: source portfolio, churn prediction.

`v4.2`: the V4.2 report has no reward of churn; this is its reward of extraction by analogy (`json` a readable dict,
`schema` fields present of three, `types` checks passed of three). It knows no right answer. Gamed by one fixed object,
which earns everything.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from tasks.commerce.churn.reasons import NO_REASON, grade_reason
from tasks.commerce.reward import Reference, Reward, Score, fill_unknown
from tasks.commerce.text.json_fields import REPORT_WEIGHTS, is_boolean, is_share, is_text, read_share, report_components
from tasks.commerce.text.parser import parse_object
from tasks.commerce.text.wordings import read_wording

if TYPE_CHECKING:
    from schemas.tasks import SpecName
    from tasks.commerce.sql_qa.sandbox import Databases

DATA_FILES: Final = ("data/wordings/churn.toml",)
WORDING: Final = read_wording("churn")
WEIGHTS: Final = {"json": 0.10, "types": 0.10, "churn": 0.35, "risk": 0.30, "reasoning": 0.15}
CHECKS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "risk_score": is_share,
    "churn": is_boolean,
    "reasoning": is_text,
}
CONTRADICTED: Final = 0.25
USELESS: Final = 0.2
"""Share of answer and risk that a reason keeps which is false, harmful or about something else."""
SURE: Final = (0.2, 0.8)
"""Risks beyond which no surer one earns more or less."""


def score(completion: str, prompt: str, reference: Reference | None, databases: "Databases | None") -> Score:  # noqa: ARG001 - every task's signature
    """Score the form of the object, the answer, the risk and the reason."""
    parsed = parse_object(completion)
    fields = parsed.value or {}
    churn, reason = fields.get("churn"), fields.get("reasoning")
    churn = churn if is_boolean(churn) else None
    reason = reason if is_text(reason) else None
    risk = read_share(fields.get("risk_score"))
    types = sum(value is not None for value in (churn, risk, reason)) / len(fields.keys() | CHECKS.keys())
    trust = parsed.trust_alone(CHECKS)
    contradicts = churn is not None and risk is not None and risk != 0.5 and (risk > 0.5) != churn
    grade = NO_REASON if reason is None else grade_reason(reason, prompt, churn)
    usable = USELESS + (1 - USELESS) * grade.use
    trust *= usable
    kept = trust * (CONTRADICTED if contradicts else 1.0)
    churned = (reference or {}).get("churn")
    components = {
        "json": usable * parsed.cleanliness * (0.25 + 0.75 * types),
        "types": trust * types,
        "churn": None if churned is None else kept * (churn is churned),
        "risk": None if churned is None else kept * _risk(risk, churned),
        "reasoning": trust * grade.support,
    }
    return Score(fill_unknown(components, WEIGHTS), parsed.value)


def _risk(risk: float | None, churned: bool) -> float:
    """Return the Brier score of a risk clipped to `SURE`, scaled so that the surest wrong one earns 0."""
    if risk is None:
        return 0.0
    least, most = SURE
    error = abs(min(max(risk, least), most) - churned)
    return 1 - (error**2 - least**2) / (most**2 - least**2)


def v42_score(completion: str, prompt: str, reference: Reference | None, databases: "Databases | None") -> Score:  # noqa: ARG001 - every task's signature
    """Score a dict, its three fields and their types."""
    parsed = parse_object(completion)
    return Score(report_components(parsed.trust, parsed.value or {}, tuple(CHECKS), CHECKS), parsed.value)


REWARDS: Final[Mapping["SpecName", Reward]] = {
    "grounded": Reward(WEIGHTS, score),
    "v4.2": Reward(REPORT_WEIGHTS, v42_score),
}
