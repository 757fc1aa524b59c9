"""Comparisons that a sentence claims: above and below, twice and half, shares of a total, and ties."""

from itertools import pairwise
from typing import Final

from tasks.commerce.insights.claims import WORDS, Site
from tasks.commerce.insights.derivations import COUNTS
from tasks.commerce.text.portuguese_numbers import numbers_of

TIMES: Final = {"dobro": 2.0, "triplo": 3.0, "quadruplo": 4.0, "quintuplo": 5.0, "metade": 0.5}
PARTS_OF_ALL: Final = {
    f"{part}{ending}": number
    for part, number in (("terco", 3), ("quarto", 4), ("quinto", 5), ("sexto", 6), ("decimo", 10))
    for ending in ("", "s")
}
ALMOST: Final = 0.15
"""Largest difference, as a share, of figures that are said to be almost the same."""
SHARE_ERROR: Final = 0.06
PART_ERROR: Final = 0.12
"""Largest relative error of `um em cada cinco`."""
_OTHERS: Final = frozenset({"demais", "outros", "outras", "todos", "todas"})
_ALL: Final = frozenset({"todos", "todas", "tres", "quatro", "entre"})
_LARGE: Final = frozenset({"grande", "grandes", "muita"})
_RATIO_RANGES: Final = {"over": (1.0, 1.6), "nearly": (0.75, 1.0), "": (0.87, 1.17)}
"""Ratios that may be called twice, three times or half, as shares of it: `mais que o dobro`, `quase o dobro`."""


def read_side(place: int, word: str, site: Site) -> None:
    """Judge `acima de`, `atrás de`, `à frente de`, `supera`."""
    if word == "frente":
        if not {"a", "na"}.isdisjoint(site.words_before(place, 1)):
            compare_rows(place, 1, site)
    else:
        compare_rows(place, 1 if word in WORDS["above"] else -1, site)


def compare_rows(place: int, sign: int, site: Site) -> None:
    """Judge a comparison of the rows before and after a place, or with the mean or all others."""
    table, claims = site.table, site.claims
    left, right = site.two_rows(place)
    column = site.column_of(place)
    if left is None or column is None or (left, column) not in table.cells:
        return
    value = table.cells[left, column]
    if right is None or right == left:
        following = site.words_after(place, 4)
        numbers = any(place < there <= place + 4 for there in site.sentence.numbers)
        if "media" in following and not numbers:
            claims.judge(sign * (value - table.columns[column].mean) > 0, "mean", [left], column)
        elif not _OTHERS.isdisjoint(following):
            claims.judge(table.rank(left, column, sign > 0) == 0, "rank", [left], column)
        return
    other = table.cells.get((right, column))
    if other is not None:
        claims.judge((sign * (value - other) > 0) != site.is_denied(place), "comparison", [left], column)


def read_multiple(place: int, word: str, site: Site) -> None:
    """Judge `o dobro de`, `metade de`, `três vezes`, `um terço da de`."""
    times = TIMES.get(word) or (
        _part_said(place, word, site) if word in PARTS_OF_ALL else _times_said(site.words_before(place, 1))
    )
    left, right = site.two_rows(place, 7)
    if not times or left is None:
        return
    before = site.words_before(place, 3)
    how = "over" if "mais" in before else "nearly" if "quase" in before or "menos" in before else ""
    column = site.column_of(place, 5)
    low, high = (times * bound for bound in _RATIO_RANGES[how])
    ratios = _ratios(word, left, None if right == left else right, column, site)
    good = next((each for ratio, each in ratios if low - 0.02 <= ratio <= high + 0.02), None)
    # With no row to compare with, another of the table's may be meant, or a total that no table has.
    if ratios and (good is not None or right is not None or word == "metade"):
        site.claims.judge(good is not None, "ratio", [left], ratios[0][1] if good is None else good)


def _times_said(before: list[str]) -> float:
    said = "".join(before)
    numbers = numbers_of(said) if said[:1].isdigit() else ()
    return numbers[0] if numbers else COUNTS.get(said, 0)


def _ratios(word: str, left: int, right: int | None, column: int | None, site: Site) -> list[tuple[float, int]]:
    """Return the ratios of a row to another, to the total, or to each other row, with their columns."""
    table = site.table
    found = []
    for each in range(len(table.columns)) if column is None else [column]:
        value = table.cells.get((left, each), 0.0)
        if right is not None:
            bases = [table.cells.get((right, each), 0.0)]
        elif word == "metade":
            bases = [table.columns[each].total] if table.columns[each].adds_up else []
        else:
            bases = [table.cells.get((row, each), 0.0) for row in range(len(table.names))]
        found += [(value / base, each) for base in bases if base]
    return found


