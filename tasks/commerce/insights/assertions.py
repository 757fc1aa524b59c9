"""Assertions of a sentence beyond its table's order: trends, absences, causes, forecasts and denials.

A trend needs rows that are months. A table has no causes: what follows `porque` must quote it, or be made of its own
words. Nor has it a future. Careful hypotheses (`pode`, `vale verificar se`) and questions may stand.
"""

from typing import Final

from tasks.commerce.insights.claims import WORDS, Site
from tasks.commerce.insights.sentences import PARTS
from tasks.commerce.insights.speech import forms
from tasks.commerce.insights.table import successive
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.text_form import fold

CAUSE_REACH: Final = 14
"""Words of a cause that are read."""
DATA_FILES: Final = ("data/lexicons/analyst_verbs.txt", "data/lexicons/cause_phrases.txt")
HEDGES: Final = WORDS["hedges"]
NOUNS_OF_TRENDS: Final = WORDS["rises"] | WORDS["falls"]
TRENDS: Final = WORDS["up"] | WORDS["down"] | WORDS["better"] | WORDS["worse"] | NOUNS_OF_TRENDS
_UP: Final = WORDS["up"] | WORDS["rises"]
_DOWN: Final = WORDS["down"] | WORDS["falls"]
_CAUSES: Final = WORDS["causes"]
_CAUSE_PAIRS: Final = frozenset(
    (first, second) for first, second in (fold(line).split()[:2] for line in read_lexicon("cause_phrases"))
)
_APPOSED: Final = frozenset({"resultado", "merito", "produto", "obra", "heranca"})
CAUSING: Final = _CAUSES | {first for first, _ in _CAUSE_PAIRS}
_NEGATIONS: Final = frozenset({"nao", "nunca", "nem", "jamais"})
DENYING: Final = (
    WORDS["denials"]
    | {"confere", "conferem", "bate", "batem", "procede", "procedem", "corresponde", "correspondem"}
    | WORDS["doubts"]
    | _NEGATIONS
)
_VERBS: Final = frozenset(
    form for line in read_lexicon("analyst_verbs") for verb in line.split() for form in forms(verb)
)
_REASONS: Final = (
    WORDS["reasons"] | WORDS["light"] | WORDS["high"] | WORDS["low"] | WORDS["good"] | WORDS["bad"] | _VERBS
)
_STATES: Final = frozenset({"ser", "estar", "ter"})
_MAY_BE_NONE: Final = frozenset({"atrasos", "pedidos", "receita"})


def read_trend(place: int, word: str, site: Site) -> None:
    """Judge a trend: of the months that the sentence names, else of its month and the one before, else of all."""
    if site.hedged or "qualquer" in site.words_before(place, 2):
        return
    if word in NOUNS_OF_TRENDS and not _is_trend(place, site):
        return
    table = site.table
    if not table.times:
        following = site.words_after(place, 2)
        says_level = following[:1] in (["para"], ["a"], ["ate"]) and following[1:] and following[1][0] in "0123456789r"
        if len({row for there, row in site.sentence.rows if there > place}) > 1 and following[:1] == ["de"]:
            return  # `Cai de R$ 123 no crédito para R$ 101 no débito` compares rows.
        if not _TOGETHER.isdisjoint(following):
            return  # `O frete cresce junto com o volume` is of rows.
        if {"ponto", "pontos"}.isdisjoint(site.sentence.tokens) and not says_level:
            site.claims.false.append("trend")
        return
    # The subject of a trend stands before its verb, and behind its noun.
    before = [column for there, column in site.sentence.columns if there < place]
    column = before[-1] if before and word not in NOUNS_OF_TRENDS else site.column_of(place)
    if column is None:
        return
    good = table.columns[column].good
    sign = 1 if word in _UP else -1 if word in _DOWN else good if word in WORDS["better"] else -good
    pairs = _months_compared(place, word, site)
    moved = any(
        sign * (table.cells.get((final, column), 0.0) - table.cells.get((start, column), 0.0)) > 0
        for start, final in pairs
    )
    denied = "nao" in site.words_before(place, 2)
    site.claims.judge(moved != denied, "trend", [final for _, final in pairs], column)


