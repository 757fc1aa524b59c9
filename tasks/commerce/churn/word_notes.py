"""Notes on a reason's words: what each says by itself and may lead to, found once, as bits of one number."""

from collections.abc import Mapping
from typing import Final

from tasks.commerce.churn.claims import needs_met_by
from tasks.commerce.churn.pattern_keys import KEY
from tasks.commerce.churn.spoken import IS, PAUSE, STOP
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.remembered import Remembered
from tasks.commerce.text.text_form import fold, words
from tasks.commerce.text.vocabulary import CLOSED_CLASS, Vocabulary, root

DATA_FILES: Final = (
    "data/lexicons/churn_advice.txt",
    "data/lexicons/churn_judgements.txt",
    "data/lexicons/churn_stating.txt",
    "data/lexicons/churn_telling.txt",
    "data/lexicons/churn_weighing.txt",
    "data/lexicons/churn_words.txt",
    "data/lexicons/states.txt",
)
HARMLESS: Final = Vocabulary("churn_words", "churn_weighing")
"""Words that say nothing of a shopper which their profile would have to bear."""
ADVISED: Final = frozenset(map(fold, read_lexicon("churn_advice")))
"""What a manager may be advised to do."""
SHORTEST_ROOT: Final = 4
"""Letters of a root that words of one meaning share alone."""
BINDS, OTHER, TELLS, WEIGHS, NOUN, LINKS, JUDGES, SPLITS, NEGATES, ORDERS, STATES = (1 << place for place in range(11))
"""A function word or mark; a word that is none of an analyst; one that says what no profile does; one that weighs; a
person or thing; one between it and what is said of it; an adjective that judges; a clause's end; a denial; a verb in
the place of an advice that is not in the list; a word that says what a shopper wants, says or does."""
_NOTES: Final = 11
_ONLY: Final = "="
"""Stands before an entry of which no other form tells."""
_LISTED: Final = frozenset(fold(word) for name in ("churn_words", "churn_weighing") for word in read_lexicon(name))
_WEIGHING: Final = frozenset(root(fold(word)) for word in read_lexicon("churn_weighing")) | {"isso", "isto"}
_STATING: Final = frozenset(root(fold(word)) for word in read_lexicon("churn_stating"))
_ADVISED_ROOTS: Final = frozenset(map(root, ADVISED))
_TOLD: Final = read_lexicon("churn_telling")
_TELLING: Final = frozenset(word for line in (*_TOLD, *read_lexicon("states")) for word in words(line))
_TELLING_ROOTS: Final = frozenset(
    found for line in _TOLD if line[0] != _ONLY for word in words(line) if len(found := root(word)) >= SHORTEST_ROOT
)
_JUDGING: Final = frozenset(root(fold(word)) for word in read_lexicon("churn_judgements"))
_NOUNS: Final = (
    *("client", "pesso", "consumid", "comprad", "shopper", "sujeit", "figur", "loj", "produt", "mercadori", "item"),
    *("iten", "encomend", "atendiment"),
)
_PERSONS: Final = frozenset(("ele", "ela"))
_LINKING: Final = frozenset(
    (
        *("e", "era", "foi", "esta", "estava", "parece", "veio", "vem", "chegou", "saiu", "ficou", "muito", "muita"),
        *("bem", "tao", "meio", "um", "uma", "mais", "bastante", "pouco", "que", "sem", "tambem", "ser", "se"),
        *("mostra", "mostrou", "do", "tipo", IS),
    )
)
_SPLITTING: Final = frozenset((STOP, PAUSE, "e", "mas", "porem", "porque", "pois"))
_NEGATIONS: Final = frozenset(("nao", "nunca", "jamais", "nem"))
_LED_BY: Final[Mapping[str, str]] = {
    "shop": "loja",
    "others": "outr demais maior media resto metade acima abaix como entre que",
    "advice": (
        "convem cabe vale compensa melhor basta recomend sugir sugeri aconselh bom preciso hora necess importan "
        "prudent urgent precisamos devemos podemos vamos temos tem"
    ),
    "cause": "porque pois ja visto vez causa devido razao conta gracas por portanto",
    "change": (
        "aument cresc subi sobe melhor ascen ampli evolu diminu cai queda reduz reduc pior baix despenc declin cada "
        "dobr triplic"
    ),
    "habit": "tod cada ao por no na mensal semanal diari quinzenal anual",
    "payment": "pag parcel prestac boleto",
    "purpose": "para pra",
    "arrival": "cheg receb entreg maos",
    "orders": (
        "tod sempre amb cada ultim primeir segund terceir quart quint sext nos nas os as nao nunca jamais nem deixou"
    ),
    "turns": "mas porem contudo entretanto todavia tanto so apesar embora mesmo ainda se por nao despeito",
}
"""Beginnings of the words without which a frame (`faults`) cannot be in a text."""
FRAMES: Final = {frame: 1 << (_NOTES + place) for place, frame in enumerate(_LED_BY)}
_ALL: Final = _NOTES + len(_LED_BY)


def _beginnings() -> dict[str, int]:
    found: dict[str, int] = {}
    for frame, beginnings in _LED_BY.items():
        for word in beginnings.split():
            found[word[:KEY]] = found.get(word[:KEY], 0) | FRAMES[frame]
    return found


_BEGINNINGS: Final = _beginnings()


def _kind(word: str, stem: str) -> int:
    """Return what a folded word is beside claims: harmless, one of an analyst or not, or said of what no profile is."""
    if word in CLOSED_CLASS or word in (STOP, PAUSE, IS, ""):
        return BINDS
    if word in _LISTED:
        return 0
    advises = 0 if stem in _ADVISED_ROOTS else ORDERS
    if not word.isalpha() or word in _TELLING or stem in _TELLING_ROOTS:
        return TELLS | advises
    return advises if word in HARMLESS else OTHER | advises


def _notes_of(word: str) -> int:
    stem = root(word)
    notes = needs_met_by(word) << _ALL | _kind(word, stem)
    for length in range(2, KEY + 1):
        notes |= _BEGINNINGS.get(word[:length], 0)
    for note, holds in (
        (WEIGHS, stem in _WEIGHING),
        (STATES, stem in _STATING and word[-1:] != "r"),
        (NOUN, word in _PERSONS or word.startswith(_NOUNS)),
        (LINKS, word in _LINKING),
        (JUDGES, stem in _JUDGING),
        (SPLITS, word in _SPLITTING),
        (NEGATES, word in _NEGATIONS),
    ):
        notes |= note * holds
    return notes


NOTES: Final = Remembered(_notes_of)
"""The notes of a folded word: its kind, the frames to which it leads and the needs of claims that it meets."""


def needs_of(notes: int) -> int:
    """Return the needs of claims among notes."""
    return notes >> _ALL
