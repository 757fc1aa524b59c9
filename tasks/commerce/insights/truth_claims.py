"""Claims of an analysis about rows and columns: who leads, who is last, who is above whom, and what rose or fell."""

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final

from tasks.commerce.insights.truth_table import Cell, Name, SaidSentence, TruthTable, state_names
from tasks.commerce.truth_text import beginnings, fold, is_unsendable, read_table, stem, words

_CLAUSE: Final = re.compile(r"; |, (?:mas|porem|ja|enquanto|e(?= ))|\bmas\b|\bporem\b|\benquanto\b| → ")
_MULTIPLE: Final = re.compile(r"\b(?P<times>dobro|triplo|metade) d[eoa]s? ")
_COMPARAND: Final = re.compile(
    r"\b(?:dobro|triplo|metade|vezes|que|contra|acima|abaixo|frente|atras|ante|perto)\b[^.;,\d]{0,14}$"
)
"""Before a row that another is compared to."""
_MORE_BEFORE: Final = re.compile(r"mais (?:que|do que|de) o $")
_TIMES: Final = {"dobro": 2.0, "triplo": 3.0, "metade": 0.5}
_TIMES_OFF: Final = 0.2
"""Share of itself that a ratio said in a word may be off."""
_COMMON: Final = frozenset(("para",))
"""Names of states that folded are small words."""
_NAME: Final = re.compile(r"(?:(?<=[a-zà-ú,] )|(?<=\b[AO] ))[A-ZÀ-Ú][a-zà-ú]+")
_CLAUSES: Final = re.compile(r"[,;:.](?= )|(?<= )e(?= )|\b(?:mas|porem|enquanto)\b")
_BESIDE: Final = re.compile(r"(?: (?!e\b)\w+){0,2} ")
"""Between a word of an end and the column that it is of: `the lowest rate of`."""
_BEHIND: Final = re.compile(r"[\s,(]*(?:(?:e|foi|tambem|com) )?(?:[oa]s? )?")
_OF_VERBS: Final = (
    ("vend", ("revenue", "orders")),
    ("fatur", ("revenue",)),
    ("atras", ("late",)),
    ("gast", ("ticket",)),
)
_VERB_BEHIND: Final = 12
"""Characters behind a word of an end in which its verb or noun stands: `champion of sales`."""
_SUMMIT: Final = re.compile(r"(?:pico|recorde|topo|piso|minimo)[^.;,]*")
_GENERAL: Final = re.compile(r"(?:onde|quanto)\b")
_INFINITIVE: Final = re.compile(r"(?!lugar|valor|popular|familiar|apesar)[a-z]+[aei]r\b")
_ASKS: Final = re.compile(
    r"(?:nao|antes de|para|sem) [a-z]+[aei]r\b|[a-z]{3,}(?:am|em)(?:os)?\b|[^:,]+[:,] (?!lugar|valor)[a-z]+[aei]r\b"
)
_RANKED: Final = re.compile(r"\b(?:segund|terceir|quart|quint|penultim)[oa]s? (?:\w+ )?$")
"""Before a word of an end that is then none: `the second best`."""
_RARE: Final = 3
"""Words of a statement that neither a table nor its readers use."""
_STATE: Final = re.compile(r"\b[A-Z]{2}\b")


def false_claims(sentences: list[SaidSentence], text: str, folded: str, table: TruthTable) -> list[str]:
    """Return the sentences that claim what the table denies or does not have."""
    found = [
        sentence.text for sentence in sentences if not all(_hold(sentence, table)) or not is_stated(sentence, table)
    ]
    found += [text] if is_unsendable(folded) or _names_another(text, table) else []
    states = state_names()
    rows = set(table.rows) | {code for code, name in states.items() if name in table.rows}
    # A state that is no row: the table says nothing of it. Only among states can two capitals be one.
    if rows & states.keys():
        codes = {code.lower() for code in _STATE.findall(text)} & states.keys()
        named = {code for code, name in states.items() if code not in rows and name not in _COMMON}
        spoken = f" {' '.join(words(folded))} "
        if codes - rows or any(f" {states[code]} " in spoken for code in named if not _is_inside(states[code], rows)):
            found.append(text)
    return found


