"""Inventions of an analysis: what no table of figures can know, said as a fact.

Each is a general form: what an actor does (`os clientes reclamam`), a comparison with something outside the table
(`abaixo da meta`), a scope that a figure has not (`1.940 pedidos no interior`), an effect that advice guarantees
(`reduzir o frete triplica as vendas`), and an event of the past inside advice (`o motorista que saiu`).
"""

from collections.abc import Sequence
from itertools import pairwise, takewhile
from typing import Final

from tasks.commerce.insights.claims import NAMES
from tasks.commerce.insights.claims import WORDS as CLAIM_WORDS
from tasks.commerce.insights.sentences import PARTS, AnalysisSentence
from tasks.commerce.insights.speech import VERDICTS, forms, verbs_of, word_classes
from tasks.commerce.insights.table import SHORT_MONTHS, Table
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.remembered import Remembered
from tasks.commerce.text.text_form import FUNCTION_WORDS, fold
from tasks.commerce.text.vocabulary import CLOSED_CLASS

DATA_FILES: Final = ("data/lexicons/assertion_words.txt",)
REACH: Final = 4
"""Words between an actor and its verb, or a comparison and what it compares with."""
ASKED: Final = 4
"""Words with which a question begins that takes for granted what it says."""
TOLD: Final = 8
"""Words of a clause of a place or a time that are read."""
SCOPE_REACH: Final = 6
"""Words behind a figure among which its scope is looked for."""
_WORDS: Final = word_classes("assertion_words")
_ACTORS: Final = _WORDS["actors"]
_FREE: Final = _WORDS["free"]
_SCOPES: Final = _WORDS["scopes"]
_COMPARANDS: Final = _WORDS["comparands"]
_EFFECTS: Final = _WORDS["effects"]
_ASKING: Final = _WORDS["asking"]
_AFTER: Final = _WORDS["after"]
_MAY_TELL: Final = _WORDS["telling"] | _WORDS["driven"]
_DRIVEN: Final = _WORDS["driven"]
_BY: Final = frozenset({"por", "pelo", "pela", "pelos", "pelas"})
_ORDINARY: Final = CLOSED_CLASS.union(
    *CLAIM_WORDS.values(), *word_classes("figure_words").values(), NAMES, VERDICTS, _WORDS["relating"]
) | frozenset(SHORT_MONTHS.values())
"""Words with which a clause tells nothing beyond its table."""
_PROVEN: Final = _WORDS["proven"]
_WILL: Final = CLAIM_WORDS["will"]
_MOVES: Final = CLAIM_WORDS["moves"] - {"ser", "ter", "ficar", "passar", "continuar", "seguir"}
_NUMERALS: Final = _WORDS["numerals"]
_OUTSIDE: Final = _WORDS["outside"]
_UNMEASURED: Final = _WORDS["unmeasured"]
_KINDS: Final = _WORDS["kinds"]
_SUPPOSING: Final = CLAIM_WORDS["hedges"] | _FREE
_BEYOND: Final = _WORDS["beyond"]
_NOUNS: Final = frozenset(
    fold(word) for line in read_lexicon("analyst_words") for word in line.replace("-", " ").split()
)
_INFINITIVES: Final = frozenset(
    fold(verb)
    for verb in (
        *(verb for _, verbs in verbs_of("advice_verbs") for verb in verbs),
        *(verb for line in read_lexicon("analyst_verbs") for verb in line.split()),
    )
)
_TENSES: Final = tuple(_WORDS["tenses"])
_LISTED: Final = frozenset(form for verb in _INFINITIVES for form in forms(verb) if form.endswith(_TENSES))
_FINITE_ENDINGS: Final = ("am", "ou", "eram", "iram", "iu", "eem")
_MORE_FINITE: Final = _WORDS["finite"]


