"""Grade of a reason: what it claims of the shopper, against the profile and against the answer beside it.

Credit comes from claims (`claims`) that are true and speak for the answer. What costs are faults: a claim that is false
or said of other orders than the profile knows (`scopes`), a number without a claim, a frame that says what no profile
bears (`faults`), a word of a field that none speaks of. Ordinary words cost next to nothing beside a claim, and a
clause of nothing else costs more with each.
"""

import re
from collections.abc import Sequence
from operator import itemgetter
from typing import Final, NamedTuple

from tasks.commerce.churn.claims import OPPOSITE, TAKEN, Read, Sign, find_claims, said_value
from tasks.commerce.churn.faults import HARMLESS, OF_ORDERS, TURNS, count_faults, leads_of
from tasks.commerce.churn.scopes import scope_of
from tasks.commerce.churn.shopper import ProfiledShopper, read_shopper
from tasks.commerce.churn.spoken import PAUSE, STOP, spoken
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.manner import manner
from tasks.commerce.text.remembered import Remembered
from tasks.commerce.text.text_form import (
    MAX_CHARACTERS,
    declines,
    fluency,
    fold,
    folded_words,
    originality,
    ramp,
    words,
)
from tasks.commerce.text.vocabulary import CLOSED_CLASS, root

DATA_FILES: Final = ("data/lexicons/churn_telling.txt", "data/lexicons/states.txt")
FAULT_KEEPS: Final = 0.25
"""Share of its use that a reason keeps for each false claim, number without a claim, frame that no profile bears, and
word of a field that none speaks of."""
OTHER_KEEPS: Final = (1.0, 0.94, 0.85, 0.5, 0.35, 0.25, 0.15)
"""Share by the ordinary words that are none of an analyst: beside a claim each counts once, elsewhere twice."""
AGAINST_KEEPS: Final = 0.1
"""Share for a reason that concludes against the answer beside it, or both ways."""
OPPOSED_KEEPS: Final = 0.25
"""Share for a reason whose claims all speak against the answer."""
IN_SPITE_KEEPS: Final = 0.85
"""The same where it concludes for the answer nonetheless, and no `por isso` makes of the claims its cause."""
EMPTY_KEEPS: Final = 0.3
"""Share for a reason without a claim that speaks of orders, time, deliveries or ratings, or concludes."""
SILENT_KEEPS: Final = 0.9
"""Share for each sentence that claims nothing."""
CLAIMED: Final = (0.1, 0.25)
"""Share of claims in a text, by letters without function words: a heap of the right words holds one by chance."""
CONCEDED: Final = 0.5
"""Weight of a claim before `mas`."""
BY_CONCLUSION: Final = 0.4
"""Support by a conclusion alone, which says the answer again."""
BY_NUMBER, BY_WORD = 0.6, 0.45
"""Further support by each true claim that speaks for the answer, with a number and without."""
BY_NEITHER: Final = 1.0
"""Share of it for a claim that speaks for no side, as three months without an order do."""
SHORTEST, LONGEST, TOO_LONG = 15, 220, 440
"""Characters of a reason: the fewest, the most, and too many."""
SHORTEST_ROOT: Final = 4
"""Letters of a root that words of one meaning share alone."""
_NEGATIONS: Final = frozenset(("nao", "nunca", "jamais", "nem"))
_SPLITS: Final = frozenset((STOP, PAUSE, "e", "mas", "porem"))
FEWEST_WORDS: Final = 3
"""Words of a sentence that must claim something."""
_CONCEDES: Final = re.compile(
    r"(?<![a-z])(?:apesar|embora|mesmo (?:com|tendo|sendo|que|sem|assim com|apos)|ainda que|se bem que|por mais que|"
    r"nao obstante|a despeito)(?![a-z])"
)
_TURNS: Final = re.compile(r"(?<![a-z])(?:mas|porem|contudo|entretanto|todavia|no entanto|so que)(?![a-z])")
_BECAUSE: Final = re.compile(
    r"(?<![a-z])(?:porque|por isso|por isto|entao|portanto|logo|pois|ja que|uma vez que|visto que|por causa|devido|"
    r"assim)(?![a-z])"
)
_OF_THE_STATE: Final = (
    r"(?<!por ser )(?<!porque e )(?<!como e )(?<![a-z])(?:cliente|estado|compras?|pedidos?|entregas?) "
    r"(?:(?:d|n)[eoa]|em|para|para o|para a|do estado d[eoa]) "
)
"""Words before a state that say where a shopper is; not the plural of people, nor a cause."""
_LISTED: Final = frozenset(map(fold, read_lexicon("churn_words")))
_TELLING: Final = frozenset(
    word for lexicon in ("churn_telling", "states") for line in read_lexicon(lexicon) for word in words(line)
)
_TELLING_ROOTS: Final = frozenset(
    found for line in read_lexicon("churn_telling") for word in words(line) if len(found := root(word)) >= SHORTEST_ROOT
)
_BINDS, _FREE, _OTHER, _TELLS = range(4)


