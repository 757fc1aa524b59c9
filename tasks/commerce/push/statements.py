"""Closed world of a push: what it may say, and what each statement beyond that costs.

A push is read by clause. The clause that says product and offer is closed: from the first of them to its end stand
their words, what fits the product, and the words of `push_tails`; all else is a claim of what kind, for whom, when or
how far. Elsewhere it may say the few hundred words and phrases of `push_words` and `push_phrases`, which promise
nothing. A claim that a customer could rely on (a benefit, an amount, a date, a stock, an effect, another product, a
frame of `frames`), or a denial of the offer, costs at once. A rare word after the offer costs a third; before it, and
in a question, one costs nothing, and several much.
"""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, NamedTuple

from tasks.commerce.push.clauses import QUESTION
from tasks.commerce.push.frames import (
    AFTER_COMMA,
    AFTER_STOP,
    FRAMES,
    inverts,
    is_infinitive,
    receives,
    wrong_frames,
)
from tasks.commerce.push.lines import Campaign
from tasks.commerce.push.notation import CLAIM, NEUTRAL, PART
from tasks.commerce.push.offers import Amount, invented_amounts
from tasks.commerce.push.word_kinds import (
    ASKED,
    BREAK,
    CALLS,
    CLAIMS,
    DENIES,
    ENDS,
    FITS_AUDIENCE,
    FITS_OTHERS,
    FITS_PRODUCT,
    INVERTS,
    LEADS,
    NAMES,
    NOTED,
    ODD,
    OF_SHOP,
    OFFERS,
    RARE,
    SOFT,
    STRAY,
    TAILS,
    THING,
    TRIGGER,
)
from tasks.commerce.text.text_form import ramp
from tasks.commerce.text.vocabulary import CLOSED_CLASS, root

CLAIMED: Final = 0.45
"""Share of the reward that each claim leaves."""
DENIED: Final = 0.3
ASTRAY: Final = 3
"""Words of other products, beyond those of its own, with which a push speaks of none."""
LATE: Final = 0.65
"""Share that each rare word after the offer leaves, unless it is asked: it says what the goods or the shopper are."""
UNKNOWN: Final = (1.0, 1.0, 0.93, 0.8, 0.55, 0.35, 0.2, 0.1)
"""Shares that so many rare words before the offer or in questions leave: unknown ones and scenes that do not fit."""
MOST_STRAYS: Final = 2
MOST_NAMED: Final = 2
"""Times that product and offer are named at most."""

_GOES_ON: Final = FRAMES["act"]["verbs"] | FRAMES["gift"]["verbs"] | {"esta", "estao", "fica", "ficam", "vai", "vao"}
"""Verbs with which, after `e`, a clause goes on to something else."""
_LIMITING: Final = frozenset((*(f"{CLAIM}so {word}" for word in ("ate", "no", "na", "nos", "nas", "em")), "ate"))
_UNTIL: Final = _LIMITING | {"so", "neste", "nesse"}
"""Words with which a clause limits something to a day."""
_AFFIRMS: Final = frozenset(
    ("sim", "claro", "sempre", "exato", "positivo", "certeza", "pode", "isso", "obvio", "garantimos")
)
"""Words with which who asked says that it is so."""
_WHOLE: Final = frozenset(("toda", "todo", "inteira", "inteiro"))
"""Words for all of who gets something: `para a turma toda`."""
_OWNING: Final = frozenset(("seu", "sua", "seus", "suas", "teu", "tua", "aquele", "aquela", "aqueles", "aquelas"))
_OLD: Final = frozenset(("ai", "velho", "velha", "velhos", "velhas", "antigo", "antiga", "antigos", "antigas"))


class Clause(NamedTuple):
    """Words between two signs."""

    words: Sequence[str]
    kinds: Sequence[int]
    kind: int
    """The flags of all its words."""
    asks: bool


class ReadPush(NamedTuple):
    """A push as its campaign reads it."""

    sentences: Sequence[Sequence[Clause]]
    noted: Sequence[tuple[str, int]]
    """The words that name product or offer, or fit one, with their flags."""


def read(campaign: Campaign, spelled: Sequence[str]) -> ReadPush:
    """Read words in uniform notation with their breaks, by sentence and clause."""
    kinds = [*map(campaign.kinds.__getitem__, spelled), BREAK | ENDS]
    sentences: list[list[Clause]] = []
    sentence: list[Clause] = []
    noted: list[tuple[str, int]] = []
    start = kind = 0
    for place, flags in enumerate(kinds):
        if flags < NOTED:
            kind |= flags
        elif flags < BREAK:
            kind |= flags
            noted.append((spelled[place], flags))
        else:
            if place > start:
                asks = place < len(spelled) and spelled[place] == QUESTION
                sentence.append(Clause(spelled[start:place], kinds[start:place], kind, asks))
                if flags & ENDS:
                    sentences.append(sentence)
                    sentence = []
            start, kind = place + 1, 0
    if sentence:
        sentences.append(sentence)
    return ReadPush(sentences, noted)


