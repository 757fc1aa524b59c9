"""Words of a reason that no claim has taken, read once: clause by clause, they may weigh, but state nothing."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from tasks.commerce.churn.claims import TAKEN, said_value
from tasks.commerce.churn.shopper import ProfiledShopper
from tasks.commerce.churn.spoken import IS, PAUSE, STOP
from tasks.commerce.churn.word_notes import (
    BINDS,
    JUDGES,
    LINKS,
    NEGATES,
    NOTES,
    NOUN,
    ORDERS,
    OTHER,
    SPLITS,
    STATES,
    TELLS,
    WEIGHS,
)
from tasks.commerce.text.vocabulary import root

FEWEST_WORDS: Final = 3
"""Words of a clause or sentence that states something."""
STATED_COSTS: Final = 3
"""Words of no analyst as which it counts where all its words are listed."""
_GIVES: Final = frozenset(("oferecer", "enviar", "mandar", "dar", "apresentar", "propor"))
_GIFTS: Final = frozenset(("cupom", "desconto", "brinde", "oferta", "promocao"))
"""What a manager may be advised to give, though no profile tells of it."""


class Left(NamedTuple):
    """What no claim has taken of a text."""

    faults: int
    """Numbers, words and clauses that say what no profile does, and judgements of person, shop and product."""
    others: int
    """Words that are none of an analyst, once beside a claim and twice in a clause that weighs."""
    silent: int
    """Sentences that claim nothing."""
    letters: int
    """Letters of its words, without function words."""


class _Clause:
    """What a clause has said so far beside its claims."""

    __slots__ = ("begin", "claims", "states", "strange", "weighs")

    def __init__(self, begin: int) -> None:
        self.begin = begin
        self.strange = self.states = self.weighs = 0
        self.claims = False

    def costs(self, end: int) -> tuple[int, int]:
        """Return its faults, and its words of no analyst."""
        if self.claims:
            return 0, self.strange
        if self.states > 0 and end - self.begin >= FEWEST_WORDS:
            return 0, STATED_COSTS + self.strange
        if self.weighs or end - self.begin < FEWEST_WORDS:
            return 0, 2 * self.strange
        return int(self.strange > 0), 0


def left_of(rest: str, shopper: ProfiledShopper) -> Left:
    """Read word by word what no claim has taken."""
    faults = others = silent = letters = sentence = before = judged = 0
    sentence_claims = advises = False
    words_left = [*rest.split(" "), STOP]
    clause = _Clause(0)
    for place, word in enumerate(words_left):
        if TAKEN in word:
            clause.claims = sentence_claims = True
            before = judged = 0
            continue
        notes = NOTES[word]
        if notes & (OTHER | TELLS) and _is_known(words_left, place, clause, shopper):
            notes = WEIGHS
        elif word == "que" and words_left[place - 1] == "o":
            notes |= WEIGHS
        clause.weighs |= notes & WEIGHS
        clause.states |= notes & STATES
        if judged and not notes & LINKS:
            # Behind `é` an adjective of a list may weigh; behind a person or thing it judges.
            faults += notes & judged > 0
            judged = 0
        if not notes & BINDS:
            faults += (notes & TELLS > 0) + (notes & NOUN and before & JUDGES > 0)
            clause.strange += notes & OTHER > 0
            letters += len(word) + 1
            judged = JUDGES | OTHER if notes & NOUN else judged
            advises = notes & ORDERS > 0 if place == sentence else advises
        elif notes & SPLITS:
            told, strange = clause.costs(place)
            faults, others, clause = faults + told, others + strange, _Clause(place + 1)
            if word == STOP:
                claims_nothing = not sentence_claims and place - sentence >= FEWEST_WORDS
                silent += claims_nothing
                faults += claims_nothing and advises
                sentence, sentence_claims, advises = place + 1, False, False
        elif word == IS and not clause.weighs and (not before or before & (BINDS | NOUN)):
            judged = judged or OTHER
        others += notes & NEGATES > 0
        before = notes
    return Left(faults, others, silent, letters)


def _is_known(words_left: Sequence[str], place: int, clause: _Clause, shopper: ProfiledShopper) -> bool:
    """Return whether a word is of the profile, or a gift that is advised."""
    word = words_left[place]
    if word in shopper.category or root(word) in shopper.category_roots or _is_rating(words_left, place, shopper):
        clause.states = -1
        return True
    return word in _GIFTS and not _GIVES.isdisjoint(words_left[clause.begin : place])


def _is_rating(words_left: Sequence[str], place: int, shopper: ProfiledShopper) -> bool:
    """Return whether a number stands in brackets behind a claim and is a rating of the profile: `boa média (4,5)`."""
    if place < 2 or words_left[place - 1] != PAUSE or TAKEN not in words_left[place - 2]:
        return False
    rating = said_value(words_left[place])
    known = (shopper.values.get("last"), shopper.values.get("mean"))
    return rating is not None and rating in known and words_left[place + 1] in (PAUSE, STOP)
