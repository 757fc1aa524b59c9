"""Ground truth of insights in findings, from the reference's cells, by code that no reward shares.

The catalogue of actions is data that both read: it says for which columns and rows an action is. Unseen: whether the
findings mislead together, and whether an action is wise beside its finding.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any, Final

from schemas.documents import Rollout
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.truth_text import fold, read_object, value_of

DATA_FILES: Final = ("data/evidence/actions.toml",)
_ACTIONS: Final = Path(__file__).resolve().parents[4] / DATA_FILES[0]
MONTHS: Final = ("jan", "fev", "mar", "abr", "mai", "jun", "jul", "ago", "set", "out", "nov", "dez")
GOOD_WHEN_HIGH: Final = {"nota media": True, "atrasos": False, "frete medio": False}
SMALL: Final = 30
"""Orders below which no ratio is told."""
COUNTS: Final = (2, 3, 4)
"""Findings that are asked for."""


@dataclass(frozen=True)
class Known:
    """The reference's cells."""

    kind: str
    texts: Mapping[tuple[str, str], str]
    """By row and column."""

    def column(self, name: str) -> dict[str, float]:
        """Return the figures of a column by row."""
        cells = ((row, text) for (row, column), text in self.texts.items() if column == name)
        return {row: _number(text) for row, text in cells if re.search("[0-9]", text)}


def metric(rollouts: Sequence[Rollout], databases: Databases | None) -> dict[str, float]:  # noqa: ARG001 - every task's signature
    """Return the share of the answers that keep each claim, and all of them.

    - `in_form`: one JSON object with two to four findings of the keys that were asked for.
    - `no_false_claim`: row, column and value are the store's, and the fact is true of them.
    - `no_repetition`: no cell twice, and no action.
    - `says_more_than_values`: two findings or more say something of their figure.
    - `sensible_actions`: each action is one of the catalogue for the finding's column and kind of row.
    - `all_kept`: all of these. The strictest.
    """
    kept: Counter[str] = Counter()
    count = 0
    for rollout in rollouts:
        known = read_cells((rollout.reference or {}).get("facts"))
        if known:
            count += 1
            claims = claims_kept(rollout.completion, known)
            kept.update(claims | {"all_kept": all(claims.values())})
    return {name: kept[name] / count for name in kept} if count else {}


def read_cells(facts: Any) -> Known | None:
    """Return the cells of a reference's facts; None if they are none, as those of prose are."""
    parts = [str(fact).split(" | ") for fact in facts or ()]
    if not parts or any(len(each) != 4 for each in parts):
        return None
    return Known(parts[0][0], {(row, column): figure for _, row, column, figure in parts})


def claims_kept(completion: str, known: Known) -> dict[str, bool]:
    """Return, by its name, whether an answer keeps each claim."""
    found = (read_object(completion) or {}).get("achados")
    findings = [each for each in found if _has_form(each)] if isinstance(found, list) else []
    cells = [(each["linha"], each["coluna"]) for each in findings]
    actions = [each["acao"] for each in findings if each["acao"]]
    return {
        "in_form": isinstance(found, list) and len(findings) == len(found) and len(found) in COUNTS,
        "no_false_claim": bool(findings) and all(is_true(each, known) for each in findings),
        "no_repetition": len(set(cells)) == len(cells) and len(set(actions)) == len(actions),
        "says_more_than_values": sum(each["fato"] != "valor" for each in findings) >= min(2, _tellable(known)),
        "sensible_actions": all(_is_for(each, known.kind) for each in findings if each["acao"]),
    }


def _has_form(finding: object) -> bool:
    if not isinstance(finding, dict) or not all(isinstance(value, str) for value in finding.values()):
        return False
    keys = {"coluna", "fato", "valor", "linha", "acao"}
    return set(finding) == (keys | {"outra"} if finding.get("fato") == "razao" else keys)


def is_true(finding: Mapping[str, str], known: Known) -> bool:
    """Return whether a finding of the right keys says what the store's figures say."""
    row, column, fact = finding["linha"], finding["coluna"], finding["fato"]
    figures = known.column(column)
    if known.texts.get((row, column)) != finding["valor"] or row not in figures:
        return False
    own = figures.pop(row)
    if fact in ("valor", "subiu", "caiu"):
        return fact == "valor" or (known.kind == "Mês" and _changed(fact, own, _before(row, figures)))
    if fact == "razao":
        return fold(column) != "nota media" and _is_ratio(row, finding["outra"], own, figures, known)
    if fact in ("acima", "abaixo"):
        middle = round(median([own, *figures.values()]), len(finding["valor"].rstrip("%").partition(",")[2]))
        return len(figures) > 1 and _is_beyond(own, middle, above=fact == "acima")
    if fact in ("melhor", "pior"):
        high = GOOD_WHEN_HIGH.get(fold(column))
        return high is not None and _is_end(own, figures, highest=high is (fact == "melhor"))
    return fact in ("maior", "menor") and _is_end(own, figures, highest=fact == "maior")


def _is_end(own: float, others: Mapping[str, float], *, highest: bool) -> bool:
    return bool(others) and all(own > other if highest else own < other for other in others.values())


def _is_ratio(row: str, other: str, own: float, others: Mapping[str, float], known: Known) -> bool:
    orders = known.column("Pedidos")
    counted = all(orders.get(each, SMALL) >= SMALL for each in (row, other))
    return counted and others.get(other, 0.0) > 0 and round(own / others[other], 6) >= 2


def _changed(fact: str, own: float, before: float | None) -> bool:
    if before is None:
        return False
    return _is_beyond(own, before, above=fact == "subiu")


def _is_beyond(own: float, other: float, *, above: bool) -> bool:
    """Return whether a figure differs from another by more than 3 %; at 3 % itself it does not, whatever the binary."""
    return own > round(1.03 * other, 6) if above else own < round(0.97 * other, 6)


def _before(row: str, others: Mapping[str, float]) -> float | None:
    """Return the figure of the calendar month before."""
    places = {_month(other): figure for other, figure in others.items()}
    return places.get(_month(row) - 1)


def _month(row: str) -> int:
    name, _, year = row.partition("/")
    return 12 * int(year) + MONTHS.index(name[:3])


def _tellable(known: Known) -> int:
    """Return how many cells anything but their value can be said of."""
    facts = ("maior", "menor", "acima", "abaixo", "subiu", "caiu")
    return sum(
        any(is_true({"linha": row, "coluna": column, "valor": text, "fato": fact}, known) for fact in facts)
        for (row, column), text in known.texts.items()
    )


def _is_for(finding: Mapping[str, str], kind: str) -> bool:
    action = _catalogue().get(finding["acao"])
    return action is not None and finding["coluna"].lower() in action["colunas"] and kind.lower() in action["linhas"]


@cache
def _catalogue() -> Mapping[str, Mapping[str, Any]]:
    return {each["id"]: each for each in tomllib.loads(_ACTIONS.read_text(encoding="utf-8"))["acoes"]}


def _number(text: str) -> float:
    written = re.sub(r"[^0-9.,]", "", text)
    return -value_of(written) if "-" in text else value_of(written)
