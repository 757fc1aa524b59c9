"""Alterations of claims that data writes: findings on a table with their actions, and templates of a push.

Those of findings are made from the reference's cells, not by the checker.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from tasks.audit.alterations import bounds
from tasks.audit.alterations.bounds import Bound
from tasks.audit.alterations.json_answers import ANY_OBJECT, given, read, write
from tasks.audit.alterations.library import Change, GoodAnswer, TextChange, from_texts, text_changes, within

Finding = dict[str, Any]
FindingChange = Callable[[Finding, GoodAnswer], Mapping[str, Any] | None]
_FACTS: Final = (("maior", "menor"), ("melhor", "pior"), ("acima", "abaixo"), ("subiu", "caiu"))
_OTHER_FACT: Final = dict(_FACTS) | {other: fact for fact, other in _FACTS}
KEYS: Final = ("coluna", "fato", "valor", "linha", "acao")


def cells_of(good: GoodAnswer) -> dict[tuple[str, str], str]:
    """Return the printed values of the reference, by row and column."""
    parts = (str(fact).split(" | ") for fact in good.reference["facts"])
    return {(row, column): value for _, row, column, value in parts}


def _listed(change: Callable[[list[Finding]], Sequence[object] | None]) -> Change:
    """Return the change of all findings; it does not apply where there is None, or a key is missing."""
    return given(lambda fields: None if (found := change(fields["achados"])) is None else {"achados": found})


def _first(change: FindingChange) -> Change:
    """Return the change of the first finding to which it applies."""

    def changed(good: GoodAnswer) -> str | None:
        found: list[Finding] = read(good)["achados"]
        for place, each in enumerate(found):
            with suppress(LookupError, StopIteration):
                if (other := change(each, good)) is not None:
                    return write({"achados": [*found[:place], {**each, **other}, *found[place + 1 :]]})
        return None

    return changed


def _to(**values: str) -> Change:
    return _first(lambda *_: values)


def _other_cell(place: int) -> FindingChange:
    """Return the value of another row (0) or of another column (1), where it differs."""

    def change(finding: Finding, good: GoodAnswer) -> Finding:
        own = (finding["linha"], finding["coluna"])
        values = (v for cell, v in cells_of(good).items() if cell[1 - place] == own[1 - place] and cell != own)
        return {"valor": next(value for value in values if value != finding["valor"])}

    return change


def _turned(finding: Finding) -> Finding:
    return {"fato": _OTHER_FACT[finding["fato"]]}


def _ratio_turned(finding: Finding, good: GoodAnswer) -> Finding:
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
        return write({"achados": found})

    return changed


def _number(text: str) -> float:
    return float("".join(each for each in text.replace(".", "").replace(",", ".") if each in "-0123456789."))


def _first_line(good: GoodAnswer) -> str:
    cells = cells_of(good)
    row = next(iter(cells))[0]
    values = [(column, value) for (other, column), value in cells.items() if other == row][:3]
    found = [dict(zip(KEYS, (column, "valor", value, row, ""), strict=True)) for column, value in values]
    return write({"achados": found})


def _one_action(findings: list[Finding]) -> list[Finding] | None:
    action = next((each["acao"] for each in findings if each["acao"]), "")
    several = len({each["acao"] for each in findings} - {""}) > 1
    return [each | {"acao": action} for each in findings] if several else None


def _moved(findings: list[Finding]) -> list[Finding] | None:
    actions = [each["acao"] for each in findings]
    if len({each["coluna"] for each in findings}) < len(findings) or len(set(actions)) < len(actions):
        return None
    return [each | {"acao": action} for each, action in zip(findings, [*actions[1:], actions[0]], strict=True)]


_FALSE_FINDINGS: Final[Mapping[Bound, Mapping[str, Change]]] = {
    bounds.UNSENDABLE: {
        "value of another row": _first(_other_cell(0)),
        "value of another column": _first(_other_cell(1)),
        "fact turned": _first(lambda each, _: _turned(each)),
        "ratio turned": _first(_ratio_turned),
        "unit changed": _first(_other_unit),
        "invented value": _to(valor="777,7%"),
        "invented row": _to(linha="Acre do Sul"),
        "invented column": _to(coluna="Lucro"),
        "invented fact": _to(fato="excelente"),
        "highest of all": _listed(lambda found: [each | {"fato": "maior", "linha": "todos"} for each in found]),
        "slot as row": _to(linha="{linha}"),
        "insult as row": _first(lambda each, _: {"linha": f"{each['linha']}, os idiotas"}),
        "mere values": _listed(lambda found: [_bare(each) | {"fato": "valor"} for each in found]),
        "one cell by other names": _listed(_cell_by_other_names),
    },
    bounds.NOTHING_EARNED: {
        "lowest as highest": _of_each_column(min),
        "five findings": _listed(lambda found: [*found, *found][:5]),
        "two hundred findings": _listed(lambda found: found[:1] * 200),
        "no findings": _listed(lambda _: []),
    },
    Bound("at most", 0.0): {"no finding": _listed(lambda _: [1])},
    Bound("at most", 0.3): {"all facts turned": _listed(lambda found: [each | _turned(each) for each in found])},
    Bound("at most", 0.75): {"one cell thrice": _listed(lambda found: found[:1] * 3)},
    bounds.ERROR_COST: {
        "one finding": _listed(lambda found: found[:1]),
        "words beside": _to(frase="Ligue 0800."),
        "invented action": _first(_acted("demitir_equipe")),
        "action in words": _first(_acted("Engane o cliente.")),
        "no actions": _listed(lambda found: [each | {"acao": ""} for each in found]),
        "one action for all": _listed(_one_action),
        "actions moved": _listed(_moved),
    },
    bounds.EQUAL: {"findings backwards": _listed(lambda found: found[::-1])},
}
INSIGHTS: Final = (
    *ANY_OBJECT,
    *(each for bound, changes in _FALSE_FINDINGS.items() for each in within(bound, changes)),
    *within(Bound("at most", 0.75), {"highest of each column": _of_each_column(max)}, "mean"),
    *within(Bound("at most", 0.5), {"first line": _first_line}, "mean"),
)


def _filled(good: GoodAnswer) -> str | None:
    lines, slot = dict(re.findall(r"^(\w+): (.+)$", good.prompt, re.MULTILINE)), re.compile(r"\{(produto|oferta)\}")
    return slot.sub(lambda found: lines[found[1].capitalize()], good.text) if slot.search(good.text) else None


def _of_text(change: TextChange) -> Change:
    return lambda good: change(good.text)


_OF_PUSH: Final[Mapping[str, TextChange]] = {
    "backwards": lambda text: " ".join(each.strip() for each in reversed(re.findall(r"[^.!?]+[.!?]+\s*", text))),
    "plain letters": lambda text: re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFD", text)),
    "shouting": str.upper,
}
PUSH: Final = (
    *within(bounds.NOTHING_EARNED, {"names for slots": _filled}),
    *within(bounds.NOTHING_EARNED, {name: _of_text(change) for name, change in text_changes("push_changes", _OF_PUSH)}),
    *from_texts("push"),
)
