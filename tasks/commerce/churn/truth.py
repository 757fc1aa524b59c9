"""Ground truth of churn: the outcome from the reference, the reason from the profile in the prompt.

The answer is what `json.loads` makes of the whole completion, or of one code fence around it. A word that neither the
profile nor `data/truth/churn_reasons.toml` has is of something that no profile shows, so the reason is not kept; a good
one in rarer words is lost by that. Unseen: false sentences of listed words that name no fact, how well a fact explains
the forecast, and the size of the risk within its half.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from schemas.documents import Rollout
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.truth_text import (
    NUMBER,
    fold,
    half_unit,
    is_unsendable,
    read_object,
    read_table,
    share_of,
    stem,
    value_of,
    words,
)

DATA_FILES: Final = ("data/truth/churn_reasons.toml", "data/truth/unsendable.toml")
MAX_REASON: Final = 400
"""Characters of a reason: a longer one is no short sentence."""

_LINE: Final = re.compile(r"^([^:\n]{1,40}): (.{1,80})$", re.MULTILINE)
_SPELLED: Final = (
    *("um", "dois", "tres", "quatro", "cinco", "seis", "sete", "oito", "nove", "dez", "onze", "doze", "treze"),
    *("quatorze", "quinze", "dezesseis", "dezessete", "dezoito", "dezenove", "vinte"),
)
_AS_DIGITS: Final = {word: str(number) for number, word in enumerate(_SPELLED, 1)} | {"uma": "1", "duas": "2"}
_SPELLED_WORD: Final = re.compile(rf"\b(?:{'|'.join(_AS_DIGITS)})\b")
_FIGURE: Final = re.compile(
    rf"(?P<money>r\$ ?)?(?P<number>{NUMBER})(?P<reais> reais\b)?"
    r"(?: (?:unic[oa]s? )?(?P<unit>(?:[a-z]+ )?(?:que )?(?:nao|nunca) (?:foi |foram |lhe )?(?:entregue|cheg)\w*"
    r"|[a-z]+(?: com atraso| atrasad[ao]s?| atrasaram| (?:foram|chegaram|vieram) (?:com atraso|atrasad[ao]s))?))?"
)
_ONE: Final = re.compile(r"\b1\b")
_YEARS_AND_MONTHS: Final = re.compile(r"\b(\d{1,2}) anos? e (meio|(\d{1,2}) mes(?:es)?)\b")
_OF_ALL: Final = re.compile(r"\b(\d{1,2}) d[aeo]s? (?:su[ao]s )?(\d{1,2}) (pedidos|compras|entregas)\b")
"""`2 of the 3 orders did not arrive` counts the orders, and those of which it says something."""
_LABELS: Final = re.compile(
    r"\b(?:estado|pedidos|categoria favorita|total gasto|maximo de parcelas|ultima nota|nota media): "
    r"|\b(?:dias desde a ultima compra|entregas com atraso|pedidos nao entregues): "
)
"""Lines of the profile as they stand there."""
MOST_LABELS: Final = 2
MOST_FOREIGN: Final = 2
_BEFORE: Final = 30
"""Characters before a figure that say what it counts."""
_FIELDS: Final = frozenset(("risk_score", "churn", "reasoning"))
_SENTENCE: Final = re.compile(r"[.;!?](?!\d)")
_CONTRADICTS: Final = 0.7
"""Risk from which on an answer that the shopper stays contradicts itself; 1 minus it where the shopper leaves."""
_LEAVING: Final = frozenset((
    *("once", "late", "always_late", "missing", "discontent", "worst_rating", "unrated", "silent", "year_silent"),
    *("falls", "flawed"),
))  # fmt: skip
_STAYING: Final = frozenset((
    *("often", "never_late", "all_delivered", "content", "best_rating", "recent", "last_days", "rises", "arrived"),
    *("flawless", "fine"),
))  # fmt: skip
"""Claims that speak for either answer."""
_OLD, _RECENT = 60, 150
"""Days from which on a last purchase speaks for leaving, and up to which for staying."""
_LENGTHS: Final = {"months": 30.4, "years": 365.0, "weeks": 7.0}
"""Days of what a figure counts."""


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
      figure (never late, content, long silent, a regular) fits the lines, the forecast is the answer's, and nothing is
      told that no profile knows: each word is of the profile or of the list. What a `because` names speaks for the
      answer, what speaks against it alone is conceded, and the risk does not contradict it.
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
    if not isinstance(reason, str) or len(reason) > MAX_REASON or fields.keys() - _FIELDS:
        return False
    folded = " ".join(fold(reason).split())
    foreign = read_table("churn_reasons")["foreign"]["words"]
    if len(_LABELS.findall(folded)) > MOST_LABELS or sum(word in foreign for word in words(folded)) > MOST_FOREIGN:
        return False
    leaves, risk = bool(fields.get("churn")), share_of(fields.get("risk_score"))
    if risk is not None and (1 - risk if leaves else risk) > _CONTRADICTS:
        return False
    if is_unsendable(folded) or not all(_is_known(word, profile.category) for word in words(folded)):
        return False
    figures = _figures(folded)
    if not all(_is_of_profile(figure, profile) for figure in figures):
        return False
    claims = _claims(folded, profile, leaves)
    names = bool(figures or claims.keys() - {"leaves", "stays"} or _names_category(folded, profile))
    return names and all(claims.values()) and _speaks(folded, profile, leaves)


def _names_category(folded: str, profile: ShopperLines) -> bool:
    return bool(profile.category) and profile.category != "desconhecida" and profile.category in folded


@lru_cache(maxsize=16_384)
def _is_known(word: str, category: str) -> bool:
    """Return whether a word is of the profile, or of those that a reason of one is made of."""
    if word.isdecimal() or word in _AS_DIGITS or stem(word) in _stems() or word in category.split():
        return True
    return _begins().match(word) is not None


@lru_cache(maxsize=1)
def _stems() -> frozenset[str]:
    return frozenset(map(stem, read_table("churn_reasons")["vocabulary"]["words"]))


@lru_cache(maxsize=1)
def _begins() -> re.Pattern[str]:
    return re.compile("|".join(read_table("churn_reasons")["vocabulary"]["begins"]))


def _speaks(folded: str, profile: ShopperLines, leaves: bool) -> bool:
    """Return whether a fact speaks for the answer, each cause is one that does, and each sentence names or judges one.

    Facts that all speak against it are conceded (`apesar`), and a cause of neither is none.
    """
    if _bearings(folded, profile) == {not leaves} and not _tables("cause", "conceded").search(folded):
        return False
    for sentence in filter(str.strip, _SENTENCE.split(folded)):
        said, found = _said(sentence), _figures(sentence)
        names = said or found or _names_category(sentence, profile)
        if not names and not _tables("judges", "said").search(sentence):
            return False
        fits = {leaves} if said & {"leaves", "stays"} else {True, False}
        # What is before `therefore` may stand in the sentence before.
        causes = [sentence[each.end() :] for each in _tables("cause", "before").finditer(sentence)]
        causes += [
            folded[: folded.index(sentence) + each.start()] for each in _tables("cause", "behind").finditer(sentence)
        ]
        if not all(fits & _bearings(cause, profile) for cause in causes):
            return False
    return True


def _bearings(text: str, profile: ShopperLines) -> set[bool]:
    """Return for which answers a text's facts speak: true for leaving."""
    said = _said(text)
    found = {True} if said & _LEAVING else set[bool]()
    found |= {False} if said & _STAYING else set()
    for figure in _figures(text):
        column, value = _column_of(figure, figure.string), value_of(figure["number"])
        days = value * _LENGTHS.get(column, 1.0) if column == "days" or column in _LENGTHS else None
        if days is not None:
            found |= ({True} if days >= _OLD else set()) | ({False} if days <= _RECENT else set())
        elif column == "rating":
            found |= ({True} if value <= 3.5 else set()) | ({False} if value >= 3.5 else set())
        elif column == "orders":
            found |= {value <= 1, False}
        elif column in ("late", "missing") or (not column and value in (profile.late, profile.missing)):
            found.add(value > 0)
    return found


