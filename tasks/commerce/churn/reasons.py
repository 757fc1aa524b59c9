"""Grade of a reason: what it claims of the shopper, against the profile and against the answer beside it.

The world is closed. A reason is read as claims (`claims`), and what no claim takes must be a harmless word, the
profile's own, or a function word: anything else is said of the shopper without the profile.
"""

import re
from collections.abc import Sequence
from operator import itemgetter
from typing import Final, NamedTuple

from tasks.commerce.churn.claims import OPPOSITE, TAKEN, Read, Sign, find_claims
from tasks.commerce.churn.shopper import Shopper, read_shopper
from tasks.commerce.churn.spoken import spoken
from tasks.commerce.text.manner import manner
from tasks.commerce.text.text_form import MAX_CHARACTERS, declines, fluency, fold, folded_words, originality, ramp
from tasks.commerce.text.vocabulary import CLOSED_CLASS, Vocabulary

DATA_FILES: Final = ("data/lexicons/churn_words.txt",)
FALSE_KEEPS: Final = 0.25
"""Share of its use that a reason keeps for each claim that the profile contradicts."""
UNKNOWN_KEEPS: Final = (1.0, 0.2, 0.05)
"""Share for no word beyond the closed world, for one and for two; nothing from three on."""
AGAINST_KEEPS: Final = 0.1
"""Share for a reason that concludes against the answer beside it, or both ways."""
OPPOSED_KEEPS: Final = 0.25
"""Share for a reason whose claims all speak against the answer."""
IN_SPITE_KEEPS: Final = 0.8
"""The same where it concludes for the answer nonetheless, and no `por isso` makes of the claims its cause."""
EMPTY_KEEPS: Final = 0.3
"""Share for a reason that claims nothing, and for each sentence that does not."""
CLAIMED: Final = (0.1, 0.25)
"""Share of claims in a text, by letters without function words: a heap of the right words holds one by chance."""
CONCEDED: Final = 0.5
"""Weight of a claim before `mas`."""
BY_CONCLUSION: Final = 0.4
"""Support by a conclusion alone, which says the answer again."""
BY_NUMBER, BY_WORD = 0.6, 0.45
"""Further support by each claim that the profile bears out, with a number and without."""
SHORTEST, LONGEST, TOO_LONG = 15, 220, 440
"""Characters of a reason: the fewest, the most, and too many."""
_NEGATIONS: Final = frozenset(("nao", "nunca", "jamais", "nem"))
_WORD: Final = re.compile(r"[^\W\d_]+|\d[\d.,]*|%")
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
_VOCABULARY: Final = Vocabulary("churn_words")


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
    claims, rest = find_claims(said)
    left: list[str] = _WORD.findall(rest)
    truth = FALSE_KEEPS ** sum([not read.holds(shopper) for read in claims])
    unknown = _unknown(_without_state(rest, left, shopper), shopper)
    known = UNKNOWN_KEEPS[unknown] if unknown < len(UNKNOWN_KEEPS) else 0.0
    direction = 1.0 if leaves is None else _direction(claims, said, shopper, "leaves" if leaves else "stays")
    return Grade(form * truth * known * direction * _content(rest, left, claims), _support(claims, shopper))


def _has_number(own_words: Sequence[str]) -> bool:
    return any(map(str.isdigit, map(itemgetter(0), own_words)))


def _unknown(left: Sequence[str], shopper: Shopper) -> int:
    """Count what is said beyond the closed world: other words, numbers without a claim, and denials of nothing read."""
    numbers = sum([word[0].isdigit() or word == "%" for word in left])
    denials = sum(map(_NEGATIONS.__contains__, left))
    return numbers + denials + len(_VOCABULARY.unknown(left, shopper.category))


def _without_state(rest: str, left: list[str], shopper: Shopper) -> list[str]:
    """Return the words of the rest without the shopper's state where it only says where they are, and is no reason."""
    stated = rest
    for name in shopper.state:
        if name in rest:
            stated = re.sub(rf"{_OF_THE_STATE}{re.escape(name)}(?![a-z])", "", stated)
    return left if stated is rest else _WORD.findall(stated)


def _content(rest: str, words_left: Sequence[str], claims: Sequence[Read]) -> float:
    """Grade, in [0, 1], that a text claims something: enough of it, and each sentence."""
    if not claims:
        return EMPTY_KEEPS
    taken = rest.count(TAKEN)
    left = sum([len(word) + 1 for word in words_left if word not in CLOSED_CLASS])
    sentences = rest.split(" . ")
    empty = sum([TAKEN not in sentence and len(sentence.split()) > 1 for sentence in sentences])
    return EMPTY_KEEPS**empty * (EMPTY_KEEPS + (1 - EMPTY_KEEPS) * ramp(taken / (taken + left), *CLAIMED))


def _direction(claims: Sequence[Read], said: str, shopper: Shopper, answer: Sign) -> float:
    """Grade, in [0, 1], that a reason speaks for the answer: all its conclusions, and enough of its claims."""
    concluded = {read.speaks_for(shopper) for read in claims if read.claim.concludes}
    if concluded - {answer}:
        return AGAINST_KEEPS
    facts = [read for read in claims if not read.claim.concludes]
    if not facts:
        return 1.0
    weights = {"leaves": 0.0, "stays": 0.0, "": 0.0}
    conceded = _conceded(said)
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


def _support(claims: Sequence[Read], shopper: Shopper) -> float:
    if not claims:
        return 0.0
    held = [read.claim for read in claims if not read.claim.concludes and read.holds(shopper)]
    facts = sum([BY_NUMBER if claim.number else BY_WORD for claim in held])
    return BY_CONCLUSION + (1 - BY_CONCLUSION) * min(facts / BY_NUMBER, 1.0)
