"""Ground truth of insights in findings, from the reference's cells, by code that no reward shares.

The catalogue of actions is data that both read: it says for which columns and rows an action is. Rows are judged by
their figures alone, whatever they are named. Unseen: whether a row is what others leave or sum up, whether the findings
mislead together, and whether an action is wise beside its finding.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final

from schemas.documents import Rollout
from tasks.commerce.truth_text import fold, read_data, read_object, shares_kept, value_of

DATA_FILES: Final = ("data/evidence/actions.toml", "data/evidence/frames.toml")
MONTHS: Final = ("jan", "fev", "mar", "abr", "mai", "jun", "jul", "ago", "set", "out", "nov", "dez")
MONTH: Final = re.compile("([a-zç]{4,9})/((?:19|20)[0-9]{2})")
_COUNT: Final = r"[0-9]{1,3}(?:\.[0-9]{3}){0,3}|[0-9]{1,12}"
_MONEY: Final = rf"R\$ ?((?:{_COUNT})(?:,[0-9]{{1,2}})?)"
WRITTEN: Final = {
    "receita": _MONEY,
    "pedidos": f"({_COUNT})",
    "atrasos": "([0-9]{1,2}(?:,[0-9]+)?|100(?:,0+)?)%",
    "nota media": "([1-4](?:,[0-9]+)?|5(?:,0+)?)",
    "ticket medio": _MONEY,
    "frete medio": _MONEY,
}
"""How a figure of each column is written, by its folded name: of another there is nothing to say."""
MEANS: Final = ("atrasos", "nota media", "ticket medio", "frete medio")  # Of means and rates few orders say little.
GOOD_WHEN_HIGH: Final = {"nota media": True, "atrasos": False, "frete medio": False}
BEYOND: Final = re.compile("[6-9]|[0-9]{2}|5,0*[1-9]")
SMALL, MOST, COUNTS = 30, 99, (2, 3, 4)
TELLING: Final = ("maior", "menor", "acima", "abaixo", "subiu", "caiu")


@dataclass(frozen=True)
class Known:
    """The reference's cells."""

    kind: str
    texts: Mapping[tuple[str, str], str]

    def column(self, name: str) -> dict[str, float]:
        """Return the figures of a column by row, those of as many decimals as the most of them."""
        meaning = _meaning(name)
        texts = {row: text for (row, column), text in self.texts.items() if column == name}
        if meaning == "nota media" and any(map(BEYOND.match, texts.values())):
            return {}
        found = {row: re.fullmatch(WRITTEN.get(meaning, "(?!)"), text) for row, text in texts.items()}
        written = {row: match[1] for row, match in found.items() if match}
        places = Counter(map(_places, written.values())).most_common(1)
        return {row: value_of(text) for row, text in written.items() if _places(text) == places[0][0]}

    def is_counted(self, row: str, orders: float = 1) -> bool:
        """Return whether a row's orders are known, and at least so many, in each column of them, if any."""
        titles = {column for _, column in self.texts if _meaning(column) == "pedidos"}
        return all(self.column(title).get(row, 0) >= orders for title in titles)


def _meaning(column: str) -> str:
    """Return the folded name of the column that one is written, judged and advised as."""
    return fold(read_data(DATA_FILES[1])["colunas"].get(column.lower(), {}).get("como", column))


def _places(written: str) -> int:
    return len(written.rstrip("%").partition(",")[2])


