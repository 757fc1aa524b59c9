"""Reader of a sentence's claims: which word claims what."""

from collections.abc import Callable, Mapping
from typing import Final

from tasks.commerce.insights.assertions import (
    CAUSING,
    DENYING,
    HEDGES,
    TRENDS,
    read_cause,
    read_denial,
    read_forecast,
    read_none,
    read_trend,
)
from tasks.commerce.insights.claims import WORDS, Claims, Site
from tasks.commerce.insights.comparisons import (
    PARTS_OF_ALL,
    TIMES,
    read_multiple,
    read_parts,
    read_share,
    read_side,
    read_tie,
)
from tasks.commerce.insights.figures import Figures
from tasks.commerce.insights.ranks import RANKING, read_rank
from tasks.commerce.insights.sentences import AnalysisSentence
from tasks.commerce.insights.table import Table

_Reader = Callable[[int, str, Site], None]
_READERS: Final[Mapping[str, _Reader]] = {
    word: reader
    for words, reader in (
        (WORDS["will"] | WORDS["future"] | WORDS["foreseen"], read_forecast),
        (frozenset({"sem", "nenhum", "nenhuma", "zero", "nao"}), read_none),
        (WORDS["tied"] | WORDS["like"] | {"diferenca"}, read_tie),
        (TRENDS, read_trend),
        (PARTS_OF_ALL.keys() | {"maioria"}, read_share),
        (frozenset({"cada"}), read_parts),
        (TIMES.keys() | {"vezes"}, read_multiple),
        (WORDS["above"] | WORDS["below"] | {"frente"}, read_side),
        (RANKING, read_rank),
    )
    for word in words
}


def read_claims(sentence: AnalysisSentence, table: Table, advice: int, figures: Figures, claims: Claims) -> None:
    """Judge a sentence's claims.

    Args:
        sentence: The sentence.
        table: The table.
        advice: The place from which the sentence recommends.
        figures: Its numbers.
        claims: Receives what is found.
    """
    tokens = sentence.tokens
    if _CLAIMING.isdisjoint(tokens):
        return
    site = Site(sentence, table, figures.columns, figures.rows, sentence.asks or not HEDGES.isdisjoint(tokens), claims)
    for place, word in enumerate(tokens[:advice]):
        reader = _READERS.get(word)
        if reader:
            reader(place, word, site)
    if not sentence.heading and not CAUSING.isdisjoint(tokens):
        read_cause(advice, site)
    if not DENYING.isdisjoint(tokens):
        read_denial(advice, site)


_CLAIMING: Final = _READERS.keys() | CAUSING | DENYING
