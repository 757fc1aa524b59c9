"""Grade of a reason: what it claims of the shopper, against the profile and against the answer beside it.

Credit comes from claims (`claims`) that are true and speak for the answer. What costs are faults: a claim that is false
or said of other orders than the profile knows (`scopes`), a number without a claim, a frame that says what no profile
bears (`faults`), a word of a field that none speaks of, a clause without a claim that states something (`leftovers`).
Ordinary words cost next to nothing beside a claim.
"""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from operator import itemgetter
from typing import Final, NamedTuple

from tasks.commerce.churn.claims import OPPOSITE, TAKEN, Read, Sign, find_claims
from tasks.commerce.churn.faults import count_faults
from tasks.commerce.churn.leftovers import left_of
from tasks.commerce.churn.scopes import scope_of
from tasks.commerce.churn.shopper import ProfiledShopper, read_shopper
from tasks.commerce.churn.spoken import IS, marked, spoken, tokens, words_among
from tasks.commerce.churn.word_notes import DENIES, FRAMES, MEETS, NEEDS, NOTES, NUMBER
from tasks.commerce.text.manner import manner
from tasks.commerce.text.text_form import MAX_CHARACTERS, declines, fluency, fold, folded_words, originality, ramp

FAULT_KEEPS: Final = 0.25
"""Share of its use that a reason keeps for each false claim, number without a claim, frame that no profile bears, and
word of a field that none speaks of."""
OTHER_KEEPS: Final = (1.0, 0.94, 0.85, 0.5, 0.35, 0.25, 0.15)
"""Share by the ordinary words that are none of an analyst: beside a claim each counts once, where it weighs twice."""
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
    with_is = fold(marked(text))
    read_words = tokens(with_is)
    if IS in text:
        folded = fold(text)
        own_words = folded_words(folded)
    else:
        folded, own_words = with_is.replace(IS, "e"), words_among(read_words)
    form = _form(text, folded, own_words, prompt)
    if not form:
        return Grade(0.0, 0.0)
    shopper = read_shopper(prompt)
    words_said = spoken(read_words)
    with_is = " ".join(words_said)
    said = with_is.replace(IS, "e")
    frames = needs = 0
    for word in words_said:
        notes = NOTES[word]
        frames |= notes
        if notes & MEETS:
            needs |= NEEDS[word]
    claims, rest = find_claims(said, needs, numbers=frames & NUMBER > 0, denies=frames & DENIES > 0)
    facts = [read for read in claims if not read.claim.concludes]
    concluded = {read.speaks_for(shopper) for read in claims if read.claim.concludes}
    true, rest = _borne_out(facts, said, rest, shopper, ordered=frames & FRAMES["orders"] > 0) if facts else ([], rest)
    faults = count_faults(frames, said, rest, claims, shopper)
    left = left_of(_without_state(_with_is(rest, with_is), shopper), shopper)
    truth = FAULT_KEEPS ** (len(facts) - len(true) + faults + left.faults)
    known = OTHER_KEEPS[min(left.others, len(OTHER_KEEPS) - 1)] * SILENT_KEEPS**left.silent
    answer: Sign = "" if leaves is None else "leaves" if leaves else "stays"
    direction = 1.0
    if answer and (facts or concluded):
        direction = _direction(facts, concluded, said, shopper, answer, turns=frames & FRAMES["turns"] > 0)
    content = EMPTY_KEEPS
    if concluded or any(read.claim.bears for read in facts):
        taken = rest.count(TAKEN)
        content += (1 - EMPTY_KEEPS) * ramp(taken / (taken + left.letters), *CLAIMED)
    use = form * truth * known * direction * content
    support = BY_CONCLUSION if concluded else 0.0
    if true:
        support += (1 - support) * min(_weight(true, shopper, answer) / BY_NUMBER, 1.0)
    return Grade(use, support)


def _form(text: str, folded: str, own_words: list[str], prompt: str) -> float:
    """Grade, in [0, 1], that a text is a reason by its form, and not a refusal."""
    length = ramp(len(text.strip()), 0, SHORTEST) * ramp(len(text), TOO_LONG, LONGEST)
    # Whether it holds a number is asked of what declines if it holds none.
    if not length or (
        declines(folded, own_words, says_something=False)
        and declines(folded, own_words, says_something=_has_number(own_words))
    ):
        return 0.0
    return length * fluency(own_words) * originality(own_words, prompt) * manner(text, folded, own_words) ** 2


def _borne_out(
    facts: Sequence[Read], said: str, rest: str, shopper: ProfiledShopper, *, ordered: bool
) -> tuple[list[Read], str]:
    """Return the claims that the profile bears out, and the rest without the words that say what they are said of."""
    true: list[Read] = []
    for read in facts:
        if not read.holds(shopper):
            continue
        scope = scope_of(said, rest, read, shopper, ordered=ordered)
        if scope.end > read.end:
            rest = f"{rest[: read.end]}{TAKEN * (scope.end - read.end)}{rest[scope.end :]}"
        if scope.holds:
            true.append(read)
    return true, rest


def _with_is(rest: str, with_is: str) -> str:
    """Return the rest with `IS` where no claim took it."""
    place = with_is.find(IS)
    while place >= 0:
        if rest[place] == "e":
            rest = f"{rest[:place]}{IS}{rest[place + 1 :]}"
        place = with_is.find(IS, place + 1)
    return rest


def _has_number(own_words: Sequence[str]) -> bool:
    return any(map(str.isdigit, map(itemgetter(0), own_words)))


def _without_state(rest: str, shopper: ProfiledShopper) -> str:
    """Return the rest without the shopper's state where it only says where they are, and is no reason."""
    for name in shopper.state:
        if f" {name}" in rest:
            rest = re.sub(rf"{_OF_THE_STATE}{re.escape(name)}(?![a-z])", "", rest)
    return rest


def _direction(
    facts: Sequence[Read],
    concluded: AbstractSet[Sign],
    said: str,
    shopper: ProfiledShopper,
    answer: Sign,
    *,
    turns: bool,
) -> float:
    """Grade, in [0, 1], that a reason speaks for the answer: all its conclusions, and enough of its other claims."""
    if concluded - {answer}:
        return AGAINST_KEEPS
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


def _weight(true: Sequence[Read], shopper: ProfiledShopper, answer: Sign) -> float:
    """Return the weight of true claims that speak for the answer, whichever it is where it is not known."""
    weight = 0.0
    for read in true:
        if read.claim.bears:
            side = read.speaks_for(shopper)
            speaks = 1.0 if not answer or side == answer else 0.0 if side else BY_NEITHER
            weight += (BY_NUMBER if read.claim.number else BY_WORD) * speaks
    return weight
