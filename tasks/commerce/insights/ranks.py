"""Ranks that a sentence claims: the highest, the lowest, the best, the worst, the second, those that lead."""

from collections.abc import Sequence
from typing import Final

from tasks.commerce.insights.claims import NAMES, WORDS, Site
from tasks.commerce.insights.comparisons import compare_rows
from tasks.commerce.insights.derivations import COUNTS
from tasks.commerce.insights.sentences import PARTS
from tasks.commerce.insights.table import Table

HIGH, LOW, GOOD, BAD = WORDS["high"], WORDS["low"], WORDS["good"], WORDS["bad"]
SUPERLATIVES: Final = HIGH | LOW | GOOD | BAD
RANKING: Final = SUPERLATIVES | frozenset(
    {"mais", "menos", "ultimo", "ultima", "primeiro", "primeira", "fecha", "fecham"}
)
_ATTRIBUTES: Final = frozenset({"maior", "maiores", "maximo", "maxima", "pico", "recorde", "teto"})
_LEADS: Final = HIGH - _ATTRIBUTES
_BEFORE_NO_RANK: Final = frozenset({"a", "de", "pouco", "muito", "bem", "ainda", "nada"})
_AFTER_NO_RANK: Final = frozenset({"de", "que", "do", "da", "um", "uma"})
_MEASURES: Final = frozenset({"%", "ponto", "pontos", "reais"})
_LISTS: Final = frozenset({"lista", "fila", "ranking", "tabela"})
_DIRECTIONS: Final = dict.fromkeys(HIGH, 1) | dict.fromkeys(LOW, -1) | dict.fromkeys(GOOD, 2) | dict.fromkeys(BAD, -2)


def read_rank(place: int, word: str, site: Site) -> None:
    """Judge a ranking word."""
    # `mais pedidos, não de pedidos maiores` ranks nothing.
    direction = 0 if {"nao", "de"}.issubset(site.words_before(place, 3)) else _direction(place, word, site)
    if not direction or _is_pole(place, word, site) or _is_named_by_size(place, site):
        return
    claims = site.claims
    if _names_no_column(place, site):
        claims.false.append("column")
        return
    column = _column_ranked(place, word, site)
    sign = site.sign(direction, column)
    if _compares(place, site):
        if sign:
            compare_rows(place, sign, site)
        return
    rows = site.rows_near(place)
    if not rows:
        return
    if column is None:
        if (word in _LEADS or abs(direction) == 2) and not _in_any_column(direction, rows, site):
            claims.false.append("rank")
    elif sign:
        claims.judge(_has_rank(place, word, rows, column, sign, site) != site.is_denied(place), "rank", rows, column)


def _is_pole(place: int, word: str, site: Site) -> bool:
    """Return whether a word is one of both ends of a scale: `entre o melhor e o pior mês`."""
    around = {*site.words_before(place, 3), *site.words_after(place, 3)}
    return "e" in around and any(
        word in one and not other.isdisjoint(around)
        for one, other in ((HIGH, LOW), (LOW, HIGH), (GOOD, BAD), (BAD, GOOD))
    )


def _is_named_by_size(place: int, site: Site) -> bool:
    """Return whether a word only names rows, by no column: `boleto e crédito, os dois maiores, ...`."""
    return not COUNTS.keys().isdisjoint(site.words_before(place, 1)) and not PARTS.isdisjoint(
        site.words_after(place, 1)
    )


def _column_ranked(place: int, word: str, site: Site) -> int | None:
    """Return the column of a rank; `o maior` alone is none of the column named in the sentence before."""
    if site.sentence.columns or site.number_columns:
        return site.column_of(place)
    return None if word in _ATTRIBUTES and not _compares(place, site) else site.sentence.carried_column


def _direction(place: int, word: str, site: Site) -> int:
    """Return 1 for a claim of the highest, -1 of the lowest, 2 of the best, -2 of the worst, 0 for no claim."""
    before = "".join(site.words_before(place, 1))
    after = "".join(site.words_after(place, 1))
    if word in ("mais", "menos"):
        if "que" in site.words_after(place, 2) and not _MEASURES.isdisjoint(site.words_before(place, 2)):
            return 1 if word == "mais" else -1  # `30% a mais que`, `5 pontos menos do que`
        return (1 if word == "mais" else -1) * _degree(before, after, site.table)
    if word in ("fecha", "fecham"):
        return 0 if _LISTS.isdisjoint(site.words_after(place, 3)) else -1
    if word in ("primeiro", "primeira"):
        return int(after == "lugar" or before == "em")
    if word in ("ultimo", "ultima"):
        return -int(after in ("lugar", "posicao", "colocado") or before == "em")
    return 0 if after in WORDS["neutral"] else _DIRECTIONS[word]


def _degree(before: str, after: str, table: Table) -> int:
    """Return 1 for `mais caro`, -1 for `mais barato`, 0 for `mais de`."""
    if after == "que" and before in table.column_words:
        return 1
    if before.endswith(("ar", "er", "ir")):
        return 0  # `Vender mais e atrasar mais` are no ranks.
    if after in _AFTER_NO_RANK or before in _BEFORE_NO_RANK:
        return int(after in table.column_words and before != "a")
    if after == "em":
        return 0
    if after in WORDS["low_adjectives"]:
        return -1
    return int(after in WORDS["high_adjectives"] or after in NAMES or before in table.column_words)


def _names_no_column(place: int, site: Site) -> bool:
    """Return whether the word after a claim names a column that the table has not."""
    for word in site.words_after(place, 3):
        if word in PARTS or word[0].isdigit():
            return False
        if word in NAMES:
            return word not in site.table.column_words
    return False


def _compares(place: int, site: Site) -> bool:
    """Return whether a ranking word compares with a row behind it: `maior que`, `mais pedidos do que`."""
    following = site.words_after(place, 4)
    if "que" not in following or following[following.index("que") - 1 : following.index("que")] == [","]:
        return False
    return any(there > place for there, _ in site.sentence.rows)


def _has_rank(place: int, word: str, rows: Sequence[int], column: int, sign: int, site: Site) -> bool:
    ranks = [site.table.rank(row, column, sign > 0) for row in rows]
    before = site.words_before(place, 3)
    named = {there for there, _ in site.sentence.rows}
    places = range(max(0, place - 3), min(place + 2, len(site.sentence.tokens)))
    window = {site.sentence.tokens[there] for there in places if there not in named and there != place}
    for exact, names in ((1, WORDS["second"]), (2, WORDS["third"])):
        if not names.isdisjoint(window):
            # Equal figures share a rank, so a second is also the second of the leaders.
            return ranks[0] == exact or (ranks[0] == exact - 1 and _is_tied(rows[0], column, site.table))
    if word.endswith("es") and not {"uma", "um", "entre"}.isdisjoint(before):
        return max(ranks) <= max(1, len(site.table.names) // 2)
    return max(ranks) < len(rows)


def _is_tied(row: int, column: int, table: Table) -> bool:
    value = table.cells.get((row, column))
    return sum(other == value for (_, place), other in table.cells.items() if place == column) > 1


def _in_any_column(direction: int, rows: Sequence[int], site: Site) -> bool:
    return any(
        site.table.rank(row, column, sign > 0) < len(rows)
        for row in rows
        for column in range(len(site.table.columns))
        if (sign := site.sign(direction, column))
    )
