"""Claims of a sentence against the table: ranking words, comparisons, ties, trends, causes, forecasts and denials.

Each claim is true, false or not decided; what cannot be read is not decided. A claim needs a column, which is named
right after it, else before it, else is the column of the last number; and a row, the nearest of its clause, else of its
sentence, else of its line. Nothing is claimed where the sentence recommends.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from tasks.commerce.insights.sentences import PARTS, Sentence
from tasks.commerce.insights.speech import forms, word_classes
from tasks.commerce.insights.table import KINDS, Table, successive
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.portuguese_numbers import numbers_of

DATA_FILES: Final = ("data/lexicons/claim_words.txt",)

_WORDS: Final = word_classes("claim_words")
_HIGH: Final = _WORDS["high"]
_LEADS: Final = _HIGH - {"maior", "maiores", "maximo", "maxima", "pico", "recorde", "teto"}
_LOW: Final = _WORDS["low"]
_GOOD: Final = _WORDS["good"]
_BAD: Final = _WORDS["bad"]
_SUPERLATIVE: Final = _HIGH | _LOW | _GOOD | _BAD
_HIGH_ADJECTIVES: Final = _WORDS["high_adjectives"]
_LOW_ADJECTIVES: Final = _WORDS["low_adjectives"]
_SECOND: Final = _WORDS["second"]
_THIRD: Final = _WORDS["third"]
_NEUTRAL: Final = _WORDS["neutral"]
_ABOVE: Final = _WORDS["above"]
_BELOW: Final = _WORDS["below"]
_UP: Final = _WORDS["up"]
_DOWN: Final = _WORDS["down"]
_BETTER: Final = _WORDS["better"]
_WORSE: Final = _WORDS["worse"]
_RISES: Final = _WORDS["rises"]
_FALLS: Final = _WORDS["falls"]
_TIED: Final = _WORDS["tied"]
_LIKE: Final = _WORDS["like"]
_NEARLY: Final = _WORDS["nearly"]
_VALUES: Final = _WORDS["values"]
_CAUSES: Final = _WORDS["causes"]
_CAUSE_PAIRS: Final = frozenset(
    (
        ("por", "causa"),
        ("por", "conta"),
        ("em", "razao"),
        ("em", "funcao"),
        ("em", "virtude"),
        ("fruto", "de"),
        ("reflexo", "de"),
        ("reflexo", "da"),
        ("reflexo", "do"),
        ("consequencia", "de"),
        ("consequencia", "da"),
        ("consequencia", "do"),
        ("se", "deve"),
        ("se", "devem"),
        ("deve", "se"),
        ("explica", "se"),
        ("ja", "que"),
        ("uma", "vez"),
        ("efeito", "de"),
        ("efeito", "da"),
        ("efeito", "do"),
    )
)
_CAUSE_WORDS: Final = _CAUSES | {first for first, _ in _CAUSE_PAIRS}
HEDGES: Final = _WORDS["hedges"]
_REASONS: Final = _WORDS["reasons"]
_FUTURE: Final = _WORDS["future"]
_WILL: Final = _WORDS["will"]
_MOVES: Final = _WORDS["moves"]
_FORESEEN: Final = _WORDS["foreseen"]
_DENIALS: Final = _WORDS["denials"]
_STATES: Final = _WORDS["states"]
_NAMES: Final = frozenset(word for kind in KINDS for word in kind.words)


_DENYING: Final = _DENIALS | {"nao", "nunca", "nem", "jamais"}


@dataclass
class Claims:
    """Claims of a text, judged by its table."""

    true: set[tuple[int, int]] = field(default_factory=set)
    """Cells of which a comparison is rightly claimed, by row and column."""
    compared: int = 0
    """Right claims."""
    false: list[str] = field(default_factory=list)
    """Wrong claims, by their kind."""
    judged: int = 0
    """Claims that were judged, true or false."""
    causes: int = 0
    """Causes that no table knows."""
    forecasts: int = 0
    denials: int = 0


def read_claims(
    sentence: Sentence, table: Table, advice: int, number_columns: dict[int, int], false_numbers: bool, claims: Claims
) -> None:
    """Judge a sentence's claims.

    Args:
        sentence: The sentence.
        table: The table.
        advice: The place from which the sentence recommends.
        number_columns: The column of the number at each place.
        false_numbers: Whether a number of the sentence is wrong.
        claims: Receives what is found.
    """
    tokens = sentence.tokens
    hedged = sentence.asks or not HEDGES.isdisjoint(tokens)
    for place in range(min(advice, len(tokens))):
        token = tokens[place]
        if token in _INTERESTING:
            _read_claim(place, token, sentence, table, number_columns, hedged, claims)
    if not sentence.heading and not _CAUSE_WORDS.isdisjoint(tokens):
        _read_causes(sentence, table, advice, hedged, number_columns, claims)
    if not _DENYING.isdisjoint(tokens):
        _read_denials(sentence, table, advice, number_columns, claims)


_INTERESTING: Final = (
    _SUPERLATIVE
    | _ABOVE
    | _BELOW
    | _UP
    | _DOWN
    | _BETTER
    | _WORSE
    | _RISES
    | _FALLS
    | _TIED
    | _LIKE
    | _FUTURE
    | _WILL
    | _FORESEEN
    | _WORDS["others"]
)


def _read_claim(
    place: int,
    token: str,
    sentence: Sentence,
    table: Table,
    number_columns: dict[int, int],
    hedged: bool,
    claims: Claims,
) -> None:
    tokens = sentence.tokens
    after = tokens[place + 1 : place + 5]
    following = after[0] if after else ""
    if token in _SUPERLATIVE or token in (
        "mais",
        "menos",
        "ultimo",
        "ultima",
        "primeiro",
        "primeira",
        "fecha",
        "fecham",
    ):
        direction = _direction(place, sentence, table)
        if direction:
            _rank(place, direction, sentence, table, number_columns, claims)
    elif token in _ABOVE or token in _BELOW or (token == "frente" and place and tokens[place - 1] in ("a", "na")):
        high = token in _ABOVE or token == "frente"
        _compare(place, 1 if high else -1, sentence, table, number_columns, claims)
    elif token in ("dobro", "triplo", "metade", "vezes"):
        _multiply(place, token, sentence, table, number_columns, claims)
    elif token in ("terco", "tercos", "quarto", "quartos", "maioria"):
        _share(place, token, sentence, table, number_columns, claims)
    elif token in _UP | _DOWN | _BETTER | _WORSE:
        if not hedged:
            _move(place, token, sentence, table, number_columns, claims)
    elif token in _RISES | _FALLS:
        if (
            following in ("de", "da", "do", "dos", "das", "em", "no", "na") or tokens[place - 1 : place] == ["em"]
        ) and not hedged:
            _move(place, token, sentence, table, number_columns, claims)
    elif (
        token in _TIED
        or (token in _LIKE and not _VALUES.isdisjoint(after[:1]))
        or (token in _LIKE and following in _NAMES)
    ):
        if _NEARLY.isdisjoint(tokens):
            _tie(place, sentence, table, number_columns, claims)
    elif token == "diferenca" and not {"nao", "sem", "nenhuma"}.isdisjoint(tokens[max(0, place - 3) : place]):
        if _NEARLY.isdisjoint(tokens) and not {"grande", "grandes", "muita"} & set(tokens):
            _tie(place, sentence, table, number_columns, claims)
    elif token in _FUTURE and not hedged:
        claims.forecasts += 1
    elif token in _WILL:
        moves = any(word in _MOVES for word in after[:2])
        subject = any(there < place for there, _ in [*sentence.rows, *sentence.columns])
        claims.forecasts += moves and subject and HEDGES.isdisjoint(tokens)
    elif token in _FORESEEN:
        claims.forecasts += not hedged
    elif token in ("sem", "nenhum", "nenhuma", "zero"):
        _none(place, sentence, table, claims)


def _direction(place: int, sentence: Sentence, table: Table) -> int:
    """Return 1 for a claim of the highest, -1 of the lowest, 2 of the best, -2 of the worst, 0 for no claim."""
    tokens = sentence.tokens
    token = tokens[place]
    after = tokens[place + 1] if place + 1 < len(tokens) else ""
    before = tokens[place - 1] if place else ""
    if token in ("mais", "menos"):
        sign = 1 if token == "mais" else -1
        if after in ("de", "que", "do", "da", "um", "uma") or before in ("a", "pouco", "muito", "bem", "ainda", "nada"):
            return sign if after in table.column_words and before != "a" else 0
        if after in _HIGH_ADJECTIVES:
            return sign
        if after in _LOW_ADJECTIVES:
            return -sign
        return sign if after in _NAMES or before in table.column_words else 0
    if token in ("fecha", "fecham"):
        return -1 if {"lista", "fila", "ranking", "tabela"} & set(tokens[place + 1 : place + 4]) else 0
    if token in ("primeiro", "primeira"):
        return 1 if after == "lugar" or before == "em" else 0
    if token in ("ultimo", "ultima"):
        return -1 if after in ("lugar", "posicao", "colocado") or before == "em" else 0
    if after in _NEUTRAL:
        return 0
    return 1 if token in _HIGH else -1 if token in _LOW else 2 if token in _GOOD else -2


def _column_of(place: int, sentence: Sentence, number_columns: dict[int, int], reach: int = 4) -> int | None:
    for there, column in sentence.columns:
        if place < there <= place + reach and not any(
            token in PARTS or token[0].isdigit() for token in sentence.tokens[place + 1 : there]
        ):
            return column
    if place and any(there in (place - 1, place - 2) for there, _ in sentence.columns):
        return next(column for there, column in reversed(sentence.columns) if there < place)
    numbers = [column for there, column in sorted(number_columns.items()) if there < place]
    names = [(there, column) for there, column in sentence.columns if there < place]
    last_number = max((there for there in number_columns if there < place), default=-1)
    if names and names[-1][0] > last_number - 6:
        return names[-1][1] if not numbers or names[-1][0] > last_number else numbers[-1]
    if numbers:
        return numbers[-1]
    if names:
        return names[-1][1]
    later = [column for there, column in sentence.columns if there > place]
    if later:
        return later[0]
    return next((column for _, column in sorted(number_columns.items())), sentence.carried_column)


def _names_no_column(place: int, sentence: Sentence, table: Table) -> bool:
    """Return whether the word after a claim names a column that the table has not."""
    for token in sentence.tokens[place + 1 : place + 4]:
        if token in PARTS or token[0].isdigit():
            return False
        if token in _NAMES:
            return token not in table.column_words
    return False


def _rank(
    place: int, direction: int, sentence: Sentence, table: Table, number_columns: dict[int, int], claims: Claims
) -> None:
    tokens = sentence.tokens
    than = [token for token in tokens[place + 1 : place + 6]]
    if _names_no_column(place, sentence, table):
        claims.false.append("column")
        return
    column = _column_of(place, sentence, number_columns)
    if "que" in than[:4] and tokens[place + 1 + than.index("que") - 1 : place + 1 + than.index("que")] != [","]:
        if any(there > place for there, _ in sentence.rows):
            high = _sign(direction, column, table)
            if high:
                _compare(place, high, sentence, table, number_columns, claims)
            return
    rows = sentence.row_near(place)
    if not rows:
        return
    if column is None:
        _rank_anywhere(direction, rows, sentence.tokens[place], table, claims)
        return
    high = _sign(direction, column, table)
    if not high:
        return
    ranks = [table.rank(row, column, high > 0) for row in rows]
    wanted = len(rows) - 1
    before = tokens[max(0, place - 3) : place]
    window = [*before, *tokens[place + 1 : place + 2]]
    exact: int | None = None
    if not _SECOND.isdisjoint(window):
        exact = 1
    elif not _THIRD.isdisjoint(window):
        exact = 2
    if exact is not None:
        # Equal figures share a rank, so a second is also the second of the leaders.
        good = any(rank in (exact, exact - 1) for rank in ranks) if _tied(rows[0], column, table) else ranks[0] == exact
    elif {"uma", "um", "entre"} & set(before) and tokens[place].endswith("es"):
        good = max(ranks) <= max(1, len(table.names) // 2)
    else:
        good = max(ranks) <= wanted
    negated = "nao" in tokens[max(0, place - 4) : place]
    _judge(good != negated, "rank", rows, column, claims)


def _tied(row: int, column: int, table: Table) -> bool:
    value = table.cells.get((row, column))
    return sum(other == value for (_, place), other in table.cells.items() if place == column) > 1


def _rank_anywhere(direction: int, rows: Sequence[int], token: str, table: Table, claims: Claims) -> None:
    """Judge `lidera`, `o melhor`, `o pior` without a column: true if it is so in any."""
    if token not in _LEADS and abs(direction) != 2:
        return
    good = any(
        table.rank(row, column, sign > 0) < len(rows)
        for row in rows
        for column in range(len(table.columns))
        if (sign := _sign(direction, column, table))
    )
    if not good:
        claims.false.append("rank")


def _sign(direction: int, column: int | None, table: Table) -> int:
    if abs(direction) == 1:
        return direction
    good = table.columns[column].good if column is not None else 0
    return good if direction > 0 else -good


def _judge(good: bool, kind: str, rows: Sequence[int], column: int, claims: Claims) -> None:
    claims.judged += 1
    if good:
        claims.compared += 1
        claims.true.update((row, column) for row in rows)
    else:
        claims.false.append(kind)


def _two_rows(place: int, sentence: Sentence, reach: int = 8) -> tuple[int | None, int | None]:
    """Return the rows before and after a comparison."""
    before = [row for there, row in sentence.rows if there < place]
    after = [row for there, row in sentence.rows if place < there <= place + reach]
    left = before[-1] if before else sentence.carried_row
    return left, after[0] if after else None


def _compare(
    place: int, sign: int, sentence: Sentence, table: Table, number_columns: dict[int, int], claims: Claims
) -> None:
    tokens = sentence.tokens
    left, right = _two_rows(place, sentence)
    column = _column_of(place, sentence, number_columns)
    if tokens[place] in _ABOVE | _BELOW | {"frente"} and column is None:
        column = 0 if len(table.columns) == 1 else None
    if left is None or column is None:
        return
    value = table.cells.get((left, column))
    if value is None:
        return
    window = tokens[place + 1 : place + 5]
    if right is None or right == left:
        if "media" in window and not _numbers_between(place, sentence):
            _judge(sign * (value - table.columns[column].mean) > 0, "mean", [left], column, claims)
        elif {"demais", "outros", "outras", "todos", "todas"} & set(window):
            _judge(table.rank(left, column, sign > 0) == 0, "rank", [left], column, claims)
        return
    other = table.cells.get((right, column))
    if other is None:
        return
    negated = "nao" in tokens[max(0, place - 4) : place]
    _judge((sign * (value - other) > 0) != negated, "comparison", [left], column, claims)


def _numbers_between(place: int, sentence: Sentence) -> bool:
    return any(place < there <= place + 4 for there in sentence.numbers)


def _multiply(
    place: int, token: str, sentence: Sentence, table: Table, number_columns: dict[int, int], claims: Claims
) -> None:
    tokens = sentence.tokens
    left, right = _two_rows(place, sentence, 7)
    before = tokens[max(0, place - 3) : place]
    over = "mais" in before
    nearly = "quase" in before or "menos" in before
    if token == "vezes":
        said = tokens[place - 1] if place else ""
        times = _WORD_NUMBERS.get(said) or (numbers_of(said)[0] if said[:1].isdigit() and numbers_of(said) else 0.0)
    else:
        times = {"dobro": 2.0, "triplo": 3.0, "metade": 0.5}[token]
    if not times or left is None:
        return
    half = token == "metade"
    column = _column_of(place, sentence, number_columns, 5)
    columns = range(len(table.columns)) if column is None else [column]
    ratios = []
    for each in columns:
        value = table.cells.get((left, each), 0.0)
        if right is not None and right != left:
            other = table.cells.get((right, each), 0.0)
            if other:
                ratios.append((value / other, each))
        elif half and table.columns[each].adds_up and table.columns[each].total:
            ratios.append((value / table.columns[each].total, each))
        elif right is None:
            ratios += [
                (value / other, each) for row in range(len(table.names)) if (other := table.cells.get((row, each), 0.0))
            ]
    if not ratios:
        return
    low, high = (1.0, 1.6) if over else (0.75, 1.0) if nearly else (0.87, 1.17)
    good = next((each for ratio, each in ratios if low * times - 0.02 <= ratio <= high * times + 0.02), None)
    if good is None and right is None and not half:
        return
    _judge(good is not None, "ratio", [left], ratios[0][1] if good is None else good, claims)


def _share(
    place: int, token: str, sentence: Sentence, table: Table, number_columns: dict[int, int], claims: Claims
) -> None:
    """Judge `três quartos da receita`, `a maioria dos pedidos`."""
    column = _column_of(place, sentence, number_columns)
    rows = sentence.row_near(place)
    if column is None or not rows or not table.columns[column].adds_up or not table.columns[column].total:
        return
    part = sum(table.cells.get((row, column), 0.0) for row in rows) / table.columns[column].total
    if token == "maioria":
        _judge(part > 0.5, "share", rows, column, claims)
        return
    before = sentence.tokens[place - 1] if place else ""
    count = {"um": 1.0, "dois": 2.0, "tres": 3.0}.get(before, 1.0)
    _judge(abs(part - count / (3 if token.startswith("t") else 4)) <= 0.06, "share", rows, column, claims)


_WORD_NUMBERS: Final = {
    "duas": 2.0,
    "tres": 3.0,
    "quatro": 4.0,
    "cinco": 5.0,
    "seis": 6.0,
    "sete": 7.0,
    "oito": 8.0,
    "nove": 9.0,
    "dez": 10.0,
}


def _tie(place: int, sentence: Sentence, table: Table, number_columns: dict[int, int], claims: Claims) -> None:
    column = _column_of(place, sentence, number_columns)
    rows = list(dict.fromkeys(row for _, row in sentence.rows))
    if column is None:
        columns = range(len(table.columns))
    else:
        columns = range(column, column + 1)
    if len(rows) == 1 and sentence.carried_row not in (None, rows[0]) and sentence.from_line:
        rows.append(sentence.carried_row or 0)
    if len(rows) < 2:
        if not {"todos", "todas", "tres", "quatro", "entre"} & set(sentence.tokens):
            return
        rows = list(range(len(table.names)))
    for each in columns:
        if len({table.cells.get((row, each)) for row in rows}) == 1:
            claims.judged += 1
            claims.compared += 1
            claims.true.update((row, each) for row in rows)
            return
    claims.false.append("tie")


def _move(
    place: int, token: str, sentence: Sentence, table: Table, number_columns: dict[int, int], claims: Claims
) -> None:
    """Judge a trend: of the months that the sentence names, else of its month and the one before, else of all."""
    if not table.times:
        if not (set(sentence.tokens) & {"ponto", "pontos"}):
            claims.false.append("trend")
        return
    before = [(there, column) for there, column in sentence.columns if there < place]
    # The subject of a trend stands before its verb, and behind its noun.
    nouns = token in _RISES | _FALLS
    column = before[-1][1] if before and not nouns else _column_of(place, sentence, number_columns)
    if column is None:
        return
    good = table.columns[column].good
    sign = 1 if token in _UP | _RISES else -1 if token in _DOWN | _FALLS else good if token in _BETTER else -good
    rows = list(dict.fromkeys(row for _, row in sentence.rows))
    if not rows and sentence.carried_row is not None and sentence.from_line:
        rows = [sentence.carried_row]
    rows.sort(key=lambda row: table.times[row])
    every = sorted(range(len(table.names)), key=lambda row: table.times[row])
    if len(rows) > 1:
        pairs = [(rows[0], rows[-1])]
    elif rows:
        pairs = [(other, rows[0]) for other in (successive(table, rows[0]), every[0]) if other not in (None, rows[0])]
        pairs = pairs or [(rows[0], every[-1])]
    else:
        pairs = [(every[0], every[-1])]
    good_move = any(
        sign * (table.cells.get((final, column), 0.0) - table.cells.get((start, column), 0.0)) > 0
        for start, final in pairs
        if start is not None
    )
    negated = "nao" in sentence.tokens[max(0, place - 2) : place]
    _judge(good_move != negated, "trend", [final for _, final in pairs], column, claims)


def _none(place: int, sentence: Sentence, table: Table, claims: Claims) -> None:
    """Judge `nenhum atraso`, `sem atrasos`: the cell must be nothing."""
    following = sentence.tokens[place + 1 : place + 2]
    column = table.column_words.get(following[0]) if following else None
    if column is None or table.columns[column].name not in ("atrasos", "pedidos", "receita"):
        return
    for row in sentence.row_near(place)[:1]:
        value = table.cells.get((row, column))
        if value is not None:
            _judge(value == 0, "none", [row], column, claims)


def _read_causes(
    sentence: Sentence, table: Table, advice: int, hedged: bool, number_columns: dict[int, int], claims: Claims
) -> None:
    tokens = sentence.tokens
    for place, token in enumerate(tokens):
        pair = (token, tokens[place + 1] if place + 1 < len(tokens) else "")
        if token not in _CAUSES and pair not in _CAUSE_PAIRS:
            continue
        if hedged and place < advice:
            return
        start = place + (1 if token in _CAUSES else 2)
        end = start
        while end < min(len(tokens), start + 14) and tokens[end] not in PARTS:
            end += 1
        if any(start <= there < end for there in number_columns):
            return
        reason = tokens[start:end]
        known = table.words | table.column_words.keys() | table.row_words.keys() | _REASONS | _SUPERLATIVE
        new = [
            word
            for word in reason
            if word.isalpha() and len(word) > 2 and word not in known and word not in _LIGHT and word not in _VERB_FORMS
        ]
        claims.causes += bool(new)
        return


_VERB_FORMS: Final = frozenset(
    form for verb in read_lexicon("analyst_verbs") for each in verb.split() for form in forms(each)
)
_LIGHT: Final = _WORDS["light"]


def _read_denials(
    sentence: Sentence, table: Table, advice: int, number_columns: dict[int, int], claims: Claims
) -> None:
    tokens = sentence.tokens
    if not _DENIALS.isdisjoint(tokens):
        claims.denials += 1
        return
    for place, token in enumerate(tokens[:advice]):
        if token not in ("nao", "nunca", "nem", "jamais"):
            continue
        verbs = [there for there in range(place + 1, min(place + 4, len(tokens))) if tokens[there] in _STATES]
        if not verbs or any(word in _INTERESTING for word in tokens[place : place + 6] if word not in ("e",)):
            continue
        clause = sentence.clauses[place]
        if any(there > place and sentence.clauses[there] <= clause + 1 for there in number_columns):
            claims.denials += 1
        elif (
            tokens[verbs[0] + 1 : verbs[0] + 2] and (column := table.column_words.get(tokens[verbs[0] + 1])) is not None
        ):
            rows = sentence.row_near(place)
            claims.denials += bool(rows) and table.cells.get((rows[0], column), 0.0) != 0
