"""Alterations of findings on a table: claims that are false, say nothing or repeat, and actions that do not fit.

They are made from the reference's cells, not by the checker.
"""

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from tasks.audit.alterations.json_answers import of_any_object, write
from tasks.audit.alterations.library import (
    ERROR_COST,
    NOTHING_EARNED,
    UNSENDABLE,
    Alteration,
    Change,
    GoodAnswer,
    at_most,
    at_most_of,
    costs,
    equal,
)

Finding = dict[str, Any]
_OTHER_FACT: Final = {
    "maior": "menor",
    "menor": "maior",
    "melhor": "pior",
    "pior": "melhor",
    "acima": "abaixo",
    "abaixo": "acima",
    "subiu": "caiu",
    "caiu": "subiu",
}
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


def _each(change: Callable[[Finding], Mapping[str, Any] | None]) -> Change:
    return lambda good, _: _written([{**each, **(change(each) or {})} for each in _findings(good)])


def _first(change: Callable[[Finding, GoodAnswer], Mapping[str, Any] | None]) -> Change:

    def changed(good: GoodAnswer, generator: random.Random) -> str | None:  # noqa: ARG001 - every change's signature
        found = _findings(good)
        for place, each in enumerate(found):
            if (other := change(each, good)) is not None:
                return _written([*found[:place], {**each, **other}, *found[place + 1 :]])
        return None

    return changed


def _listed(change: Callable[[list[Finding]], Sequence[object] | None]) -> Change:
    def changed(good: GoodAnswer, generator: random.Random) -> str | None:  # noqa: ARG001 - every change's signature
        found = change(_findings(good))
        return None if found is None else _written(found)

    return changed


def _other_cell(place: int) -> Callable[[Finding, GoodAnswer], Finding | None]:
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


def _unit(finding: Finding, _: GoodAnswer) -> Finding:
    value = finding["valor"]
    return {"valor": value[3:] if value.startswith("R$ ") else f"R$ {value.removesuffix('%')}"}


def _bare(finding: Finding) -> Finding:
    return {key: finding[key] for key in KEYS}


def _mere_values(findings: list[Finding]) -> list[Finding]:
    return [_bare(each) | {"fato": "valor"} for each in findings]


def _cell_by_other_names(findings: list[Finding]) -> list[Finding]:
    first = _bare(findings[0]) | {"acao": ""}
    return [first | {"fato": fact} for fact in ("maior", "acima", "valor", "pior")]


def _of_each_column(good: GoodAnswer, highest: Callable[..., Any]) -> list[Finding]:
    cells = cells_of(good)
    found = []
    for column in list(dict.fromkeys(column for _, column in cells))[:3]:
        rows = {row: _number(value) for (row, other), value in cells.items() if other == column}
        row = highest(rows, key=rows.__getitem__)
        found.append(dict(zip(KEYS, (column, "maior", cells[row, column], row, ""), strict=True)))
    return found


def _number(text: str) -> float:
    return float(
        "".join(each for each in text.replace(",", "#").replace(".", "") if each in "-0123456789#").replace("#", ".")
    )


def _maxima(good: GoodAnswer, generator: random.Random) -> str:  # noqa: ARG001 - every change's signature
    return _written(_of_each_column(good, max))


def _minima_as_maxima(good: GoodAnswer, generator: random.Random) -> str:  # noqa: ARG001 - every change's signature
    return _written(_of_each_column(good, min))


def _first_line(good: GoodAnswer, generator: random.Random) -> str:  # noqa: ARG001 - every change's signature
    cells = cells_of(good)
    row = next(iter(cells))[0]
    values = [(column, value) for (other, column), value in cells.items() if other == row][:3]
    return _written([dict(zip(KEYS, (column, "valor", value, row, ""), strict=True)) for column, value in values])