def metric(rollouts: Sequence[Rollout], _: object) -> dict[str, float]:
    """Return the share of the answers that keep each claim, and all of them.

    - `in_form`: one JSON object with two to four findings of the keys that were asked for.
    - `no_false_claim`: row, column and value are a printed cell of the prompt, and the fact is true of them.
    - `no_repetition`: no cell twice, and no action.
    - `says_more_than_values`: two findings or more say something of their figure.
    - `sensible_actions`: each action is one of the catalogue for the finding's column and kind of row.
    - `all_kept`: all of these. The strictest.
    """
    found = [(each.completion, read_cells((each.reference or {}).get("facts"))) for each in rollouts]
    return shares_kept([claims_kept(completion, known) for completion, known in found if known])


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
    tellable = sum(
        any(is_true({"linha": row, "coluna": column, "valor": text, "fato": fact}, known) for fact in TELLING)
        for (row, column), text in known.texts.items()
    )
    return {
        "in_form": isinstance(found, list) and len(findings) == len(found) and len(found) in COUNTS,
        "no_false_claim": bool(findings) and all(is_true(each, known) for each in findings),
        "no_repetition": len(set(cells)) == len(cells) and len(set(actions)) == len(actions),
        "says_more_than_values": sum(each["fato"] != "valor" for each in findings) >= min(2, tellable),
        "sensible_actions": all(_is_for(each, known.kind) for each in findings if each["acao"]),
    }


def _has_form(finding: object) -> bool:
    if not isinstance(finding, dict) or not all(isinstance(value, str) for value in finding.values()):
        return False
    keys = {"coluna", "fato", "valor", "linha", "acao"}
    return set(finding) == (keys | {"outra"} if finding.get("fato") == "razao" else keys)


def is_true(finding: Mapping[str, str], known: Known) -> bool:
    """Return whether a finding of the right keys says what the figures say."""
    row, column, fact = finding["linha"], finding["coluna"], finding["fato"]
    meaning, figures = _meaning(column), known.column(column)
    if known.texts.get((row, column)) != finding["valor"] or row not in figures:
        return False
    own, others = figures[row], {other: figure for other, figure in figures.items() if other != row}
    is_many = known.is_counted(row, SMALL)
    # Few orders have their note, so that many need another row of many.
    beside_many = any(known.is_counted(other, SMALL) for other in others)
    if meaning in MEANS and not (known.is_counted(row) and (fact == "valor" or beside_many or not is_many)):
        return False
    before = next((other for other in others if _month(row) and _month(other) == _month(row) - 1), "")
    is_doubtful = meaning in MEANS and is_many and not known.is_counted(before, SMALL)
    base = others[before] if known.kind == "Mês" and before and not is_doubtful else own
    middle = round(median(figures.values()), _places(finding["valor"]) + 1) if len(others) > 1 else own
    is_judged, high_is_good = meaning in GOOD_WHEN_HIGH, GOOD_WHEN_HIGH.get(meaning, False)
    highest, lowest = (bool(others) and all(turn * own > turn * other for other in others.values()) for turn in (1, -1))
    # A ratio is twice or more, even where the one was rounded up and the other down.
    other = others.get(finding.get("outra", ""), 0.0)
    off = 0.0 if meaning == "pedidos" else 0.5 * 10.0 ** -_places(finding["valor"])
    is_ratio = other > 0 and round(own - off - 2 * (other + off), 6) >= 0 and own / other <= MOST
    facts = {
        "valor": True,
        "maior": highest,
        "menor": lowest,
        "melhor": is_judged and (highest if high_is_good else lowest),
        "pior": is_judged and (lowest if high_is_good else highest),
        # A difference of 3 % itself is none, whatever the binary.
        "acima": own > round(1.03 * middle, 6),
        "abaixo": own < round(0.97 * middle, 6),
        "subiu": own > round(1.03 * base, 6),
        "caiu": own < round(0.97 * base, 6),
        "razao": is_ratio and meaning != "nota media" and is_many and known.is_counted(finding["outra"], SMALL),
    }
    return facts.get(fact, False)


def _month(row: str) -> int:
    """Return the place of a month in the count of all months; 0 where a row is no month of a year."""
    found = MONTH.fullmatch(row)
    return 12 * int(found[2]) + MONTHS.index(found[1][:3]) if found and found[1][:3] in MONTHS else 0


def _is_for(finding: Mapping[str, str], kind: str) -> bool:
    action = next((each for each in read_data(DATA_FILES[0])["acoes"] if each["id"] == finding["acao"]), None)
    column = _meaning(finding["coluna"])
    return action is not None and column in map(fold, action["colunas"]) and kind.lower() in action["linhas"]
