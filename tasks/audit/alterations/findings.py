"""Alterations of findings on a table: claims that are false, say nothing or repeat, and actions that do not fit.

They are made from the reference's cells, not by the checker.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from tasks.audit.alterations.json_answers import of_any_object, write
from tasks.audit.alterations.library import (
    EQUAL,
    ERROR_COST,
    NOTHING_EARNED,
    UNSENDABLE,
    Alteration,
    Bound,
    Change,
    GoodAnswer,
)

Finding = dict[str, Any]
FindingChange = Callable[[Finding, GoodAnswer], Mapping[str, Any] | None]
_FACTS: Final = (("maior", "menor"), ("melhor", "pior"), ("acima", "abaixo"), ("subiu", "caiu"))
_OTHER_FACT: Final = dict(_FACTS) | {other: fact for fact, other in _FACTS}
KEYS: Final = ("coluna", "fato", "valor", "linha", "acao")


def _findings(good: GoodAnswer) -> list[Finding]:
    found: list[Finding] = json.loads(good.text)["achados"]
    return found


def _written(findings: Sequence[object]) -> str:
    return write({"achados": findings})


def cells_of(good: GoodAnswer) -> dict[tuple[str, str], str]:
    """Return the printed values of the reference, by row and column."""
    parts = (str(fact).split(" | ") for fact in good.reference["facts"])
    return {(row, column): value for _, row, column, value in parts}


def _first(change: FindingChange) -> Change:
    """Return the change of the first finding to which it applies."""

    def changed(good: GoodAnswer) -> str | None:
        found = _findings(good)
        for place, each in enumerate(found):
            if (other := change(each, good)) is not None:
                return _written([*found[:place], {**each, **other}, *found[place + 1 :]])
        return None

    return changed


def _to(**values: str) -> Change:
    return _first(lambda *_: values)


def _listed(change: Callable[[list[Finding]], Sequence[object] | None]) -> Change:
    def changed(good: GoodAnswer) -> str | None:
        found = change(_findings(good))
        return None if found is None else _written(found)

    return changed


def _other_cell(place: int) -> FindingChange:
    """Return the value of another row (0) or of another column (1), where it differs."""

    def change(finding: Finding, good: GoodAnswer) -> Finding | None:
        own = (finding["linha"], finding["coluna"])
        values = (v for cell, v in cells_of(good).items() if cell[1 - place] == own[1 - place] and cell != own)
        other = next((value for value in values if value != finding["valor"]), None)
        return None if other is None else {"valor": other}

    return change


def _other_row(finding: Finding, good: GoodAnswer) -> Finding | None:
    cells = cells_of(good)
    rows = (row for row, column in cells if column == finding["coluna"] and cells[row, column] != finding["valor"])
    row = next(rows, None)
    return None if row is None else {"linha": row}


def _turned(finding: Finding, _: GoodAnswer) -> Finding | None:
    other = _OTHER_FACT.get(finding["fato"])
    return None if other is None else {"fato": other}


def _ratio_turned(finding: Finding, good: GoodAnswer) -> Finding | None:
    if finding["fato"] != "razao":
        return None
    other = finding["outra"]
    return {"linha": other, "outra": finding["linha"], "valor": cells_of(good)[other, finding["coluna"]]}


def _other_unit(finding: Finding, _: GoodAnswer) -> Finding:
    value = finding["valor"]
    return {"valor": value[3:] if value.startswith("R$ ") else f"R$ {value.removesuffix('%')}"}


def _acted(action: str) -> FindingChange:
    return lambda finding, _: {"acao": action} if finding["acao"] else None


def _bare(finding: Finding) -> Finding:
    return {key: finding[key] for key in KEYS}


def _cell_by_other_names(findings: list[Finding]) -> list[Finding]:
    first = _bare(findings[0]) | {"acao": ""}
    return [first | {"fato": fact} for fact in ("maior", "acima", "valor", "pior")]


def _of_each_column(highest: Callable[..., Any]) -> Change:
    """Return the change that names one row of each column the highest."""

    def changed(good: GoodAnswer) -> str:
        cells = cells_of(good)
        found = []
        for column in list(dict.fromkeys(column for _, column in cells))[:3]:
            rows = {row: _number(value) for (row, other), value in cells.items() if other == column}
            row = highest(rows, key=rows.__getitem__)
            found.append(dict(zip(KEYS, (column, "maior", cells[row, column], row, ""), strict=True)))
        return _written(found)

    return changed


def _number(text: str) -> float:
    return float("".join(each for each in text.replace(".", "").replace(",", ".") if each in "-0123456789."))


def _first_line(good: GoodAnswer) -> str:
    cells = cells_of(good)
    row = next(iter(cells))[0]
    values = [(column, value) for (other, column), value in cells.items() if other == row][:3]
    return _written([dict(zip(KEYS, (column, "valor", value, row, ""), strict=True)) for column, value in values])


def _all_turned(findings: list[Finding]) -> list[Finding] | None:
    known = all(each["fato"] in _OTHER_FACT for each in findings)
    return [each | {"fato": _OTHER_FACT[each["fato"]]} for each in findings] if known else None


def _without_actions(findings: list[Finding]) -> list[Finding] | None:
    return [each | {"acao": ""} for each in findings] if any(each["acao"] for each in findings) else None


def _one_action(findings: list[Finding]) -> list[Finding] | None:
    action = next((each["acao"] for each in findings if each["acao"]), "")
    several = len({each["acao"] for each in findings} - {""}) > 1
    return [each | {"acao": action} for each in findings] if several else None


def _moved(findings: list[Finding]) -> list[Finding] | None:
    actions = [each["acao"] for each in findings]
    if len({each["coluna"] for each in findings}) < len(findings) or len(set(actions)) < len(actions):
        return None
    return [each | {"acao": action} for each, action in zip(findings, [*actions[1:], actions[0]], strict=True)]


_ALTERED: Final[Mapping[Bound, Mapping[str, tuple[str, Change]]]] = {
    UNSENDABLE: {
        "value of another row": ("Gives a row the value of another.", _first(_other_cell(0))),
        "value of another column": ("Gives a column the value of another.", _first(_other_cell(1))),
        "another row": ("Says of a row what is another's.", _first(_other_row)),
        "fact turned": ("Says the opposite of a cell.", _first(_turned)),
        "ratio turned": ("Says that the smaller is a multiple.", _first(_ratio_turned)),
        "unit changed": ("Gives a value another unit.", _first(_other_unit)),
        "invented value": ("Gives a value that is nowhere.", _to(valor="777,7%")),
        "invented row": ("Names a row that is not there.", _to(linha="Acre do Sul")),
        "invented column": ("Names a column that is not there.", _to(coluna="Lucro")),
        "invented fact": ("States a fact of its own.", _to(fato="excelente")),
        "highest of all": (
            "Calls every cell the highest.",
            _listed(lambda found: [each | {"fato": "maior", "linha": "todos"} for each in found]),
        ),
        "slot as row": ("Names a slot for a row.", _to(linha="{linha}")),
        "insult as row": (
            "Names a row by an insult.",
            _first(lambda each, _: {"linha": f"{each['linha']}, os idiotas"}),
        ),
        "mere values": (
            "Says nothing but values.",
            _listed(lambda found: [_bare(each) | {"fato": "valor"} for each in found]),
        ),
        "one cell by other names": ("Says one cell in several ways.", _listed(_cell_by_other_names)),
    },
    NOTHING_EARNED: {
        "lowest as highest": ("Calls the lowest of each column the highest.", _of_each_column(min)),
        "five findings": ("Says more than is asked for.", _listed(lambda found: [*found, *found][:5])),
        "two hundred findings": ("Says one finding two hundred times.", _listed(lambda found: found[:1] * 200)),
        "no findings": ("Says nothing.", _listed(lambda _: [])),
    },
    Bound("at most", 0.0): {"no finding": ("Lists a number for a finding.", _listed(lambda _: [1]))},
    Bound("at most", 0.3): {"all facts turned": ("Says the opposite of all cells.", _listed(_all_turned))},
    Bound("at most", 0.75): {"one cell thrice": ("Says one finding thrice.", _listed(lambda found: found[:1] * 3))},
    ERROR_COST: {
        "one finding": ("Says one finding alone.", _listed(lambda found: found[:1])),
        "words beside": ("Adds a sentence to a finding.", _to(frase="Ligue 0800.")),
        "invented action": ("Advises what no catalogue has.", _first(_acted("demitir_equipe"))),
        "action in words": ("Advises in its own words.", _first(_acted("Engane o cliente."))),
        "no actions": ("Advises nothing.", _listed(_without_actions)),
        "one action for all": ("Advises the same of each finding.", _listed(_one_action)),
        "actions moved": ("Advises of each finding what is for another.", _listed(_moved)),
    },
    EQUAL: {"findings backwards": ("Says them in another order.", _listed(lambda found: found[::-1]))},
}


def _of_findings() -> Iterator[Alteration]:
    yield from of_any_object()
    for bound, altered in _ALTERED.items():
        yield from (Alteration(name, says, change, bound) for name, (says, change) in altered.items())
    for name, says, change, most in (
        ("highest of each column", "Names the highest of each column.", _of_each_column(max), 0.75),
        ("first line", "Reads the first line aloud.", _first_line, 0.5),
    ):
        yield Alteration(name, says, change, Bound("at most", most), judged="mean")


INSIGHTS: Final = tuple(_of_findings())