def read_share(place: int, word: str, site: Site) -> None:
    """Judge `três quartos da receita`, `a maioria dos pedidos`; `um terço da de SP` is a multiple."""
    table = site.table
    following = site.words_after(place, 3)
    if word in PARTS_OF_ALL and any(pair in _OF_THAT for pair in pairwise(following)):
        read_multiple(place, word, site)
        return
    column = site.column_of(place)
    rows = site.sentence.row_near(place)
    if column is None or not rows or not table.columns[column].adds_up or not table.columns[column].total:
        return
    shares = [sum(table.cells.get((row, column), 0.0) for row in rows) / table.columns[column].total]
    # `Um quinto dos pedidos chega atrasado (21%)`: a percentage that is quoted or named may be meant.
    said = {each for _, each in site.sentence.columns} | set(site.number_columns.values())
    shares += [table.cells.get((rows[0], each), 0.0) / 100 for each in said if table.columns[each].unit == "%"]
    if word == "maioria":
        good = max(shares) > 0.5
    else:
        good = any(abs(share - _part_said(place, word, site)) <= SHARE_ERROR for share in shares)
    site.claims.judge(good, "share", rows, column)


def _part_said(place: int, word: str, site: Site) -> float:
    return COUNTS.get("".join(site.words_before(place, 1)), 1) / PARTS_OF_ALL[word]


_OF_THAT: Final = frozenset((of, that) for of in ("da", "do") for that in ("de", "do", "da"))


def read_parts(place: int, word: str, site: Site) -> None:  # noqa: ARG001 - as its siblings
    """Judge `um em cada cinco pedidos`, `três em cada quatro reais`: a percentage, or a share of a total."""
    before, after = site.words_before(place, 3), "".join(site.words_after(place, 1))
    said = [COUNTS[each] for each in before if each in COUNTS]
    rows = site.sentence.row_near(place)
    if before[-1:] != ["em"] or not said or after not in COUNTS or len(rows) != 1:
        return
    wanted = said[-1] / COUNTS[after]
    shares = []
    for column, known in enumerate(site.table.columns):
        whole = known.total if known.adds_up else 100 if known.unit == "%" else 0
        if whole:
            shares.append((abs(site.table.cells.get((rows[0], column), 0.0) / whole - wanted), column))
    if shares:
        error, column = min(shares)
        site.claims.judge(error <= PART_ERROR * wanted, "share", rows, column)


def read_tie(place: int, word: str, site: Site) -> None:
    """Judge `empatam`, `a mesma nota`, `não há diferença`."""
    following = site.words_after(place, 1)
    tokens = site.sentence.tokens
    column = site.column_of(place)
    if not WORDS["nearly"].isdisjoint(tokens):
        if not site.sentence.rows and column is not None:
            known = site.table.columns[column]
            if known.highest - known.lowest <= ALMOST * known.highest:
                site.claims.judge(True, "tie", range(len(site.table.names)), column)
        return
    if word in WORDS["like"] and not any(
        each in WORDS["values"] or each in site.table.column_words for each in following
    ):
        return
    if word == "diferenca" and (
        {"nao", "sem", "nenhuma"}.isdisjoint(site.words_before(place, 3)) or not _LARGE.isdisjoint(tokens)
    ):
        return
    _judge_tie(place, site)


def _judge_tie(place: int, site: Site) -> None:
    sentence, table = site.sentence, site.table
    rows = list(dict.fromkeys(row for _, row in sentence.rows))
    if len(rows) == 1 and sentence.from_line and sentence.carried_row is not None and sentence.carried_row != rows[0]:
        rows.append(sentence.carried_row)
    if len(rows) < 2:
        if _ALL.isdisjoint(sentence.tokens) and sentence.tokens[place] != "diferenca":
            return
        rows = list(range(len(table.names)))
    column = site.column_of(place)
    for each in range(len(table.columns)) if column is None else [column]:
        if len({table.cells.get((row, each)) for row in rows}) == 1:
            site.claims.judge(True, "tie", rows, each)
            return
    site.claims.false.append("tie")
