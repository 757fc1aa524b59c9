"""Claims of an analysis about rows and columns: who leads, who is last, who is above whom, and what rose or fell."""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from tasks.commerce.insights.truth_table import Name, SaidSentence, TruthTable, state_names
from tasks.commerce.truth_text import fold, read_table, words

_CLAUSE: Final = re.compile(r"; |, (?:mas|porem|ja|enquanto|e(?= ))|\bmas\b|\bporem\b|\benquanto\b| → ")
_MULTIPLE: Final = re.compile(r"\b(?P<times>dobro|triplo|metade) d[eoa]s? ")
_MORE_BEFORE: Final = re.compile(r"mais (?:que|do que|de) o $")
_TIMES: Final = {"dobro": 2.0, "triplo": 3.0, "metade": 0.5}
_TIMES_OFF: Final = 0.2
"""Share of itself that a ratio said in a word may be off."""
_COMMON: Final = frozenset(("para",))
"""Names of states that folded are small words."""
_STATE: Final = re.compile(r"\b[A-Z]{2}\b")


def false_claims(sentences: list[SaidSentence], text: str, table: TruthTable) -> list[str]:
    """Return the sentences that claim what the table denies or does not have."""
    found = [sentence.text for sentence in sentences if not all(_hold(sentence, table))]
    states = state_names()
    rows = set(table.rows) | {code for code, name in states.items() if name in table.rows}
    # A state that is no row: the table says nothing of it. Only among states can two capitals be one.
    if rows & states.keys():
        codes = {code.lower() for code in _STATE.findall(text)} & states.keys()
        named = {code for code, name in states.items() if code not in rows and name not in _COMMON}
        spoken = f" {' '.join(words(fold(text)))} "
        if codes - rows or any(f" {states[code]} " in spoken for code in named if not _is_inside(states[code], rows)):
            found.append(text)
    return found


def _is_inside(name: str, rows: set[str]) -> bool:
    """Return whether a state's name begins that of a row: `mato grosso` and `mato grosso do sul`."""
    return any(state_names().get(row, "").startswith(name) for row in rows)


def _hold(sentence: SaidSentence, table: TruthTable) -> list[bool]:
    patterns = _patterns()
    text = sentence.text
    rows = [name.value for name in sentence.named("row")] or list(sentence.carried)
    columns = _columns(sentence, table)
    held: list[bool] = []
    for kind in ("elsewhere", "future", "denied", "harmful"):
        held += [False] if patterns[kind].search(text) else []
    if (less := patterns["below"].search(text)) and patterns["together"].search(text[: less.start()]):
        # No sum is below a part of it.
        parts = {name.value for name in sentence.named("row") if name.end <= less.start()}
        held.append(not any(name.value in parts for name in sentence.named("row") if name.start >= less.end()))
    cause = patterns["cause"].search(text)
    if cause and not any(name.start >= cause.end() and name.kind != "row" for name in sentence.names):
        held.append(False)
    if len(set(rows)) > 1 and len(columns) == 1 and (judged := _compared(sentence, columns[0], table)) is not None:
        held.append(judged)
    elif rows and len(columns) == 1:
        held += _extremes(sentence, columns[0], table)
    moved = _moved(text)
    if moved and columns and not patterns["advised"].search(text):
        held.append(_is_trend(moved, rows, columns[0], table))
    held += _ratios(sentence, table)
    if patterns["tie"].search(text) and len(set(rows)) > 1 and columns:
        held.append(_are_equal(rows, columns[0], table))
    return held


def _columns(sentence: SaidSentence, table: TruthTable) -> list[str]:
    """Return the columns that a sentence names, or that its numbers are of."""
    named = list(dict.fromkeys(name.value for name in sentence.named("column")))
    if named:
        return named
    fitting = [
        cell.column
        for number in sentence.named("number")
        for cell in table.cells.values()
        if abs(cell.value - number.number) <= number.off and number.unit in ("", cell.unit)
    ]
    return list(dict.fromkeys(fitting))


def _extremes(sentence: SaidSentence, column: str, table: TruthTable) -> list[bool]:
    """Return, for each word of the highest or the lowest, whether the row that it is said of is that."""
    cells = table.column(column)
    if not cells:
        return []
    values = {row: cell.value for row, cell in cells.items()}
    high, low = max(values.values()), min(values.values())
    held = []
    for name, end in (("highest", high), ("lowest", low)):
        for word in _patterns()[name].finditer(sentence.text):
            row = _nearest(sentence, word.start(), word.end())
            if row in values and not _denied(sentence.text, word.start()):
                held.append(values[row] == end)
    better = read_table("insights_claims")["column"].get(column, {}).get("best", "highest")
    for name, end in (("best", high if better == "highest" else low), ("worst", low if better == "highest" else high)):
        for word in _patterns()[name].finditer(sentence.text):
            row = _nearest(sentence, word.start(), word.end())
            if row in values:
                held.append(values[row] == end)
    return held


