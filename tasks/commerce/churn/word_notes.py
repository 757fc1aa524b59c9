"""Notes on a reason's words: what each says by itself and may lead to, found once, as bits of one number."""

from collections.abc import Iterable, Mapping
from typing import Final

from tasks.commerce.churn.claims import needs_met_by
from tasks.commerce.churn.pattern_keys import KEY
from tasks.commerce.churn.spoken import IS, PAUSE, STOP
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.remembered import Remembered
from tasks.commerce.text.text_form import fold, words
from tasks.commerce.text.vocabulary import CLOSED_CLASS, Vocabulary, root, roots

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
_NOTES: Final = 15
BINDS, OTHER, TELLS, WEIGHS, NOUN, LINKS, JUDGES, SPLITS, NEGATES, ORDERS, STATES, QUIET, MEETS, NUMBER, DENIES = (
    1 << place for place in range(_NOTES)
)
"""A function word or mark; a word that is none of an analyst; one that says what no profile does; one that weighs; a
person or thing; one between it and what is said of it; an adjective that judges; a clause's end; a denial; a verb in
the place of an advice that is not in the list; a word that says what a shopper wants, says or does; a function word
with none of these notes; a word that meets a need of a claim; a number; a word that may deny a claim."""
_ONLY: Final = "="
"""Stands before an entry of which no other form tells."""
_LISTED: Final = frozenset(fold(word) for name in ("churn_words", "churn_weighing") for word in read_lexicon(name))
_TOLD: Final = read_lexicon("churn_telling")
_TELLING: Final = frozenset(word for line in (*_TOLD, *read_lexicon("states")) for word in words(line))
_TELLING_ROOTS: Final = frozenset(
    found for line in _TOLD if line[0] != _ONLY for word in words(line) if len(found := root(word)) >= SHORTEST_ROOT
)
_ADVISED_ROOTS: Final = roots(ADVISED)
_NOUNS: Final = (
    *("client", "pesso", "consumid", "comprad", "shopper", "sujeit", "figur", "loj", "produt", "mercadori", "item"),
    *("iten", "encomend", "atendiment"),
)
_LINKING: Final = frozenset(
    (
        *("e", "era", "foi", "esta", "estava", "parece", "veio", "vem", "chegou", "saiu", "ficou", "muito", "muita"),
        *("bem", "tao", "meio", "um", "uma", "mais", "bastante", "pouco", "que", "sem", "tambem", "ser", "se"),
        *("mostra", "mostrou", "do", "tipo", IS),
    )
)
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


def _beginnings() -> dict[str, int]:
    found: dict[str, int] = {}
    for frame, beginnings in _LED_BY.items():
        for word in beginnings.split():
            found[word[:KEY]] = found.get(word[:KEY], 0) | FRAMES[frame]
    return found


_BEGINNINGS: Final = _beginnings()
_BINDING: Final = CLOSED_CLASS | {STOP, PAUSE, IS, ""}


def _noted(*lists: tuple[int, Iterable[str]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for note, listed in lists:
        for word in listed:
            found[word] = found.get(word, 0) | note
    return found


_OF_WORDS: Final = _noted(
    (NOUN, ("ele", "ela")),
    (LINKS, _LINKING),
    (SPLITS, (STOP, PAUSE, "e", "mas", "porem", "porque", "pois")),
    (NEGATES, ("nao", "nunca", "jamais", "nem")),
    (DENIES, ("nao", "nunca", "nem", "sem", "nada", "nenhum", "nenhuma")),
)
_OF_ROOTS: Final = _noted(
    (WEIGHS, (*roots(map(fold, read_lexicon("churn_weighing"))), "isso", "isto")),
    (STATES, roots(map(fold, read_lexicon("churn_stating")))),
    (JUDGES, roots(map(fold, read_lexicon("churn_judgements")))),
)


def _kind(word: str, stem: str) -> int:
    """Return what a folded word is beside claims: harmless, one of an analyst or not, or said of what no profile is."""
    if word in _BINDING:
        return BINDS
    if word in _LISTED:
        return 0
    advises = 0 if stem in _ADVISED_ROOTS else ORDERS
    if not word.isalpha() or word in _TELLING or stem in _TELLING_ROOTS:
        return TELLS | advises
    return advises if stem in HARMLESS.roots else OTHER | advises


def _notes_of(word: str) -> int:
    stem = root(word)
    notes = _kind(word, stem) | _OF_ROOTS.get(stem, 0) | _OF_WORDS.get(word, 0)
    if notes & STATES and word[-1] == "r":
        notes ^= STATES
    if word.startswith(_NOUNS):
        notes |= NOUN
    if notes & ~DENIES == BINDS and word != "que":
        notes |= QUIET
    if word[:1].isdecimal():
        notes |= NUMBER
    for length in range(2, min(KEY, len(word)) + 1):
        notes |= _BEGINNINGS.get(word[:length], 0)
    return notes | MEETS if needs_met_by(word) else notes


NEEDS: Final = Remembered(needs_met_by)
"""The needs of claims that a folded word meets, which are numbers of hundreds of bits; few words meet any."""
NOTES: Final = Remembered(_notes_of)
"""The notes of a folded word: its kind, and the frames to which it leads."""