def _is_finite(word: str) -> bool:
    """Return whether a word is a verb of the third person; a noun that looks like one is none."""
    if word in _MORE_FINITE:
        return True
    looks = word in _LISTED or (len(word) > 4 and word.endswith(_FINITE_ENDINGS))
    return looks and word not in _NOUNS and word not in FUNCTION_WORDS


_FINITE: Final = Remembered(_is_finite)
_MODALS: Final = frozenset({"pode", "podem", "poderia", "poderiam", "deve", "devem", "deveria", "precisa", "precisam"})
_ARTICLES: Final = frozenset({"o", "a", "os", "as", "um", "uma", "seus", "nossos", "nossa", "nosso", "esses", "muitos"})
_BEGINNINGS: Final = frozenset({"e", "mas", "porem", "enquanto", "ja", "porque"})
_PAST: Final = ("ou", "aram", "eram", "iram", "iu", "eu")
_NO_PAST: Final = frozenset({"ou", "meu", "seu", "teu", "europeu"})
_OF: Final = frozenset({"de", "da", "do", "das", "dos", "no", "na", "a", "ao", "nos", "nas"})
_SCOPING: Final = _WORDS["scoping"]
_SMALL: Final = FUNCTION_WORDS | frozenset({"so", "apenas", "somente", "quase", "cerca", "uns", "umas"})


def _is_marked(word: str) -> bool:
    return (
        word in _WILL
        or word in _BEYOND
        or word in _ACTORS
        or word in _COMPARANDS
        or word in _EFFECTS
        or word in _NUMERALS
        or word in _OUTSIDE
        or word in _KINDS
    )


_MARKED: Final = Remembered(_is_marked)


def inventions(sentence: AnalysisSentence, table: Table, start: int, judged: bool) -> int:
    """Count what a sentence states that its table cannot know.

    Args:
        sentence: The sentence.
        table: The table.
        start: The place from which it recommends.
        judged: Whether a number or a claim of it was judged.
    """
    tokens = sentence.tokens
    presumes = _presumes(sentence)
    found = int("que" in tokens[start:] and _tells_a_past(tokens, start))
    found += _states_the_unmeasured(sentence, table, start, presumes)
    for place in [place for place, word in enumerate(tokens) if _MARKED[word]]:
        word = tokens[place]
        if word in _BEYOND and place < start:
            found += word != "nunca" or "antes" in tokens[place + 1 : place + 3]
        if word in _OUTSIDE and place < start:
            found += _compares_outside(tokens, place)
        if word in _ACTORS and (presumes or not (judged and _is_proved(sentence, place))):
            found += _acts(sentence, place, start, presumes, table)
        if word in _KINDS and place < start:
            found += tokens[max(0, place - 1)] in _ACTORS
        elif word in _EFFECTS and start < place:
            found += not _supposes(tokens, place, start) and tokens[place - 1] not in ("que", "nao")
        elif word in _WILL and start < place:
            found += not _supposes(tokens, place, start) and not _MOVES.isdisjoint(tokens[place + 1 : place + 3])
        elif word in _NUMERALS and "desconto" not in tokens:
            following = "".join(tokens[place + 1 : place + 2])
            found += place >= start and (following in _ACTORS or following == "por")
        elif word in _COMPARANDS and place < start:
            found += _compares_beyond(tokens, place, table)
    return found


def _states_the_unmeasured(sentence: AnalysisSentence, table: Table, start: int, presumes: bool) -> int:
    """Count what no table measures in the words before advice, unless they ask or suppose: events, people's moods."""
    stated = sentence.tokens if presumes else sentence.tokens[:start]
    if (sentence.asks and not presumes) or not _SUPPOSING.isdisjoint(stated):
        return 0
    found = _sways(stated) + any(word in _UNMEASURED and word not in table.words for word in stated)
    return found or (not sentence.asks and not sentence.heading and _tells(stated, table))


