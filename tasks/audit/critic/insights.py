"""Critic of insights: analyses that say false things beside true facts, and good analyses as people write them."""

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tasks.audit.critic import text_changes
from tasks.audit.critic.alteration import Case, Change, CriticAlteration
from tasks.audit.critic.fact_table import ADDITIVE, CriticColumn, column_slots, distinct, read_columns
from tasks.audit.critic.wordings import Slots, named_slots, read_wordings, said
from tasks.commerce.text.portuguese_numbers import decimal, numbers_in

_WORDS: Final[Mapping[str, Any]] = read_wordings("insights")
_ITEM: Final = re.compile(r"^(- .*?\. )(\w.*)$", re.MULTILINE)
_CELL: Final = re.compile(r"\d[\d.,]*\d|\d")


def slots_of(case: Case, generator: random.Random) -> Slots | None:
    """Return what a wording can say of one column of the table, drawn by chance."""
    columns = distinct(read_columns(case)[1])
    return column_slots(generator.choice(columns), generator) if columns else None


def _bullet(case: Case, text: str) -> str:
    return f"{case.answer}\n- {text}"


def _after(case: Case, text: str) -> str:
    return f"{case.answer}\n\n{text}"


def _instead(case: Case, text: str) -> str:  # noqa: ARG001 - every way's signature
    return text


def _advice(texts: Sequence[str]) -> Change:
    """Return a change that puts other advice in the place of every item's."""

    def change(case: Case, generator: random.Random) -> str:
        chosen = iter(generator.sample(texts, len(texts)))
        return _ITEM.sub(lambda item: f"{item[1]}{next(chosen)}", case.answer)

    return change


def _corruptions() -> list[CriticAlteration]:
    ways = {"bullet": _bullet, "after": _after, "instead": _instead}
    found = []
    for name, entry in _WORDS["corruption"].items():
        how = entry.get("how", "bullet")
        change = _advice(entry["texts"]) if how == "advice" else said(entry["texts"], slots_of, ways[how])
        found.append(CriticAlteration(name, entry.get("severity", "costly"), change, entry.get("applies", 0.9)))
    return found


def _rewritten(heading: str, items: Sequence[str]) -> Change:
    """Return a change that writes the analysis anew: an item for each column that its wording fits.

    Where fewer columns fit than the analysis has items, the others are said plainly.
    """
    plain: Sequence[str] = _WORDS["rewrite"]["lead"]["items"]

    def change(case: Case, generator: random.Random) -> str | None:
        columns = [column_slots(column, generator) for column in distinct(read_columns(case)[1])]
        known = [slots for slots in columns if slots is not None]
        fitting = [slots for slots in known if named_slots(items[0]) <= slots.keys()]
        if len(known) < 3 or not fitting:
            return None
        others = [slots for slots in known if slots not in fitting]
        lines = [form.format_map(slots) for form, slots in zip(items, fitting, strict=False)]
        rest = [*fitting[len(lines) :], *others][: 3 - len(lines)]
        lines += [form.format_map(slots) for form, slots in zip(plain, rest, strict=False)]
        return "\n".join([heading, *lines])

    return change


def _other_fact(change: Callable[[str, list[CriticColumn], random.Random], str | None]) -> Change:
    """Return a change of the number of one quoted fact."""

    def changed(case: Case, generator: random.Random) -> str | None:
        columns = read_columns(case)[1]
        facts = [str(fact) for fact in case.reference["facts"] if str(fact) in case.answer]
        generator.shuffle(facts)
        for fact in facts:
            other = change(fact, columns, generator)
            if other is not None and other not in case.reference["facts"]:
                return case.answer.replace(fact, other, 1)
        return None

    return changed


def _cell_of(fact: str, columns: Sequence[CriticColumn]) -> tuple[CriticColumn, str] | None:
    row, _, statement = fact.partition(": ")
    cells = ((column, column.cells[row]) for column in columns if row in column.cells)
    return next(((column, cell) for column, cell in cells if cell in statement), None)


def _of_another_row(fact: str, columns: list[CriticColumn], generator: random.Random) -> str | None:
    found = _cell_of(fact, columns)
    others = [cell for cell in found[0].cells.values() if cell != found[1]] if found else []
    return fact.replace(found[1], generator.choice(others)) if found and others else None


def _of_another_column(fact: str, columns: list[CriticColumn], generator: random.Random) -> str | None:
    found, row = _cell_of(fact, columns), fact.partition(": ")[0]
    others = [column.cells[row] for column in columns if found and column is not found[0]]
    if not found or not others:
        return None
    number = _CELL.search(generator.choice(others))
    own = _CELL.search(found[1])
    return fact.replace(own[0], number[0]) if number and own else None


def _moved(fact: str, columns: list[CriticColumn], generator: random.Random) -> str | None:
    found = _cell_of(fact, columns)
    if not found or not (own := _CELL.search(found[1])) or not numbers_in(own[0])[0]:
        return None
    places = len(own[0].partition(",")[2])
    return fact.replace(own[0], decimal(numbers_in(own[0])[0] * generator.choice((0.6, 1.3, 1.7)) + 1, places))


def _swapped(case: Case, generator: random.Random) -> str | None:
    """Exchange the rows of every quoted fact, so that all its numbers are of other rows."""
    rows = list(dict.fromkeys(str(fact).partition(": ")[0] for fact in case.reference["facts"]))
    text = case.answer
    for fact in map(str, case.reference["facts"]):
        statement = fact.partition(": ")[2]
        false = [other for other in rows if f"{other}: {statement}" not in case.reference["facts"]]
        if fact in case.answer and false:
            text = text.replace(fact, f"{generator.choice(false)}: {statement}", 1)
    return text


def _denied(case: Case, generator: random.Random) -> str:
    said_so = generator.choice(_WORDS["denials"])
    return re.sub(r"^- (.*)$", lambda line: f"- {said_so.format(line[1])}", case.answer, flags=re.MULTILINE)


def _false_sum(case: Case, generator: random.Random) -> str | None:
    columns = [column for column in distinct(read_columns(case)[1]) if column.title in ADDITIVE]
    if not columns:
        return None
    column = generator.choice(columns)
    top, second = column.ranked()[:2]
    return _bullet(case, _WORDS["false_sum"].format(top=top, second=second))


ALTERATIONS: Final = (
    *_corruptions(),
    CriticAlteration("number_of_another_row", "costly", _other_fact(_of_another_row), 0.9),
    CriticAlteration("number_of_another_column", "costly", _other_fact(_of_another_column), 0.9),
    CriticAlteration("moved_number", "costly", _other_fact(_moved), 0.9),
    CriticAlteration("swapped_rows", "unsendable", _swapped, 0.9),
    CriticAlteration("facts_denied", "unsendable", _denied),
    CriticAlteration("false_sum", "costly", _false_sum, 0.4),
    CriticAlteration("shouting", "costly", text_changes.shouting),
    CriticAlteration("salad", "unsendable", text_changes.salad),
    CriticAlteration("prompt_again", "unsendable", text_changes.prompt_again),
    CriticAlteration("instruction_again", "unsendable", text_changes.system_again),
    CriticAlteration("cut_off", "costly", text_changes.cut_off),
    *(
        CriticAlteration(name, "harmless", _rewritten(entry["heading"], entry["items"]), entry.get("applies", 0.4))
        for name, entry in _WORDS["rewrite"].items()
    ),
)