def grade_statements(campaign: Campaign, reading: ReadPush, amounts: AbstractSet[Amount]) -> float:
    """Grade what is said beyond product, offer, audience and harmless words, in [0, 1]: 1 if nothing is.

    Args:
        campaign: Of the prompt.
        reading: The push.
        amounts: The amounts among them.
    """
    claims = int(_names_too_often(reading.noted))
    if not amounts <= campaign.offer.amounts:
        given = campaign.of_product.numbers | campaign.of_offer.numbers | campaign.of_audience.numbers
        claims += invented_amounts(campaign.offer, amounts, given)
    found = _Found(campaign, claims)
    for sentence in reading.sentences:
        found.read_sentence(sentence)
    unknown = UNKNOWN[min(len(found.rare), len(UNKNOWN) - 1)] * LATE ** len(found.late)
    return CLAIMED**found.claims * DENIED**found.denials * unknown


class _Found:
    """What is found in a push, sentence by sentence.

    Args:
        campaign: Of the prompt.
        claims: Those found before.
    """

    def __init__(self, campaign: Campaign, claims: int) -> None:
        self.campaign = campaign
        self.claims = claims
        self.denials = 0
        self.rare: set[str] = set()
        self.late: set[str] = set()
        """Rare words after the offer."""
        self.named = self.offered = self.invited = False
        """Whether the product stands before, the offer does, and a question asks what would be a claim."""

    def read_sentence(self, sentence: Sequence[Clause]) -> None:
        """Find what a sentence says."""
        said = 0
        for clause in sentence:
            said |= clause.kind
        named, asks = bool(said & NAMES), sentence[-1].asks
        # The shopper's own thing is no offer, and nor is what somebody asks.
        own = named and not self.offered and not said & OFFERS and (asks or any(map(_is_own, sentence)))
        free = own or not (named or (self.named and not asks))
        bound = False
        for place, clause in enumerate(sentence):
            words, _, kind, clause_asks = clause
            lenient = free and (clause_asks or not self.offered)
            self.claims += self.invited and words[0] in _AFFIRMS
            self.claims += len(words) == 1 and words[0][0].isdigit()
            bound = (bound or (self.offered and not place and not named)) and _goes_on(words, bound)
            if kind & (STRAY | LEADS) and not own and (bound or kind & (NAMES | OF_SHOP)):
                self.claims += _strays(self.campaign, clause, bound, self.offered)
            if lenient and "%" in words:
                self.claims -= min(self.claims, _measures(words, self.campaign.suits))
            if kind & TRIGGER:
                self.claims += wrong_frames(words, lenient, asks, self.campaign)
            if kind & ODD:
                self._weigh(clause, SOFT * lenient | ASKED * (lenient and asks), not self.offered and not said & OFFERS)
            if kind & OFFERS:
                if kind & INVERTS:
                    self.claims += inverts(words, self.campaign)
                bound = self.offered = True
            self.invited = clause_asks and bool(kind & ASKED) and not kind & SOFT
        self.named = self.named or (named and not own)

    def _weigh(self, clause: Clause, soft: int, early: bool) -> None:
        """Find denials, claims and rare words; those with a flag of `soft` are none, nor are days where `early`."""
        words, kinds, _, _ = clause
        days = early and _UNTIL.isdisjoint(words)
        for word, kind in zip(words, kinds, strict=True):
            if not kind & ODD or (days if kind & SOFT and word[0] == PART else kind & soft):
                continue
            if kind & DENIES:
                self.denials += 1
            elif kind & CLAIMS or (kind & THING and not soft):
                self.claims += not _limits_itself(word, words, self.campaign.of_offer.words)
            elif kind & RARE:
                (self.late if self.offered and not soft else self.rare).add(word)


def _is_own(clause: Clause) -> bool:
    """Return whether a clause names the product as a thing that the shopper has: `sua toalha`, `o fogão aí`."""
    if not clause.kind & NAMES or (_OWNING.isdisjoint(clause.words) and _OLD.isdisjoint(clause.words)):
        return False
    words = ["", *clause.words, ""]
    return any(
        kind & NAMES and (words[place] in _OWNING or words[place + 2] in _OLD)
        for place, kind in enumerate(clause.kinds)
    )