def _presumes(sentence: AnalysisSentence) -> bool:
    """Return whether a question takes for granted what it says: `por que os clientes odeiam a loja?`."""
    if not sentence.asks:
        return False
    opening = sentence.tokens[:ASKED]
    return ("por", "que") in pairwise(opening) or not _ASKING.isdisjoint(opening)


def _tells(stated: Sequence[str], table: Table) -> bool:
    """Return whether a clause of a place or a time tells what is none of the table's: `onde o dono mudou`."""
    for place in [place for place, word in enumerate(stated) if word in _MAY_TELL]:
        clause = list(takewhile(lambda word: word not in PARTS, stated[place + 1 :]))[:TOLD]
        if stated[place] in _DRIVEN:
            tells = not _BY.isdisjoint(clause[:1])
        elif stated[place] in _AFTER:
            tells = _INFINITIVES.isdisjoint(clause)
        else:
            tells = any(map(_FINITE.__getitem__, clause))
        if (
            tells
            and not any(word[0].isdigit() for word in clause)
            and any(not _is_measured(word, table) for word in clause)
        ):
            return True
    return False


def _is_measured(word: str, table: Table) -> bool:
    return len(word) < 4 or word in _ORDINARY or _belongs(word, table)


def _supposes(tokens: Sequence[str], place: int, start: int) -> bool:
    """Return whether what is said at a place is a condition, or a question that is to be looked into."""
    asked = tokens[start:place]
    return not (_FREE.isdisjoint(tokens[:place]) and _ASKING.isdisjoint(asked)) or ("por", "que") in pairwise(asked)


def _acts(sentence: AnalysisSentence, place: int, start: int, presumes: bool, table: Table) -> bool:
    """Return whether an actor is said to do something, outside of questions and conditions."""
    tokens = sentence.tokens
    first = place
    while first and tokens[first - 1] in _ARTICLES:
        first -= 1
    before = tokens[first - 1] if first else ","
    begins = before in PARTS or before in _BEGINNINGS or (before == "que" and sentence.asks)
    if not (begins or (presumes and first <= ASKED)) or _supposes(tokens, place, start):
        return False
    for there, word in enumerate(tokens[place + 1 : place + 3 + REACH]):
        if word in PARTS or word in _MODALS or (word == "e" and there):
            return False
        if _FINITE[word]:
            return not (sentence.asks and word in table.column_words)
    return False


def _is_proved(sentence: AnalysisSentence, place: int) -> bool:
    """Return whether a figure or a row stands in the part of a sentence that begins at a place, or before it there."""
    clause = sentence.clauses[place]
    end = sentence.clauses.index(clause + 1) if clause + 1 in sentence.clauses else 0
    if end and sentence.tokens[end] in (":", "(") and any(end < there <= end + 2 for there in sentence.numbers):
        return True  # `Os clientes gostam: 4,5`.
    named = [*(there for there, _ in sentence.rows), *sentence.numbers]
    joined = max((there for there in range(place) if sentence.tokens[there] == "e"), default=-1)
    return any(sentence.clauses[there] == clause and there > joined for there in named)


def _sways(tokens: Sequence[str]) -> bool:
    """Return whether a figure is said to move people, which no table shows: `o frete afasta os compradores`."""
    for place, word in enumerate(tokens):
        if word in _SWAYING:
            following = tokens[place + 1 : place + 5]
            if not _ACTORS.isdisjoint(following) and _EVEN.isdisjoint(following):
                return True
    return False


_SWAYING: Final = frozenset(
    form for verb in _WORDS["sways"] for form in forms(verb) if form.endswith(_TENSES) or form in ("fez", "faz", "leva")
)
_EVEN: Final = frozenset({"mais", "menos", "de", "do", "da", "dos", "das"})


def _compares_outside(tokens: Sequence[str], place: int) -> bool:
    """Return whether `a meta`, `o mercado` is what a figure is compared with."""
    before = tokens[max(0, place - 4) : place]
    return not (_COMPARANDS | _AGAINST).isdisjoint(before) or {"que", "o"}.issubset(before)