def _figures(folded: str) -> list[re.Match[str]]:
    digits = _SPELLED_WORD.sub(lambda word: _AS_DIGITS[word[0]], folded)
    digits = _YEARS_AND_MONTHS.sub(
        lambda found: f"{int(found[1]) * 12 + (6 if found[2] == 'meio' else int(found[3]))} meses", digits
    )
    digits = _OF_ALL.sub(r"\2 pedidos, \1 \3", digits)
    # "Um" is a figure before what is counted, and an article elsewhere.
    return [
        found
        for found in _FIGURE.finditer(digits)
        if len(found["number"]) <= 12 and (found["number"] != "1" or _column_of(found, digits) or _ONE.search(folded))
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
        if re.search(rf"\b(?:{'|'.join(ends)})\b(?:(?! e )[^.;,\d]){{0,12}}$", before):
            return str(column)
    return ""


def _is_of_profile(figure: re.Match[str], profile: ShopperLines) -> bool:
    text = figure.string
    column, value, off = _column_of(figure, text), value_of(figure["number"]), half_unit(figure["number"])
    before, after = text[max(0, figure.start() - _BEFORE) : figure.start()], text[figure.end() : figure.end() + _BEFORE]
    if column in _LENGTHS:
        return profile.days is not None and _lasts(before, value, profile.days / _LENGTHS[column], column)
    if column == "rating":
        known_ratings = _ratings(before, figure[0] + after, profile)
        return (
            all(each is not None for each in known_ratings)
            and any(abs(known - value) <= max(off, 0.05) for known in known_ratings if known is not None)
            if known_ratings
            else False
        )
    if column:
        known = getattr(profile, column)
        return known is not None and abs(known - value) <= off
    return any(isinstance(each, float) and abs(each - value) <= off for each in profile)


def _differs(last: float | None, mean: float | None) -> float:
    return 0.0 if last is None or mean is None else last - mean


def _lasts(before: str, value: float, known: float, unit: str) -> bool:
    if re.search(r"mais de $", before):
        return value * 0.97 <= known <= value + 2
    if re.search(r"menos de $", before):
        return value - 2 <= known <= value
    return abs(known - value) <= (0.6 if unit == "years" else 1.0)


def _ratings(before: str, after: str, profile: ShopperLines) -> tuple[float | None, ...]:
    """Return the ratings that a figure can be: the last one, the mean, or either."""
    if re.search(r"\bultim\w+ (?:nota|avaliacao)\b[^.;,\d]{0,12}$", before) or re.search(
        r"^\S+ (?:estrelas? )?(?:n[ao] )(?:\w+ )?ultim", after
    ):
        return (profile.last,)
    if re.search(r"^\S+ (?:estrelas? )?(?:em|n[ao]s|para) (?:tod|amb)", after) or re.search(
        r"\b(?:tod[oa]s|amb[oa]s|[ao]s \d+)\b[^.;,]*$", before
    ):
        return (profile.mean if profile.mean == profile.last else None,)
    if re.search(r"\bmedia\b[^.;,\d]{0,12}$", before):
        return (profile.mean,)
    return tuple(each for each in (profile.last, profile.mean) if each is not None)


def _claims(folded: str, profile: ShopperLines, leaves: bool) -> dict[str, bool]:
    """Return what a reason says without a figure, and whether the profile bears it out."""
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
        "unknown": False,
        "of_another": False,
        "rises": _differs(profile.last, profile.mean) > 0,
        "falls": _differs(profile.last, profile.mean) < 0,
        "spent_once": profile.orders == 1,
        "spent_much": profile.spent is not None and profile.spent >= 250,
        "spent_little": profile.spent is not None and profile.spent <= 120,
        "arrived": not profile.missing,
        "leaves": leaves,
        "stays": not leaves,
    }
    known["fine"] = known["content"]
    known["flawed"] = known["discontent"]
    known["flawless"] = not (known["late"] or known["missing"] or (profile.last is not None and profile.last <= 2))
    return {name: known[name] for name in _said(folded)}


@lru_cache(maxsize=1_024)
def _said(folded: str) -> set[str]:
    """Return the names of what a text says without a figure."""
    said = {name for name, pattern in _patterns().items() if pattern.search(folded)}
    # What is denied is not said: `sem atraso` is no delay, `insatisfeito` and `não está satisfeito` no content.
    for narrow, wide in read_table("churn_reasons")["instead_of"].items():
        if narrow in said:
            said -= set(wide)
    return said


@cache
def _tables(name: str, which: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(read_table('churn_reasons')[name][which])})")


@lru_cache(maxsize=1)
def _patterns() -> Mapping[str, re.Pattern[str]]:
    claims: Mapping[str, Sequence[str]] = read_table("churn_reasons")["claims"]
    return {name: re.compile("|".join(rf"\b(?:{each})" for each in patterns)) for name, patterns in claims.items()}
