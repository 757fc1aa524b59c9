"""Ground truth of churn: outcome and profile from the reference, by code that no reward shares.

The bands are data that both read: they say from which value on a line speaks for leaving or for staying. Unseen:
whether a line made this customer leave, and the size of the risk within its half.
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any, Final

from schemas.documents import Rollout
from tasks.commerce.truth_text import NUMBER, read_data, read_object, share_of, value_of

DATA_FILES: Final = ("data/evidence/churn.toml",)
_FIELDS: Final[Mapping[str, Any]] = {each["nome"]: each for each in read_data(DATA_FILES[0])["campos"]}
RATED: Final = ("Última nota", "Nota média")
COUNTED: Final = ("Pedidos", "Pedidos não entregues", "Entregas com atraso")
COUNTS, MOST_STARS = (1, 2, 3), 5


def metric(rollouts: Sequence[Rollout], _: object) -> dict[str, float]:
    """Return what is right of answer, risk and reasons; absent where it is not defined.

    - `accuracy` of `churn`, and `balanced_accuracy`: its mean among who left and who stayed, 0.5 for any constant.
    - `auc`: Mann-Whitney of `risk_score`: a customer who left has the higher risk, ties half, an unreadable one is 0.5.
    - `in_form`: the three keys, a risk on the answer's side, and one to three reasons of their three keys.
    - `reasons_true`: each reason's value is the profile's and points that way.
    - `reasons_for_answer`: a reason points as the answer does, if any line of the profile does.
    - `no_repetition`: no line of the profile twice. `all_kept`: the right answer and all of these.
    """
    kept: defaultdict[str, list[bool]] = defaultdict(list)
    right: dict[bool, list[bool]] = {True: [], False: []}
    risks: dict[bool, list[float]] = {True: [], False: []}
    for rollout in rollouts:
        reference, fields = rollout.reference or {}, read_object(rollout.completion) or {}
        churned, profile = reference.get("churn"), reference.get("profile")
        if churned is not None:
            risk = share_of(fields.get("risk_score"))
            right[churned].append(fields.get("churn") is churned)
            risks[churned].append(0.5 if risk is None else risk)
        if profile:
            claims = claims_kept(fields, profile)
            claims["all_kept"] = all(claims.values()) and churned in (None, fields.get("churn"))
            for name, keeps in claims.items():
                kept[name].append(keeps)
    answered = right[True] + right[False]
    found = {"accuracy": fmean(answered)} if answered else {}
    if right[True] and right[False]:
        stayed = sorted(risks[False])
        wins = sum(bisect_left(stayed, risk) + bisect_right(stayed, risk) for risk in risks[True]) / 2
        found["balanced_accuracy"] = (fmean(right[True]) + fmean(right[False])) / 2
        found["auc"] = wins / (len(risks[True]) * len(stayed))
    return found | {name: fmean(values) for name, values in kept.items()}


def claims_kept(fields: Mapping[str, Any], profile: Mapping[str, str]) -> dict[str, bool]:
    """Return, by its name, whether an answer's fields keep each claim about a profile's lines."""
    listed = fields.get("reasons")
    listed = listed if isinstance(listed, list) else []
    reasons = [each for each in listed if _has_form(each)]
    risk, churn = share_of(fields.get("risk_score")), fields.get("churn")
    own = "sai" if churn else "fica"
    return {
        "in_form": fields.keys() == {"risk_score", "churn", "reasons"}
        and isinstance(churn, bool)
        and risk is not None
        and (risk >= 0.5 if churn else risk <= 0.5)
        and len(reasons) == len(listed) in COUNTS,
        "reasons_true": bool(reasons) and all(is_true(each, profile) for each in reasons),
        "reasons_for_answer": any(each["aponta"] == own and is_true(each, profile) for each in reasons)
        or all(direction_of(line, profile) != own for line in profile),
        "no_repetition": len({(_FIELDS[each["campo"]]["tema"], each["aponta"]) for each in reasons}) == len(reasons),
    }


def _has_form(reason: object) -> bool:
    return (
        isinstance(reason, dict)
        and set(reason) == {"campo", "valor", "aponta"}
        and all(isinstance(value, str) for value in reason.values())
        and reason["campo"] in _FIELDS
    )


def is_true(reason: Mapping[str, str], profile: Mapping[str, str]) -> bool:
    """Return whether a reason of the right keys says what the profile's line says, and the way that it points."""
    line = reason["campo"]
    return profile.get(line) == reason["valor"] and direction_of(line, profile) == reason["aponta"]


def direction_of(line: str, profile: Mapping[str, str]) -> str | None:
    """Return the way that a line of a profile points, None where it points nowhere, or contradicts another line."""
    figure, orders = _number(line, profile), _number("Pedidos", {"Pedidos": "1", **profile})
    if figure is None or orders == 0 or line not in _FIELDS:
        return None
    missing, late = (_number(name, profile) or 0 for name in ("Pedidos não entregues", "Entregas com atraso"))
    counted = orders if "Pedidos" in profile else None
    days = _number("Dias desde a última compra", profile)
    contradictions = (
        line == "Entregas com atraso" and figure == 0 and (orders or 1) <= missing,
        line == "Pedidos não entregues" and figure > 0 and days is not None and days < 30,
        line in COUNTED and counted is not None and late + missing > counted,
        line in RATED and _contradict(counted, *(_number(name, profile) for name in RATED)),
    )
    band = next(each for each in _FIELDS[line]["faixas"] if figure <= each.get("ate", figure))
    return None if any(contradictions) else band.get("aponta")


def _contradict(orders: float | None, last: float | None, mean: float | None) -> bool:
    """Return whether no ratings of the other orders make that mean, which like the last one was rounded down."""
    if not (orders and last and mean):
        return False
    least, most = (last + (orders - 1) * stars for stars in (1, MOST_STARS))
    return round(10 * mean * orders) >= round(10 * most + 1) or round(10 * (mean + 0.1) * orders) <= round(10 * least)


def _number(line: str, profile: Mapping[str, str]) -> float | None:
    """Return the figure of a line: reais of what was spent, stars of a rating, and else a whole number."""
    text = profile.get(line, "").removeprefix("R$ " if line == "Total gasto" else "")
    if not re.fullmatch(NUMBER, text) or ("," in text and line not in ("Total gasto", *RATED)):
        return None
    is_beyond = line in RATED and not (re.match("[1-5](,|$)", text) and value_of(text) <= MOST_STARS)
    return None if is_beyond else value_of(text)
