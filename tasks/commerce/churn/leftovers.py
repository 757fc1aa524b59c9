"""What no claim has taken of a reason, read once word by word: clause by clause, it may weigh, but state nothing."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from tasks.commerce.churn.claims import TAKEN, said_value
from tasks.commerce.churn.shopper import ProfiledShopper
from tasks.commerce.churn.spoken import IS, PAUSE, STOP
from tasks.commerce.churn.word_notes import BINDS, JUDGES, LINKS, NEGATES, NOTES, NOUN, ORDERS, OTHER, SPLITS, STATES, TELLS, WEIGHS
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
    faults = others = silent = letters = strange = states = sentence = clause = before = judged = weighs = 0
    clause_claims = sentence_claims = advises = False
    words_left = [*rest.split(" "), STOP]
    for place, word in enumerate(words_left):
        if TAKEN in word:
            clause_claims = sentence_claims = True
            before = judged = 0
            continue
        notes = NOTES[word]
        if notes & (OTHER | TELLS):
            if _is_of_profile(word, shopper) or _is_rating(words_left, place, shopper):
                notes, states = WEIGHS, -1
            elif word in _GIFTS and not _GIVES.isdisjoint(words_left[clause:place]):
                notes = WEIGHS
        weighs |= notes & WEIGHS
        states |= notes & STATES
        if judged and not notes & LINKS:
            # Behind `é` an adjective of a list may weigh; behind a person or thing it judges.
            faults += notes & judged > 0
            judged = 0
        if not notes & BINDS:
            faults += notes & TELLS > 0
            strange += notes & OTHER > 0
            letters += len(word) + 1
            if notes & NOUN:
                faults += before & JUDGES > 0
                judged = JUDGES | OTHER
            if place == sentence:
                advises = notes & ORDERS > 0
        elif notes & SPLITS:
            if clause_claims:
                others += strange
            elif place - clause < FEWEST_WORDS:
                others += 2 * strange
            elif states > 0:
                others += STATED_COSTS + strange
            elif weighs:
                others += 2 * strange
            else:
                faults += strange > 0
            strange = states = 0
            clause, clause_claims, weighs = place + 1, False, 0
            if word == STOP:
                if not sentence_claims and place - sentence >= FEWEST_WORDS:
                    silent += 1
                    faults += advises
                sentence, sentence_claims, advises = place + 1, False, False
        elif word == IS:
            judged = judged or (OTHER if not weighs and (not before or before & (BINDS | NOUN)) else 0)
        elif word == "que" and words_left[place - 1] == "o":
            weighs = WEIGHS
        if notes & NEGATES:
            others += 1
        before = notes
    return Left(faults, others, silent, letters)


def _is_of_profile(word: str, shopper: ProfiledShopper) -> bool:
    return word in shopper.category or root(word) in shopper.category_roots


def _is_rating(words_left: Sequence[str], place: int, shopper: ProfiledShopper) -> bool:
    """Return whether a number stands in brackets behind a claim and is a rating of the profile: `boa média (4,5)`."""
    if place < 2 or words_left[place - 1] != PAUSE or TAKEN not in words_left[place - 2]:
        return False
    rating = said_value(words_left[place])
    known = (shopper.values.get("last"), shopper.values.get("mean"))
    return rating is not None and rating in known and words_left[place + 1] in (PAUSE, STOP)
