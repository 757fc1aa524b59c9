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
    QUIET,
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


def left_of(rest: str, shopper: ProfiledShopper) -> Left:
    """Read word by word what no claim has taken."""
    faults = others = silent = letters = sentence = before = judged = 0
    # Of a clause: where it begins, its words of no analyst, and the notes that state or weigh; -1 states nothing.
    begin = strange = states = weighs = 0
    claims = sentence_claims = advises = False
    words_left = [*rest.split(" "), STOP]
    for place, word in enumerate(words_left):
        if TAKEN in word:
            claims = sentence_claims = True
            before = judged = 0
            continue
        notes = NOTES[word]
        if notes & QUIET:
            before, judged = notes, 0
            continue
        if notes & (OTHER | TELLS):
            notes, states = _known(words_left, begin, place, shopper, (notes, states))
        weighs |= notes & WEIGHS or WEIGHS * (word == "que" and words_left[place - 1] == "o")
        states |= notes & STATES
        if judged and not notes & LINKS:
            # Behind `é` an adjective of a list may weigh; behind a person or thing it judges.
            faults += notes & judged > 0
            judged = 0
        if not notes & BINDS:
            faults += (notes & TELLS > 0) + (notes & NOUN and before & JUDGES > 0)
            strange += notes & OTHER > 0
            letters += len(word) + 1
            judged = JUDGES | OTHER if notes & NOUN else judged
            advises = notes & ORDERS > 0 if place == sentence else advises
        elif notes & SPLITS:
            told, unlisted = _costs(strange, states, weighs, place - begin, claims=claims)
            faults, others = faults + told, others + unlisted
            begin, strange, states, weighs, claims = place + 1, 0, 0, 0, False
            if word == STOP:
                claims_nothing = not sentence_claims and place - sentence >= FEWEST_WORDS
                silent += claims_nothing
                faults += claims_nothing and advises
                sentence, sentence_claims, advises = place + 1, False, False
        elif word == IS and not weighs and (not before or before & (BINDS | NOUN)):
            judged = judged or OTHER
        others += notes & NEGATES > 0
        before = notes
    return Left(faults, others, silent, letters)


def _costs(strange: int, states: int, weighs: int, length: int, *, claims: bool) -> tuple[int, int]:
    """Return the faults of a clause, and its words of no analyst."""
    if claims:
        return 0, strange
    if states > 0 and length >= FEWEST_WORDS:
        return 0, STATED_COSTS + strange
    if weighs or length < FEWEST_WORDS:
        return 0, 2 * strange
    return int(strange > 0), 0


def _known(
    words_left: Sequence[str], begin: int, place: int, shopper: ProfiledShopper, found: tuple[int, int]
) -> tuple[int, int]:
    """Return a word's notes and its clause's: a word of the profile, and a gift that is advised, may weigh."""
    word = words_left[place]
    if word in shopper.category or root(word) in shopper.category_roots or _is_rating(words_left, place, shopper):
        return WEIGHS, -1
    if word in _GIFTS and not _GIVES.isdisjoint(words_left[begin:place]):
        return WEIGHS, found[1]
    return found


def _is_rating(words_left: Sequence[str], place: int, shopper: ProfiledShopper) -> bool:
    """Return whether a number stands in brackets behind a claim and is a rating of the profile: `boa média (4,5)`."""
    if place < 2 or words_left[place - 1] != PAUSE or TAKEN not in words_left[place - 2]:
        return False
    rating = said_value(words_left[place])
    known = (shopper.values.get("last"), shopper.values.get("mean"))
    return rating is not None and rating in known and words_left[place + 1] in (PAUSE, STOP)