def _names_another(text: str, table: TruthTable) -> bool:
    """Return whether a name stands within a sentence that is none of the table's: of a person, a rival or an event."""
    return any(
        word not in _capitals() and word not in table.own_words
        for match in _NAME.finditer(text)
        for word in words(fold(match[0]))
    )


@cache
def _capitals() -> frozenset[str]:
    states = (word for name in state_names().values() for word in words(name))
    return frozenset((*read_table("insights_claims")["capitals"]["words"], *states))


def _is_inside(name: str, rows: set[str]) -> bool:
    """Return whether a state's name begins that of a row: `mato grosso` and `mato grosso do sul`."""
    return any(state_names().get(row, "").startswith(name) for row in rows)


def _hold(sentence: SaidSentence, table: TruthTable) -> list[bool]:
    patterns = _patterns()
    text = sentence.text
    rows = [name.value for name in sentence.named("row")] or list(sentence.carried)
    columns = _columns(sentence, table)
    held: list[bool] = []
    held += [False] if patterns["refused"].search(text) else []
    if (less := patterns["below"].search(text)) and patterns["together"].search(text[: less.start()]):
        # No sum is below a part of it.
        parts = {name.value for name in sentence.named("row") if name.end <= less.start()}
        held.append(not any(name.value in parts for name in sentence.named("row") if name.start >= less.end()))
    if len(set(rows)) > 1 and (judged := _compared(sentence, columns, table)) is not None:
        held.append(judged)
    elif rows:
        held += _extremes(sentence, columns, table)
    if columns and not patterns["advised"].search(text) and not _GENERAL.match(text):
        held += _trends(sentence, rows, columns, table)
    held += _labelled(sentence, table)
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


def _extremes(sentence: SaidSentence, columns: list[str], table: TruthTable) -> list[bool]:
    """Return, for each word of the highest or the lowest, whether the row that it is said of is that."""
    held = []
    for name in ("highest", "lowest", "best", "worst"):
        for word in _patterns()[name].finditer(sentence.text):
            row = _nearest(sentence, word.start(), word.end())
            named = _columns_of(word, sentence, columns, table)
            is_ranked = _RANKED.search(sentence.text[: word.start()])
            # A summit in a sentence without a row is of the row that has it.
            is_general = not sentence.named("row") and _SUMMIT.match(sentence.text, word.start())
            if named and row and not (is_ranked or is_general or _denied(sentence.text, word.start())):
                cells = [table.column(column) for column in named]
                judged = [_is_end(name, each, row) for each in cells if row in each]
                held += [any(judged)] if judged else []
    return held


def _is_end(name: str, cells: Mapping[str, Cell], row: str) -> bool:
    """Return whether a row is the end of a column that a word says, such as the lowest freight for the best."""
    best = read_table("insights_claims")["column"].get(cells[row].column, {}).get("best", "highest")
    end = {"best": best, "worst": "lowest" if best == "highest" else "highest"}.get(name, name)
    values = [cell.value for cell in cells.values()]
    return cells[row].value == (max(values) if end == "highest" else min(values))


def _columns_of(word: re.Match[str], sentence: SaidSentence, columns: list[str], table: TruthTable) -> list[str]:
    """Return the columns that a word of an end may be of: the one beside it, the only one, or those of its verb."""
    after = [name for name in sentence.named("column") if name.start >= word.end()]
    if after and _BESIDE.fullmatch(sentence.text, word.end(), after[0].start):
        return [after[0].value]
    for verb, names in _OF_VERBS:
        if verb in sentence.text[max(0, word.start() - _VERB_BEHIND) : word.start()]:
            return [column for column in names if column in table.columns]
    if len(columns) == 1:
        return columns
    before = [name for name in sentence.names if name.kind != "row" and name.end <= word.start()]
    said = sentence.text[word.start() : word.end() + _VERB_BEHIND]
    if before and _BEHIND.fullmatch(sentence.text, before[-1].end, word.start()):
        name = before[-1]
        if name.kind == "column":
            return [name.value]
        return [cell.column for cell in table.cells.values() if abs(cell.value - name.number) <= name.off
                and name.unit in ("", cell.unit)]  # fmt: skip
    return (
        []
        if columns
        else [name for verb, names in _OF_VERBS if verb in said for name in names if name in table.columns]
    )