def _is_trend(place: int, site: Site) -> bool:
    """Return whether `alta` is a rise and no adjective."""
    following = "".join(site.words_after(place, 1))
    if "mais" in site.words_before(place, 1):
        return False
    return following in ("de", "da", "do", "dos", "das", "em", "no", "na") or site.words_before(place, 1) == ["em"]


def _months_compared(place: int, word: str, site: Site) -> list[tuple[int, int]]:
    sentence, times = site.sentence, site.table.times
    own = _months_of_its_own(place, word, site)
    if own:
        return [own]
    rows = sorted({row for _, row in sentence.rows}, key=times.__getitem__)
    if not rows and sentence.from_line and sentence.carried_row is not None:
        rows = [sentence.carried_row]
    every = sorted(range(len(times)), key=times.__getitem__)
    if len(rows) > 1:
        return [(rows[0], rows[-1])]
    if rows and not _SINCE.isdisjoint(sentence.tokens[place + 1 :]):
        return [(rows[0], every[-1])]
    if rows and not _BESIDE.isdisjoint(sentence.tokens[place + 1 : place + 8]):
        carried = sentence.carried_row if sentence.from_line else None
        return [(rows[0], each) for each in every if times[each] > times[rows[0]] and carried in (None, each)]
    if not rows:
        return [(every[0], every[-1])]
    earlier = [other for other in (successive(site.table, rows[0]), every[0]) if other is not None and other != rows[0]]
    return [(other, rows[0]) for other in earlier] or [(rows[0], every[-1])]


_SINCE: Final = frozenset({"desde", "depois", "apos"})
_BESIDE: Final = frozenset({"sobre", "ante", "contra", "relacao", "frente"})
_TOGETHER: Final = frozenset({"com", "como", "conforme", "junto"})


def _months_of_its_own(place: int, word: str, site: Site) -> tuple[int, int] | None:
    """Return the months of one of several trends: `subiu em abril e recuou em maio`, `com leve baixa em abril`."""
    sentence = site.sentence
    if word in NOUNS_OF_TRENDS:
        month = next((row for there, row in sentence.rows if place < there <= place + 2), None)
        before = None if month is None else successive(site.table, month)
        if month is not None and before is not None:
            return before, month
    trends = [there for there, token in enumerate(sentence.tokens) if token in TRENDS]
    if len(trends) < 2:
        return None
    end = next((there for there in trends if there > place), len(sentence.tokens))
    own = [row for there, row in sentence.rows if place < there < end]
    if len(own) == 1:
        own = [row for there, row in sentence.rows if there < place][-1:] + own
    return (own[0], own[-1]) if len(own) > 1 else None


def read_none(place: int, word: str, site: Site) -> None:
    """Judge `nenhum atraso`, `sem atrasos`: the cell must be nothing."""
    following = site.words_after(place, 3)
    if word == "nao" and not _HAS.isdisjoint(following[:1]):
        following = following[1:]
    if word == "nao" and (not _LATE.intersection(following[:1]) or not _DEGREES.isdisjoint(following[1:2])):
        return  # `Não atrasa tanto` is no claim of none.
    # `Nenhum pedido atrasou` is of another column than orders.
    said = next((each for each in following if each in _LATE), "".join(following[:1]))
    column = site.table.column_words.get(said)
    rows = site.sentence.row_near(place)[:1]
    if column is None or site.table.columns[column].name not in _MAY_BE_NONE or not rows:
        return
    value = site.table.cells.get((rows[0], column))
    if value is not None:
        site.claims.judge(value == 0, "none", rows, column)


_HAS: Final = frozenset({"tem", "teve", "ha", "houve", "registra", "registrou"})
_DEGREES: Final = frozenset({"tanto", "mais", "muito", "menos", "so", "pouco", "nem"})
_LATE: Final = frozenset({"atrasa", "atrasam", "atrasaram", "atraso", "atrasos", "atrasou", "atrasado", "atrasada"})


def read_forecast(place: int, word: str, site: Site) -> None:
    """Count what figures will do: `a receita vai crescer`, `subirá`, `a previsão`."""
    if word in WORDS["will"]:
        sentence = site.sentence
        following = site.words_after(place, 2)
        moves = any(each in WORDS["moves"] for each in following)
        if word in ("deve", "devem") and not _STATES.isdisjoint(following):
            return  # `o problema deve ser outro` is a conjecture.
        subject = any(there < place for there, _ in (*sentence.rows, *sentence.columns))
        site.claims.forecasts += moves and subject and HEDGES.isdisjoint(sentence.tokens)
    elif not site.hedged:
        site.claims.forecasts += 1