def _nearest(sentence: SaidSentence, start: int, end: int) -> str:
    """Return the row that a word is said of: the last before it in its clause, or else the next one."""
    rows = sentence.named("row")
    if not rows:
        return sentence.carried[-1] if sentence.carried else ""
    if len({row.value for row in rows}) == 1:
        return rows[0].value
    clause = max((found.end() for found in _CLAUSE.finditer(sentence.text) if found.end() <= start), default=0)
    before = [row for row in rows if clause <= row.start and row.end <= start]
    after = [row for row in rows if row.start >= end]
    return before[-1].value if before else after[0].value if after else rows[-1].value


def _denied(text: str, start: int) -> bool:
    return bool(re.search(r"\b(?:nao|sem|nem|nunca)\s(?:\w+\s){0,2}$", text[:start]))


def _compared(sentence: SaidSentence, column: str, table: TruthTable) -> bool | None:
    """Return whether the comparison of two rows holds; None where a sentence makes none."""
    values = {row: cell.value for row, cell in table.column(column).items()}
    rows = [name for name in sentence.named("row") if name.value in values]
    for kind in ("above", "below"):
        for word in _patterns()[kind].finditer(sentence.text):
            pair = _pair(rows, word.start(), word.end())
            if pair and not _denied(sentence.text, word.start()):
                one, other = (values[name.value] for name in pair)
                if _patterns()["together"].search(sentence.text[: word.start()]):
                    one = sum(values[row] for row in {name.value for name in rows if name.end <= word.start()})
                return one > other if kind == "above" else one < other
    held = _extremes(sentence, column, table)
    return all(held) if held else None


def _ratios(sentence: SaidSentence, table: TruthTable) -> list[bool]:
    """Return, for each ratio of two rows that is said in a word, whether they have it in any column."""
    held = []
    rows = sentence.named("row")
    for word in _MULTIPLE.finditer(sentence.text):
        if pair := _pair(rows, word.start(), word.end() - 1):
            said = _TIMES[word["times"]]
            more = _MORE_BEFORE.search(sentence.text[: word.start()]) is not None
            cells = [table.column(column) for column in table.columns]
            ratios = [
                each[pair[0].value].value / each[pair[1].value].value
                for each in cells
                if all(row.value in each for row in pair) and each[pair[1].value].value
            ]
            held.append(any(said <= ratio if more else abs(ratio - said) <= _TIMES_OFF * said for ratio in ratios))
    return held


def _pair(rows: list[Name], start: int, end: int) -> tuple[Name, Name] | None:
    """Return the row before a word of comparison and the one behind it."""
    before = [row for row in rows if row.end <= start]
    after = [row for row in rows if row.start >= end]
    if before and after and before[-1].value != after[0].value:
        return before[-1], after[0]
    return None


def _are_equal(rows: list[str], column: str, table: TruthTable) -> bool:
    values = {table.column(column)[row].value for row in rows if row in table.column(column)}
    return len(values) <= 1


def _moved(text: str) -> str:
    patterns = _patterns()
    return "rose" if patterns["rose"].search(text) else "fell" if patterns["fell"].search(text) else ""


def _is_trend(moved: str, rows: list[str], column: str, table: TruthTable) -> bool:
    """Return whether a column rose or fell between the months that are named, or from the first to the last."""
    months = table.months()
    if not months:
        return False
    values = {row: cell.value for row, cell in table.column(column).items()}
    named = [row for row in months if row in rows]
    first, last = (named[0], named[-1]) if len(named) > 1 else (months[0], months[-1])
    if len(named) == 1 and named[0] != months[0]:
        first, last = months[months.index(named[0]) - 1], named[0]
    return values[last] > values[first] if moved == "rose" else values[last] < values[first]


@cache
def _patterns() -> Mapping[str, re.Pattern[str]]:
    claims: Mapping[str, list[str]] = read_table("insights_claims")["claims"]
    return {name: re.compile("|".join(rf"\b(?:{each})" for each in said)) for name, said in claims.items()}