class Grade(NamedTuple):
    """Grade of a reason, both in [0, 1]."""

    use: float
    """How far the answer can be used: nothing beside a reason that is false, harmful or about something else."""
    support: float
    """How far the profile supports the answer by what is said."""


NO_REASON: Final = Grade(EMPTY_KEEPS, 0.0)


def grade_reason(reason: str, prompt: str, leaves: bool | None) -> Grade:
    """Grade a reason.

    Args:
        reason: The reason.
        prompt: The prompt with the profile.
        leaves: The answer beside it; None if there is none, and then its direction is not judged.
    """
    text = reason[:MAX_CHARACTERS]
    length = ramp(len(text.strip()), 0, SHORTEST) * ramp(len(text), TOO_LONG, LONGEST)
    folded = fold(text)
    own_words = folded_words(folded)
    if not length or declines(folded, set(own_words), says_something=_has_number(own_words)):
        return Grade(0.0, 0.0)
    form = length * fluency(own_words) * originality(own_words, prompt) * manner(text, folded, own_words) ** 2
    if not form:
        return Grade(0.0, 0.0)
    shopper = read_shopper(prompt)
    said = spoken(folded)
    frames, met = leads_of(said)
    claims, rest = find_claims(said, met)
    true: list[Read] = []
    for read in claims:
        if not read.holds(shopper):
            continue
        scope = scope_of(said, rest, read, shopper, ordered=bool(frames & OF_ORDERS))
        if scope.end > read.end:
            rest = f"{rest[: read.end]}{TAKEN * (scope.end - read.end)}{rest[scope.end :]}"
        if scope.holds:
            true.append(read)
    faults = count_faults(frames, said, rest, claims, shopper) if frames else 0
    left = _left_of(_without_state(rest, shopper), shopper)
    truth = FAULT_KEEPS ** (len(claims) - len(true) + faults + left.told)
    known = OTHER_KEEPS[min(left.others, len(OTHER_KEEPS) - 1)] * SILENT_KEEPS**left.silent
    answer: Sign = "" if leaves is None else "leaves" if leaves else "stays"
    direction = _direction(claims, said, shopper, answer, turns=bool(frames & TURNS)) if answer else 1.0
    use = form * truth * known * direction * _content(rest.count(TAKEN), left.letters, claims)
    return Grade(use, _support(claims, true, shopper, answer))


def _has_number(own_words: Sequence[str]) -> bool:
    return any(map(str.isdigit, map(itemgetter(0), own_words)))


class Left(NamedTuple):
    """What no claim has taken of a text."""

    told: int
    """Numbers and words that say what no profile does."""
    others: int
    """Words that are none of an analyst, once beside a claim and twice elsewhere."""
    silent: int
    """Sentences that claim nothing."""
    letters: int
    """Letters of its words, without function words."""


def _left_of(rest: str, shopper: ProfiledShopper) -> Left:
    """Read word by word what no claim has taken."""
    told = others = silent = letters = strange = 0
    begun = 0
    clause_claims = sentence_claims = False
    words_left = [*rest.split(" "), STOP]
    for place, word in enumerate(words_left):
        if TAKEN in word:
            clause_claims = sentence_claims = True
            continue
        kind = _KIND[word]
        if kind >= _OTHER:
            if _is_of_profile(word, shopper) or _is_rating(words_left, place, shopper):
                kind = _FREE
            told += kind == _TELLS
            strange += kind == _OTHER
        if kind != _BINDS:
            letters += len(word) + 1
        if word in _SPLITS:
            others += strange if clause_claims else 2 * strange
            strange, clause_claims = 0, False
            if word == STOP:
                silent += not sentence_claims and place - begun >= FEWEST_WORDS
                begun, sentence_claims = place + 1, False
        elif word in _NEGATIONS:
            others += 1
    return Left(told, others, silent, letters)


def _is_of_profile(word: str, shopper: ProfiledShopper) -> bool:
    return word in shopper.category or root(word) in shopper.category_roots


