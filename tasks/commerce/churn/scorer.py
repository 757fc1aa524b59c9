"""Churn: from a shopper's history, the risk that they never buy again, as a small JSON object.

`grounded`, components in [0, 1]:

- `json`: the form, as in extraction: 1 for the object alone, less with chatter, less again if it was repaired. Counts
  in full only as far as `types` are right, and a quarter at least. Gamed by a valid object without meaning.
- `types`: fields that pass their check (a number in [0, 1], a real boolean, a text), over the three requested ones and
  any extra ones. Gamed by one fixed object for every shopper.
- `churn`: 1 for the right answer. Gamed by the likelier answer.
- `risk`: the Brier score (Brier 1950) of the risk clipped to [.2, .8] (`SURE`), scaled to [0, 1]: 1 for a sure right
  risk, 0 for a sure wrong one, so 0.5 earns .65 instead of .75. It stays proper, which 1 - (risk - churned)^2 divided
  by its base rate and cut off at 0 is not: whoever is sure beyond .8 earns no more, and up to there an honest risk
  earns most. The base rate itself earns .69 where 65 in 100 leave (.77 by the plain score); no proper score with these
  ends gives less than .65, which is the share of the likelier answer. Gamed by the base rate.
- `reasoning`: how far the profile supports the answer by the reason: 0.4 for a conclusion alone (`não deve voltar`), 1
  for one true claim with a number or two without that speak for the answer; what was spent, and in how many
  instalments, speaks for no side. Gamed by a template filled from the profile.

A reason gates all others: an answer whose reason is false, harmful or about something else cannot be used, and keeps
0.2 (`USELESS`). It is read as claims of `churn_claims.toml` (`claims`), each checked against the profile (numbers with
their nouns, exact or as people round; words against thresholds stated there) and against what it is said of (`scopes`:
all orders or one, days since the last purchase and no others; of `dois dos três pedidos` both numbers). A quarter of
the use is left by each false claim, by each number without a claim, by each frame that no profile bears (`faults`:
payment not made, advice beyond a list of what may be advised, other customers, a cause or purpose without a claim or of
instalments alone, a change that the last rating beside the mean does not show, a habit by the calendar, an arrival
while an order is missing), by each judgement of person, shop or product, by each clause without a claim that holds a
word that is no analyst's and none that weighs, by a sentence without a claim that begins with a verb or another word
that no advice has (`leftovers`), and by each word of a field that no profile speaks of or of a shopper's speech
(`churn_telling.txt`). Other words are free if they are an analyst's (`churn_words.txt`, `churn_weighing.txt`), the
category's or function words, and cost little if not: one beside a claim 0.06, one in a clause that weighs 0.15, two
there 0.65; a clause of listed words that say what a shopper wants or does (`churn_stating.txt`) a half. A sentence that
claims nothing costs a tenth; a reason that claims nothing of orders, time, deliveries or ratings and does not conclude
keeps 0.3, as does none at all; a conclusion against `churn`, or both, a tenth; claims that all speak against it a
quarter (0.85 if it concludes for it nonetheless; none lost behind `apesar de`, `mas`); the manner of `text.manner` its
square; and sentences that are none, copies and length as they are graded in `text_form`. Gamed by a falsehood in an
analyst's words, or in one other word beside a claim, that no claim and no frame reads (`o estado dele compra pouco`); a
claim is read by its words, so an odd one (`nota de dias`) can pass.

If risk and answer contradict each other (`churn` with a risk below 0.5), both keep a quarter of their value: giving
both answers is giving neither. Beside no answer a reason supports nothing. On 2,000 prompts of a simulated store of
8,000 orders the best fixed object earns 0.65 a shopper, as six in ten have left, and a template with the profile's
orders and days 0.73: the AUC separates both from an informed answer. The reference's answer (`task.answer`) knows no
profile, so its reason is a conclusion alone and earns 0.91: the alterations of the audit's critic are measured against
that, and a specific reason earns up to 1.

All keep 0.43 if text stands beside the object or in fields that nobody asked for (`parser.NOT_ALONE`).

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
    right = (churn is not None) + (risk is not None) + (reason is not None)
    alone = not parsed.needed and fields.keys() == CHECKS.keys()
    types = right / (len(CHECKS) if alone else len(fields.keys() | CHECKS.keys()))
    trust = 1.0 if alone else parsed.trust_alone(CHECKS)
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
        "reasoning": 0.0 if churn is None else trust * grade.support,
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