def _names_too_often(noted: Sequence[tuple[str, int]]) -> bool:
    if len(noted) - len(set(noted)) < MOST_NAMED:
        return False
    names = [word for word, kind in noted if kind & NAMES]
    return len(names) - len(set(names)) >= MOST_NAMED and any(
        names.count(word) > MOST_NAMED for word in names if word.isalpha() or word[0] == PART
    )


def _goes_on(clause: Sequence[str], after_comma: bool) -> bool:
    return clause[0] in (AFTER_COMMA if after_comma else AFTER_STOP) and CALLS.isdisjoint(clause)


def _measures(clause: Sequence[str], apt: Callable[[str], bool]) -> int:
    """Count the shares of a thing that fits the product (`1% de bateria`), which are no offer."""
    return sum(
        sign == "%" and of == "de" and apt(thing)
        for sign, of, thing in zip(clause, clause[1:], clause[2:], strict=False)
    )


def _strays(campaign: Campaign, clause: Clause, bound: bool, offered: bool) -> int:
    """Count the words, up to `MOST_STRAYS`, that stand where only product, offer and what joins them may stand.

    That is from the first to the last of their words in a clause, and after the offer up to a call or a purpose; all
    of a clause that goes on with the offer of the one before; and what is said of the shop or its offer by name.

    Args:
        campaign: Of the prompt.
        clause: Words in uniform notation, with one of product, offer or shop, or bound.
        bound: Whether the clause goes on with the offer of the one before.
        offered: Whether the offer stands before the clause.
    """
    words, kinds, all_kinds, _ = clause
    start, last = _zone(clause, bound, offered)
    named = all_kinds & NAMES
    offers = bound or not named or all_kinds & OFFERS
    count = 0
    aims = False
    for place in range(start, len(words)):
        word, kind = words[place], kinds[place]
        if place > last and _leaves_offer(words, place, aims):
            break
        if offers and kind & LEADS:
            aims = receives(words[place + 1 :], campaign.fits)
            count += not aims
        elif not offers and place > last and (word in CLOSED_CLASS or word in TAILS):
            # Beside the product alone, what it is like counts, and not what a shopper does with it.
            break
        elif kind & STRAY and (kind & ODD if not offers else named or word != NEUTRAL):
            count += not (aims and word in _WHOLE) and not _limits_itself(word, words, campaign.of_offer.words)
            if not offers:
                break
    return min(count, MOST_STRAYS)


def _zone(clause: Clause, bound: bool, offered: bool) -> tuple[int, int]:
    """Return where a clause begins to be closed, and the last word of product, offer or shop; -1 if it has none."""
    if clause.kind & NAMES:
        places = [place for place, kind in enumerate(clause.kinds) if kind & NAMES]
        return 0 if bound else places[0], places[-1]
    if bound:
        return 0, -1
    last = next(place for place, kind in enumerate(clause.kinds) if kind & OF_SHOP)
    return 0 if offered else last, last


def _leaves_offer(clause: Sequence[str], place: int, aims: bool) -> bool:
    """Return whether a clause turns from the offer to what a shopper does: a call, a second verb, a purpose."""
    word = clause[place]
    return (
        word in CALLS or (place > 0 and clause[place - 1] == "e" and word in _GOES_ON) or (aims and is_infinitive(word))
    )


def _limits_itself(word: str, clause: Sequence[str], own: AbstractSet[str]) -> bool:
    """Return whether a word limits the offer by its own deadline: `só até meia-noite` of one that ends then."""
    if word not in _LIMITING:
        return False
    after = clause[clause.index(word) + 1 :]
    first = next((each for each in after if each not in ("a", "o", "este", "esse", "nesse", "neste")), "")
    return first[:1] == PART and first in own


def speaks(campaign: Campaign, folded: str, noted: Sequence[tuple[str, int]]) -> float:
    """Grade whether words fit this product or speak to this audience, in [0, 1].

    Words that fit other products alone count against it: a form that names an occasion for each fits none. Who quotes
    the audience's line addresses nobody.
    """
    apt = len({root(word) for word, kind in noted if kind & FITS_PRODUCT})
    if not apt and (campaign.segment in folded or not any(kind & FITS_AUDIENCE for _, kind in noted)):
        return 0.0
    astray = len({root(word) for word, kind in noted if kind & FITS_OTHERS})
    apt = max(apt, 1)
    return ramp(astray, apt + ASTRAY, apt)