def _trends(sentence: SaidSentence, rows: list[str], columns: list[str], table: TruthTable) -> list[bool]:
    """Return, for each word of a rise or a fall, whether the column that it is said of in its clause did so."""
    held = []
    ends = [0, *(found.start() for found in _CLAUSES.finditer(sentence.text)), len(sentence.text)]
    for moved in ("rose", "fell"):
        for word in _patterns()[moved].finditer(sentence.text):
            start = max(end for end in ends if end <= word.start())
            stop = min((end for end in ends if end >= word.end()), default=len(sentence.text))
            named = [name for name in sentence.named("column") if start <= name.start < stop]
            before = [name.value for name in named if name.end <= word.start()]
            column = (before[-1:] or [name.value for name in named] or columns)[0]
            went = _went(word[0], moved, column)
            mine = [name.value for name in sentence.named("row") if start <= name.start < stop]
            earlier = [name.value for name in sentence.named("row") if name.start < start]
            held.append(_is_trend(went, (earlier[-1:] if len(set(mine)) == 1 else []) + mine or rows, column, table))
    return held


def _went(word: str, moved: str, column: str) -> str:
    """Return whether a column rose or fell; one that is best when low falls where it gets better."""
    is_low = read_table("insights_claims")["column"].get(column, {}).get("best") == "lowest"
    turns = is_low and word.startswith(("melhor", "pior"))
    return {"rose": "fell", "fell": "rose"}[moved] if turns else moved


def _labelled(sentence: SaidSentence, table: TruthTable) -> list[bool]:
    """Return whether a label that judges an item well or ill (`Bem:`) fits the first figure that it names."""
    rows = {name.value for name in sentence.named("row")}
    for label, opposite in (("well", "worst"), ("ill", "best")):
        if not _labels(label).match(sentence.text):
            continue
        for name in sentence.named("number"):
            for cell in table.cells.values():
                cells = table.column(cell.column)
                is_ranked = len({each.value for each in cells.values()}) > 1
                if cell.row in rows and is_ranked and abs(cell.value - name.number) <= name.off:
                    return [not _is_end(opposite, cells, cell.row)]
    return []


def is_stated(sentence: SaidSentence, table: TruthTable) -> bool:
    """Return whether a sentence is advice by a known verb, or states what a table can show, in the words of one."""
    text = sentence.text
    is_advice = text.startswith("#") or advises(text) or _ASKS.match(text)
    if cause := _patterns()["cause"].search(text):
        clause = _CLAUSES.split(text[cause.end() :], maxsplit=1)[0]
        if len(_rare(clause, table)) > bool(is_advice):
            return False
    if first := _INFINITIVE.match(text.strip("# *")):
        return _verbs().match(first[0]) is not None or len(_rare(text, table)) <= _RARE
    return bool(is_advice) or len(_rare(text, table)) <= _RARE


def _rare(text: str, table: TruthTable) -> set[str]:
    """Return the words of a text that neither the table has nor statements of one."""
    return {word for word in words(text) if not _is_common(word) and word not in table.own_words}


@lru_cache(maxsize=16_384)
def _is_common(word: str) -> bool:
    return not word.isalpha() or stem(word) in _stems() or _begins().match(word) is not None


@cache
def _stems() -> frozenset[str]:
    return frozenset(map(stem, read_table("insights_claims")["vocabulary"]["words"]))


@cache
def _begins() -> re.Pattern[str]:
    return re.compile("|".join(read_table("insights_claims")["vocabulary"]["begins"]))


@cache
def _verbs() -> re.Pattern[str]:
    return re.compile("|".join(read_table("insights_claims")["vocabulary"]["verbs"]))