def _is_rating(words_left: Sequence[str], place: int, shopper: ProfiledShopper) -> bool:
    """Return whether a number stands in brackets behind a claim and is a rating of the profile: `boa média (4,5)`."""
    if place < 2 or words_left[place - 1] != PAUSE or TAKEN not in words_left[place - 2]:
        return False
    rating = said_value(words_left[place])
    known = (shopper.values.get("last"), shopper.values.get("mean"))
    return rating is not None and rating in known and words_left[place + 1] in (PAUSE, STOP)


def _kind(word: str) -> int:
    """Return what a folded word is beside claims: harmless, one of an analyst or not, or said of what no profile is."""
    if word in CLOSED_CLASS or word in (STOP, PAUSE, ""):
        return _BINDS
    if word in _LISTED:
        return _FREE
    if not word.isalpha() or word in _TELLING or root(word) in _TELLING_ROOTS:
        return _TELLS
    return _FREE if word in HARMLESS else _OTHER


_KIND: Final = Remembered(_kind)


def _without_state(rest: str, shopper: ProfiledShopper) -> str:
    """Return the rest without the shopper's state where it only says where they are, and is no reason."""
    for name in shopper.state:
        if name in rest:
            rest = re.sub(rf"{_OF_THE_STATE}{re.escape(name)}(?![a-z])", "", rest)
    return rest


def _content(taken: int, left: int, claims: Sequence[Read]) -> float:
    """Grade, in [0, 1], that a text claims something that bears on the answer, and enough of it."""
    if not any(read.claim.bears for read in claims):
        return EMPTY_KEEPS
    return EMPTY_KEEPS + (1 - EMPTY_KEEPS) * ramp(taken / (taken + left), *CLAIMED)


def _direction(claims: Sequence[Read], said: str, shopper: ProfiledShopper, answer: Sign, *, turns: bool) -> float:
    """Grade, in [0, 1], that a reason speaks for the answer: all its conclusions, and enough of its claims."""
    concluded = {read.speaks_for(shopper) for read in claims if read.claim.concludes}
    if concluded - {answer}:
        return AGAINST_KEEPS
    facts = [read for read in claims if not read.claim.concludes]
    if not facts:
        return 1.0
    weights = {"leaves": 0.0, "stays": 0.0, "": 0.0}
    conceded = _conceded(said) if turns else NOTHING_CONCEDED
    for read in facts:
        weights[read.speaks_for(shopper)] += conceded(read.start)
    other = OPPOSITE[answer]
    if not weights[other]:
        return 1.0
    least = IN_SPITE_KEEPS if concluded and not _BECAUSE.search(said) else OPPOSED_KEEPS
    if concluded and _TURNS.search(said):
        return 1.0
    share = weights[answer] / (weights[answer] + weights[other])
    return least + (1 - least) * ramp(share, 0.0, 0.34)


def _conceded(said: str) -> "Conceded":
    """Return the weight of a claim by its place: none where it is conceded, `CONCEDED` before a turn."""
    spans: list[tuple[int, int, float]] = []
    start = 0
    for sentence in said.split(" . "):
        turn = _TURNS.search(sentence)
        if turn:
            spans.append((start, start + turn.start(), CONCEDED))
        for match in _CONCEDES.finditer(sentence):
            opens = not sentence[: match.start()].strip(" ,")
            comma = sentence.find(",", match.end()) if opens else -1
            spans.append((start + match.start(), start + (comma if comma > 0 else len(sentence)), 0.0))
        start += len(sentence) + 3
    return Conceded(tuple(spans))


class Conceded(NamedTuple):
    """Places of a text with the weights of the claims there."""

    spans: tuple[tuple[int, int, float], ...]

    def __call__(self, place: int) -> float:
        """Return the weight of a claim."""
        return min((weight for start, end, weight in self.spans if start <= place < end), default=1.0)


NOTHING_CONCEDED: Final = Conceded(())


def _support(claims: Sequence[Read], true: Sequence[Read], shopper: ProfiledShopper, answer: Sign) -> float:
    """Return how far the claims support the answer, whichever it is where it is not known."""
    support = BY_CONCLUSION if any(read.claim.concludes for read in claims) else 0.0
    facts = 0.0
    for read in true:
        if read.claim.concludes or not read.claim.bears:
            continue
        side = read.speaks_for(shopper)
        weight = BY_NUMBER if read.claim.number else BY_WORD
        facts += weight * (1.0 if not answer or side == answer else 0.0 if side else BY_NEITHER)
    return support + (1 - support) * min(facts / BY_NUMBER, 1.0)