_AGAINST: Final = frozenset({"media", "contra", "ante", "versus"})


def _compares_beyond(tokens: Sequence[str], place: int, table: Table) -> bool:
    """Return whether something is said to be above, twice or due to what is none of the table's."""
    for word in tokens[place + 1 : place + 1 + REACH]:
        if word in PARTS or word[0].isdigit():
            return False
        if word in _SMALL or word in _OF:
            continue
        return not (_belongs(word, table) or word in _OUTSIDE)
    return False


def _belongs(word: str, table: Table) -> bool:
    return word in _SCOPES or word in table.names_of_words or word in table.words or word[0].isdigit()


def scoped(sentence: AnalysisSentence, table: Table, start: int, given: frozenset[str]) -> int:
    """Count the figures that a sentence narrows to what its table has not: `120 pedidos no interior`.

    Args:
        sentence: The sentence.
        table: The table.
        start: The place from which it recommends.
        given: Words of the prompt.
    """
    return sum(_is_scoped(_behind(number + 1, start, sentence, table), table, given) for number in sentence.numbers)


def _behind(place: int, start: int, sentence: AnalysisSentence, table: Table) -> Sequence[str]:
    """Return the words behind a figure, its unit and its column."""
    tokens = sentence.tokens
    if tokens[place : place + 2] == ["por", "cento"]:
        place += 2
    while place < start and (tokens[place] in _UNITS or tokens[place] in table.column_words):
        place += 1
    if tokens[place : place + 1] == ["de"] and "".join(tokens[place + 1 : place + 2]) in table.column_words:
        place += 2
    while place < start and tokens[place] == ",":
        place += 1
    return tokens[place : min(start, place + SCOPE_REACH)]


def _is_scoped(words: Sequence[str], table: Table, given: frozenset[str]) -> bool:
    if not words or words[0] not in _SCOPING or not table.row_words.keys().isdisjoint(words):
        return False
    for word in words:
        if word in PARTS or word[0].isdigit() or word in ("e", "que"):
            return False
        if word not in _PASSED:
            return not _belongs(word, table) and word not in given and word not in _QUALITIES
    return False


_UNITS: Final = frozenset({"%", "mil", "reais", "r$"})
_PASSED: Final = _SMALL | _SCOPING | _INFINITIVES | frozenset(SHORT_MONTHS.values())
_QUALITIES: Final = _WORDS["good"] | _WORDS["bad"] | _WORDS["qualities"]


def _tells_a_past(tokens: Sequence[str], start: int) -> bool:
    """Return whether advice tells of an event that no table knows: `o motorista que saiu`."""
    for place in range(start + 1, len(tokens)):
        if tokens[place] == "que" and tokens[place - 1] not in ("o", "do", "de", "para", "ao", "no"):
            for word in tokens[place + 1 : place + 4]:
                if word in PARTS:
                    break
                if (word.endswith(_PAST) and len(word) > 3 and word not in _NO_PAST) or word == "fez":
                    return word not in _PROVEN
    return False


def wrong_verdicts(sentence: AnalysisSentence, table: Table, cells: Sequence[tuple[int, int]]) -> int:
    """Count a good word on the worst of a column, or a bad one on the best, where the sentence has no other figure."""
    tokens = sentence.tokens
    label = next((word for word, following in pairwise(tokens[:3]) if following == ":"), "")
    good = label in _WORDS["good_labels"] or not _WORDS["good"].isdisjoint(tokens)
    bad = label in _WORDS["bad_labels"] or not _WORDS["bad"].isdisjoint(tokens)
    if good == bad or not cells or len(table.names) < 3 or not _WORDS["but"].isdisjoint(tokens) or "nao" in tokens:
        return 0
    for row, column in cells:
        known = table.columns[column]
        if not known.good or known.highest == known.lowest:
            return 0
        if table.rank(row, column, (known.good > 0) != good):
            return 0
    return 1