def read_cause(advice: int, site: Site) -> None:
    """Count the first cause of a sentence, unless it quotes the table or is made of its words.

    Args:
        advice: The place from which the sentence recommends.
        site: The sentence.
    """
    tokens = site.sentence.tokens
    for place, word in enumerate(tokens):
        if word not in _CAUSES and (word, "".join(site.words_after(place, 1))) not in _CAUSE_PAIRS:
            continue
        if word in _APPOSED and (not place or tokens[place - 1] not in PARTS):
            continue  # `O resultado de julho` is no cause, `..., resultado de uma campanha` is one.
        if (site.hedged and place < advice) or "".join(site.words_after(place, 1)) in ("qualquer", "cada"):
            return
        start = end = place + (1 if word in _CAUSES else 2)
        while end < min(len(tokens), start + CAUSE_REACH) and tokens[end] not in PARTS:
            end += 1
        if not any(start <= there < end for there in site.number_columns):
            site.claims.causes += any(_is_new(each, site) for each in tokens[start:end])
        return


def _is_new(word: str, site: Site) -> bool:
    """Return whether a cause says what a table does not."""
    table = site.table
    return (
        word.isalpha()
        and len(word) > 2
        and word not in _REASONS
        and word not in table.words
        and word not in table.column_words
        and word not in table.row_words
    )


def read_denial(advice: int, site: Site) -> None:
    """Count denials of figures: `isso é falso`, `SP não tem 3,5%`.

    Args:
        advice: The place from which the sentence recommends.
        site: The sentence.
    """
    tokens = site.sentence.tokens
    stated = tokens[: advice + 1]
    # `A partir de certo valor` doubts nothing.
    doubting = [word for place, word in enumerate(tokens) if word in WORDS["doubts"] and not _is_some(place, tokens)]
    doubts = bool(doubting) and not WORDS["doubted"].isdisjoint(tokens)
    checks = not _CHECKS.isdisjoint(tokens) and not _NOTHING.isdisjoint(tokens)
    if doubts or checks or not WORDS["denials"].isdisjoint(stated):
        site.claims.denials += 1
        return
    site.claims.denials += any(
        _denies(place, site) for place in range(min(advice, len(tokens))) if tokens[place] in _NEGATIONS
    )


def _is_some(place: int, tokens: list[str]) -> bool:
    return tokens[place] in ("certo", "certos") and tokens[place - 1 : place] == ["de"]


_CHECKS: Final = frozenset(
    {"confere", "conferem", "bate", "batem", "procede", "procedem", "corresponde", "correspondem"}
)
_NOTHING: Final = _NEGATIONS | {"nada", "nenhum", "nenhuma"}
_OTHER_CLAIMS: Final = TRENDS.union(
    *(WORDS[name] for name in ("high", "low", "good", "bad", "above", "below", "tied", "like", "will", "others"))
)


def _denies(place: int, site: Site) -> bool:
    """Return whether a negation denies a right number behind it, or a column that its row has."""
    sentence = site.sentence
    tokens = sentence.tokens
    verb = next(
        (
            there
            for there in range(place + 1, min(place + 4, len(tokens)))
            # What looks like `é` joins, unless it stands right behind the negation.
            if tokens[there] in WORDS["states"] and (tokens[there] != "e" or there == place + 1)
        ),
        None,
    )
    if verb is None or not _OTHER_CLAIMS.isdisjoint(tokens[place : place + 6]):
        return False
    clause = sentence.clauses[place]
    column = site.table.column_words.get("".join(site.words_after(verb, 1)))
    rows = sentence.row_near(place)
    if column is not None and rows and site.table.cells.get((rows[0], column)) == 0:
        return False  # `Não teve atraso (0,0%)`.
    if any(there > place and sentence.clauses[there] <= clause + 1 for there in site.number_columns):
        return True
    return column is not None and bool(rows) and site.table.cells.get((rows[0], column), 0.0) != 0