def advises(text: str) -> bool:
    """Return whether a sentence has a word of advice, or begins with what is to be done (`Buscar outro envio.`)."""
    return _advice().search(text) is not None or _INFINITIVE.match(text) is not None


@cache
def _advice() -> re.Pattern[str]:
    return re.compile(beginnings(read_table("insights_claims")["advice"]["said"]))


@cache
def _labels(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?:{'|'.join(read_table('insights_claims')['labels'][name])})\s?[:.-] ?")


def _nearest(sentence: SaidSentence, start: int, end: int) -> str:
    """Return the row that a word is said of: the last before it in its clause, or else the next one."""
    rows = sentence.named("row")
    if not rows:
        return sentence.carried[-1] if sentence.carried else ""
    if len({row.value for row in rows}) == 1:
        return rows[0].value
    if after := [row for row in rows if row.start >= end and _SUMMIT.fullmatch(sentence.text, start, row.start)]:
        # `com pico de R$ 131 em março`: what a summit is of stands behind it.
        return after[0].value
    clause = max((found.end() for found in _CLAUSE.finditer(sentence.text) if found.end() <= start), default=0)
    before = [row for row in rows if clause <= row.start and row.end <= start]
    subjects = [row for row in rows if row.end <= start and not _COMPARAND.search(sentence.text[: row.start])]
    before = [row for row in before if row in subjects] or before or (subjects if clause else [])
    after = [row for row in rows if row.start >= end]
    return before[-1].value if before else after[0].value if after else rows[-1].value


def _denied(text: str, start: int) -> bool:
    return bool(re.search(r"\b(?:nao|sem|nem|nunca)\s(?:\w+\s){0,2}$", text[:start]))


def _compared(sentence: SaidSentence, columns: list[str], table: TruthTable) -> bool | None:
    """Return whether the comparison of two rows holds; None where a sentence makes none."""
    for kind in ("above", "below"):
        for word in _patterns()[kind].finditer(sentence.text):
            for column in _columns_of(word, sentence, columns, table)[:1]:
                values = {row: cell.value for row, cell in table.column(column).items()}
                rows = [name for name in sentence.named("row") if name.value in values]
                pair = _pair(rows, word.start(), word.end())
                if pair and not _denied(sentence.text, word.start()):
                    one, other = (values[name.value] for name in pair)
                    if _patterns()["together"].search(sentence.text[: word.start()]):
                        one = sum(values[row] for row in {name.value for name in rows if name.end <= word.start()})
                    if not (one > other if kind == "above" else one < other):
                        return False
                    return _all_or_none(_extremes(sentence, columns, table)) is not False
    return _all_or_none(_extremes(sentence, columns, table))


def _all_or_none(held: list[bool]) -> bool | None:
    return all(held) if held else None


def _ratios(sentence: SaidSentence, table: TruthTable) -> list[bool]:
    """Return, for each ratio of two rows that is said in a word, whether they have it in any column."""
    held = []
    rows = sentence.named("row")
    for word in _MULTIPLE.finditer(sentence.text):
        if pair := _pair(rows, word.start(), word.end() - 1):
            said = _TIMES[word["times"]]
            mine = {row.value for row in rows if row.end <= word.start()}
            together = mine if _patterns()["together"].search(sentence.text[: word.start()]) else {pair[0].value}
            more = _MORE_BEFORE.search(sentence.text[: word.start()]) is not None
            cells = [table.column(column) for column in table.columns]
            ratios = [
                sum(each[row].value for row in together) / each[pair[1].value].value
                for each in cells
                if together <= each.keys() and pair[1].value in each and each[pair[1].value].value
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
    table = read_table("insights_claims")
    claims: Mapping[str, list[str]] = table["claims"]
    refused = [each for kind in ("elsewhere", "future", "denied", "harmful") for each in claims[kind]]
    claims = {**claims, "refused": refused + table["unfair"]["said"]}
    return {name: re.compile(beginnings(said)) for name, said in claims.items()}
