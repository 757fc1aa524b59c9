"""Ground truth of churn: the outcome from the reference, the reason from the profile in the prompt.

The answer is what `json.loads` makes of the whole completion. Unseen: what a reason says beside the profile's figures
(a cause that nobody knows, an insult, another language), and whether the figures explain the risk.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from schemas.documents import Rollout
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.truth_text import NUMBER, fold, half_unit, read_object, read_table, share_of, value_of

DATA_FILES: Final = ("data/truth/churn_reasons.toml",)
MAX_REASON: Final = 400
"""Characters of a reason: a longer one is no short sentence."""

_LINE: Final = re.compile(r"^([^:\n]{1,40}): (.{1,80})$", re.MULTILINE)
_SPELLED: Final = (
    *(
        "um",
        "dois",
        "tres",
        "quatro",
        "cinco",
        "seis",
        "sete",
        "oito",
        "nove",
        "dez",
        "onze",
        "doze",
        "treze",
        "quatorze",
    ),
    *("quinze", "dezesseis", "dezessete", "dezoito", "dezenove", "vinte"),
)
_AS_DIGITS: Final = {word: str(number) for number, word in enumerate(_SPELLED, 1)} | {"uma": "1", "duas": "2"}
_SPELLED_WORD: Final = re.compile(rf"\b(?:{'|'.join(_AS_DIGITS)})\b")
_FIGURE: Final = re.compile(
    rf"(?P<money>r\$ ?)?(?P<number>{NUMBER})(?P<reais> reais\b)?"
    r"(?: (?:unic[oa]s? )?(?P<unit>[a-z]+(?: com atraso| atrasad[ao]s?| nao entregues?"
    r"| nao (?:foi|foram) entregues?)?))?"
)
_BEFORE: Final = 30
"""Characters before a figure that say what it counts."""
_DAYS_A_MONTH: Final = 30.4


class ShopperLines(NamedTuple):
    """What the prompt says of a shopper; None where it does not."""

    orders: float | None
    spent: float | None
    instalments: float | None
    days: float | None
    last: float | None
    mean: float | None
    late: float | None
    missing: float | None
    category: str


def metric(rollouts: Sequence[Rollout], databases: Databases | None) -> dict[str, float]:  # noqa: ARG001 - every task's signature
    """Return what is right of answer, risk and reason; absent where it is not defined.

    - `accuracy`: share of the answers `churn` that are the outcome. A constant earns the share of the commoner one.
    - `balanced_accuracy`: mean of the accuracy among who left and among who stayed, 0.5 for any constant; only where
      both occur.
    - `auc`: Mann-Whitney of `risk_score`: a shopper who left has the higher risk, ties half, 0.5 for an unreadable one
      and for any constant; only where both occur.
    - `reason_true`: share of the reasons that name at least one fact of the profile, and nothing against it: each
      figure is that of its line (orders, days or months, amount, rating, delays, instalments), what is said without a
      figure (never late, content, long silent, a regular) fits the lines, and the forecast is the answer's. Gamed by
      one true fact beside whatever the profile does not speak of.
    """
    right = {True: list[bool](), False: list[bool]()}
    risks = {True: list[float](), False: list[float]()}
    reasons: list[bool] = []
    for rollout in rollouts:
        churned = (rollout.reference or {}).get("churn")
        if churned is None:
            continue
        fields = read_object(rollout.completion) or {}
        risk = share_of(fields.get("risk_score"))
        right[churned].append(fields.get("churn") is churned)
        risks[churned].append(0.5 if risk is None else risk)
        profile = read_profile(rollout.prompt)
        if profile is not None:
            reasons.append(is_true(fields, profile))
    answered = right[True] + right[False]
    if not answered:
        return {}
    found = {"accuracy": sum(answered) / len(answered)}
    if right[True] and right[False]:
        found["balanced_accuracy"] = sum(sum(each) / len(each) for each in right.values()) / 2
        found["auc"] = _auc(risks[True], risks[False])
    return found | ({"reason_true": sum(reasons) / len(reasons)} if reasons else {})


def _auc(left: Sequence[float], stayed: Sequence[float]) -> float:
    ordered = sorted(stayed)
    wins = sum(bisect_left(ordered, risk) + bisect_right(ordered, risk) for risk in left) / 2
    return wins / (len(left) * len(ordered))


@lru_cache(maxsize=4_096)
def read_profile(prompt: str) -> ShopperLines | None:
    """Return the profile that a prompt shows; None without one."""
    lines = dict(_LINE.findall(prompt))
    orders, *values = [_value(lines.get(label)) for label in (
        "Pedidos", "Total gasto", "Máximo de parcelas", "Dias desde a última compra", "Última nota", "Nota média",
        "Entregas com atraso", "Pedidos não entregues",
    )]  # fmt: skip
    if orders is None:
        return None
    spent, instalments, days, last, mean, late, missing = values
    category = fold(lines.get("Categoria favorita", ""))
    return ShopperLines(orders, spent, instalments, days, last, mean, late, missing, category)


def _value(line: str | None) -> float | None:
    found = re.search(NUMBER, line) if line else None
    return value_of(found[0]) if found else None


def is_true(fields: Mapping[str, Any], profile: ShopperLines) -> bool:
    """Return whether an answer's reason names a fact of the profile, and nothing against it."""
    reason = fields.get("reasoning")
    if not isinstance(reason, str) or len(reason) > MAX_REASON:
        return False
    folded = " ".join(fold(reason).split())
    figures = [_is_of_profile(figure, profile) for figure in _figures(folded)]
    claims = _claims(folded, profile, bool(fields.get("churn")))
    if not all(figures) or not all(claims.values()):
        return False
    named = profile.category and profile.category != "desconhecida" and profile.category in folded
    return bool(figures or claims.keys() - {"leaves", "stays"} or named)