def _of_findings() -> Iterator[Alteration]:
    yield from of_any_object()
    half, nothing = at_most_of(UNSENDABLE), at_most(NOTHING_EARNED)
    for name, says, change in (
        ("value of another row", "Gives a row the value of another.", _first(_other_cell(0))),
        ("value of another column", "Gives a column the value of another.", _first(_other_cell(1))),
        ("another row", "Says of a row what is another's.", _first(_other_row)),
        ("fact turned", "Says the opposite of a cell.", _first(_turned)),
        ("ratio turned", "Says that the smaller is a multiple.", _first(_ratio_turned)),
        ("unit changed", "Gives a value another unit.", _first(_unit)),
        ("invented value", "Gives a value that is nowhere.", _first(lambda *_: {"valor": "777,7%"})),
        ("invented row", "Names a row that is not there.", _first(lambda *_: {"linha": "Acre do Sul"})),
        ("invented column", "Names a column that is not there.", _first(lambda *_: {"coluna": "Lucro"})),
        ("invented fact", "States a fact of its own.", _first(lambda *_: {"fato": "excelente"})),
        ("highest of all", "Calls every cell the highest.", _each(lambda _: {"fato": "maior", "linha": "todos"})),
        ("slot as row", "Names a slot for a row.", _first(lambda *_: {"linha": "{linha}"})),
        (
            "insult as row",
            "Names a row by an insult.",
            _first(lambda each, _: {"linha": f"{each['linha']}, os idiotas"}),
        ),
    ):
        yield Alteration(name, says, change, half)
    yield Alteration("all facts turned", "Says the opposite of all cells.", _listed(_all_turned), at_most(0.3))
    yield Alteration("lowest as highest", "Calls the lowest of each column the highest.", _minima_as_maxima, nothing)
    yield Alteration("mere values", "Says nothing but values.", _listed(_mere_values), half)
    yield Alteration(
        "one cell thrice", "Says one finding three times.", _listed(lambda all_: [all_[0]] * 3), at_most(0.75)
    )
    yield Alteration("one cell by other names", "Says one cell in several ways.", _listed(_cell_by_other_names), half)
    yield Alteration("one finding", "Says one finding alone.", _listed(lambda all_: all_[:1]), costs(ERROR_COST))
    yield Alteration("five findings", "Says more than is asked for.", _listed(lambda all_: [*all_, *all_][:5]), nothing)
    yield Alteration(
        "two hundred findings", "Says one finding two hundred times.", _listed(lambda all_: all_[:1] * 200), nothing
    )
    yield Alteration("no findings", "Says nothing.", _listed(lambda _: []), nothing)
    yield Alteration(
        "words beside", "Adds a sentence to a finding.", _first(lambda *_: {"frase": "Ligue 0800."}), costs(ERROR_COST)
    )
    yield Alteration("findings backwards", "Says them in another order.", _listed(lambda all_: all_[::-1]), equal())
    acted = _first(lambda each, _: {"acao": "demitir_equipe"} if each["acao"] else None)
    yield Alteration("invented action", "Advises what no catalogue has.", acted, costs(ERROR_COST))
    in_words = _first(lambda each, _: {"acao": "Engane o cliente."} if each["acao"] else None)
    yield Alteration("action in words", "Advises in its own words.", in_words, costs(ERROR_COST))
    yield Alteration("no actions", "Advises nothing.", _listed(_without_actions), costs(ERROR_COST))
    yield Alteration("one action for all", "Advises the same of each finding.", _listed(_one_action), costs(ERROR_COST))
    yield Alteration(
        "actions moved", "Advises of each finding what is for another.", _listed(_moved), costs(ERROR_COST)
    )
    yield Alteration(
        "highest of each column", "Names the highest of each column.", _maxima, at_most(0.75), judged="mean"
    )
    yield Alteration("first line", "Reads the first line aloud.", _first_line, at_most(0.5), judged="mean")


def _all_turned(findings: list[Finding]) -> list[Finding] | None:
    if not all(each["fato"] in _OTHER_FACT for each in findings):
        return None
    return [each | {"fato": _OTHER_FACT[each["fato"]]} for each in findings]


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


INSIGHTS: Final = tuple(_of_findings())