def _figures(folded: str) -> list[re.Match[str]]:
    digits = _SPELLED_WORD.sub(lambda word: _AS_DIGITS[word[0]], folded)
    # "Um" is a figure before what is counted, and an article elsewhere.
    return [
        found
        for found in _FIGURE.finditer(digits)
        if len(found["number"]) <= 12 and (found["number"] != "1" or _column_of(found, digits) or "1" in folded)
    ]


def _column_of(figure: re.Match[str], text: str) -> str:
    """Return what a figure counts, by the word behind it or before it."""
    if figure["money"] or figure["reais"]:
        return "spent"
    unit = figure["unit"] or ""
    before = text[max(0, figure.start() - _BEFORE) : figure.start()]
    if unit.startswith("vez") and "parcel" in before:
        return "instalments"
    for column, begins in read_table("churn_reasons")["units"].items():
        if any(unit.startswith(begin) for begin in begins):
            return str(column)
    for column, ends in read_table("churn_reasons")["before"].items():
        if re.search(rf"\b(?:{'|'.join(ends)})\b[^.;]{{0,12}}$", before):
            return str(column)
    return ""


def _is_of_profile(figure: re.Match[str], profile: ShopperLines) -> bool:
    text = figure.string
    column, value, off = _column_of(figure, text), value_of(figure["number"]), half_unit(figure["number"])
    if column in ("months", "years", "weeks"):
        length = {"months": _DAYS_A_MONTH, "years": 365.0, "weeks": 7.0}[column]
        return profile.days is not None and abs(profile.days / length - value) <= 1.0
    if column == "rating":
        return any(known is not None and abs(known - value) <= max(off, 0.05) for known in (profile.last, profile.mean))
    if column:
        known = getattr(profile, column)
        return known is not None and abs(known - value) <= off
    return any(isinstance(each, float) and abs(each - value) <= off for each in profile)


def _claims(folded: str, profile: ShopperLines, leaves: bool) -> dict[str, bool]:
    """Return what a reason says without a figure, and whether the profile bears it out."""
    said = {name for name, pattern in _patterns().items() if pattern.search(folded)}
    known = {
        "once": profile.orders == 1,
        "often": profile.orders is not None and profile.orders > 1,
        "never_late": not profile.late,
        "late": bool(profile.late),
        "always_late": bool(profile.late) and profile.late == profile.orders,
        "all_delivered": not profile.missing,
        "missing": bool(profile.missing),
        "content": any(known is not None and known >= 4 for known in (profile.last, profile.mean)),
        "best_rating": profile.last == 5 or profile.mean == 5,
        "discontent": any(known is not None and known <= 3 for known in (profile.last, profile.mean))
        or bool(profile.late)
        or bool(profile.missing),
        "worst_rating": profile.last == 1 or profile.mean == 1,
        "unrated": profile.last is None,
        "recent": profile.days is not None and profile.days <= 150,
        "last_days": profile.days is not None and profile.days <= 14,
        "silent": profile.days is not None and profile.days >= 60,
        "year_silent": profile.days is not None and profile.days >= 330,
        "denied": False,
        "leaves": leaves,
        "stays": not leaves,
    }
    # What is denied is not said: `sem atraso` is no delay, `insatisfeito` and `não está satisfeito` no content.
    for narrow, wide in read_table("churn_reasons")["instead_of"].items():
        if narrow in said:
            said -= set(wide)
    return {name: known[name] for name in said}


@lru_cache(maxsize=1)
def _patterns() -> Mapping[str, re.Pattern[str]]:
    claims: Mapping[str, Sequence[str]] = read_table("churn_reasons")["claims"]
    return {name: re.compile("|".join(rf"\b(?:{each})" for each in patterns)) for name, patterns in claims.items()}
