"""Closed world of a push: what it may say, and what each statement beyond that costs.

A push is read by clause. The clause that says product and offer is closed: from the first of them to its end stand
their words, what fits the product, and the words of `push_tails`; all else is a claim of what kind, for whom, when or
how far. Elsewhere it may say the few hundred words and phrases of `push_words` and `push_phrases`, which promise
nothing. A claim that a customer could rely on (a benefit, an amount, a date, a stock, an effect, another product, a
frame of `frames`), or a denial of the offer, costs at once; a rare word costs nothing, and several much.
"""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from tasks.commerce.push.clauses import BREAKS, QUESTION, sentences
from tasks.commerce.push.frames import (
    AFTER_COMMA,
    AFTER_STOP,
    FRAMES,
    SHOP,
    TRIGGERS,
    is_infinitive,
    receives,
    wrong_frames,
)
from tasks.commerce.push.lines import Campaign
from tasks.commerce.push.notation import CLAIM, DENIAL, NEUTRAL, NEUTRAL_TAIL, PART
from tasks.commerce.push.offers import Amount, invented_amounts
from tasks.commerce.push.senses import any_sense, product_stems
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.text_form import fold, ramp, stem
from tasks.commerce.text.vocabulary import CLOSED_CLASS, Vocabulary, root, roots

DATA_FILES: Final = (
    "data/lexicons/calls_to_action.txt",
    "data/lexicons/push_claims.txt",
    "data/lexicons/push_denials.txt",
    "data/lexicons/push_scenes.txt",
    "data/lexicons/push_soft.txt",
    "data/lexicons/push_tails.txt",
    "data/lexicons/push_words.txt",
)
CLAIMED: Final = 0.45
"""Share of the reward that each claim leaves."""
DENIED: Final = 0.3
ASTRAY: Final = 3
"""Words of other products, beyond those of its own, with which a push speaks of none."""
UNKNOWN: Final = (1.0, 1.0, 0.93, 0.8, 0.55, 0.35, 0.2, 0.1)
"""Shares that so many rare words leave, unknown ones and those of scenes that do not fit; more leave the last."""
MOST_STRAYS: Final = 2
MOST_NAMED: Final = 2
"""Times that product and offer are named at most."""

_VOCABULARY: Final = Vocabulary("push_words", "calls_to_action")
_DENIALS: Final = frozenset(fold(word) for word in read_lexicon("push_denials") if " " not in word)
_CLAIMS: Final = frozenset(fold(word) for word in read_lexicon("push_claims") if " " not in word) | _DENIALS
_PLAIN: Final = (
    frozenset(fold(word) for lexicon in ("push_words", "calls_to_action") for word in read_lexicon(lexicon))
    | CLOSED_CLASS
) - _CLAIMS
_PRODUCTS: Final = product_stems()
_TAILS: Final = frozenset(map(fold, read_lexicon("push_tails"))) | {NEUTRAL_TAIL}
_SCENES: Final = frozenset(map(fold, read_lexicon("push_scenes")))
_SOFT: Final = frozenset(
    form
    for entry in map(fold, read_lexicon("push_soft"))
    for form in ((f"{CLAIM}{entry}", f"{DENIAL}{entry}") if " " in entry else (entry,))
)
_CALLS: Final = frozenset(map(fold, read_lexicon("calls_to_action"))) - {"volta", "parcela", "parcele", "use", "leve"}
_ASKING: Final = _CALLS | {"sim", "tem", "temos", "e", "isso", "so", "leve", "use", "vai", "da", "aqui", "agora"}
"""Words one of which begins what follows a question that holds the offer."""
_GOES_ON: Final = FRAMES["act"]["verbs"] | FRAMES["gift"]["verbs"] | {"esta", "estao", "fica", "ficam", "vai", "vao"}
"""Verbs with which, after `e`, a clause goes on to something else."""
_LEADS: Final = FRAMES["receiver"]["leads"]
_BESIDE: Final = _TAILS | _CALLS | BREAKS | _LEADS
_PLAIN_SIGNS: Final = _PLAIN | BREAKS | {"%", "r$", NEUTRAL, NEUTRAL_TAIL}
_EVERYWHERE: Final = _BESIDE & _PLAIN_SIGNS
"""Words that are free beside the offer and elsewhere."""
_DENIES, _CLAIMS_IT, _RARE = "denial", "claim", "rare"
_LISTED: Final = _CLAIMS | _DENIALS
_QUOTED: Final = frozenset(("cliente", "clientes", "publico", "compraram"))
"""Words of an audience's line that nobody says to it."""
_LIMITING: Final = frozenset((f"{CLAIM}so ate", f"{CLAIM}so no", f"{CLAIM}so em", "ate"))
_SHOPPER: Final = frozenset(("amei", "adorei", "gostei", "sonhei", "sei", "rei", "hei", "ei"))
"""Words in `ei` that are no verb of who wrote the text, as `usei` is; a shop speaks as `nós`."""
_ANY_SENSE: Final = any_sense()
_SIGNS: Final = (PART, CLAIM, DENIAL)


def grade_statements(campaign: Campaign, spelled: Sequence[str], amounts: AbstractSet[Amount]) -> float:
    """Grade what is said beyond product, offer, audience and harmless words, in [0, 1]: 1 if nothing is.

    Args:
        campaign: Of the prompt.
        spelled: The push's words and breaks in uniform notation.
        amounts: The amounts among them.
    """
    product, offer, audience = campaign.of_product, campaign.of_offer, campaign.of_audience
    claims = denials = 0
    if not amounts <= campaign.offer.amounts:
        claims = invented_amounts(campaign.offer, amounts, product.numbers | offer.numbers | audience.numbers)
    said = set(spelled)
    marks, strays, odd = _sort(campaign, said)
    triggers = TRIGGERS & said
    closed = bool(strays) or not _LEADS.isdisjoint(said)
    rare: set[str] = set()
    named = offered = asked = False
    for sentence in sentences(spelled):
        marked = any(not marks.isdisjoint(clause) for clause, _ in sentence)
        lenient = not marked and (not named or sentence[-1][1] == QUESTION)
        bound = False
        for place, (clause, end) in enumerate(sentence):
            here = not campaign.made.isdisjoint(clause)
            claims += asked and not here and _mocks(campaign, clause)
            asked = here and end == QUESTION
            bound = (bound or (offered and not place and not marked)) and _goes_on(clause, bound)
            if closed:
                claims += _strays(campaign, clause, marks, strays, bound, offered)
            if lenient and "%" in clause:
                claims -= min(claims, _measures(clause, campaign.suits))
            if triggers and not triggers.isdisjoint(clause):
                claims += wrong_frames(clause, triggers, lenient, campaign.suits, campaign.sells)
            bound = bound or here
            offered = offered or here
            if not odd.isdisjoint(clause):
                denied, claimed = _weigh(campaign, clause, odd, lenient, rare)
                denials += denied
                claims += claimed
        named = named or marked
    claims += any(spelled.count(word) > MOST_NAMED for word in marks if word.isalpha() or word[0] == PART)
    unknown = len(rare)
    return CLAIMED**claims * DENIED**denials * UNKNOWN[min(unknown, len(UNKNOWN) - 1)]


def _sort(campaign: Campaign, said: AbstractSet[str]) -> tuple[set[str], set[str], set[str]]:
    """Return the words that name product or offer, those that may not stand beside them, and those of no list.

    Most words are in every list, and are looked up no further.
    """
    product, offer, audience = campaign.of_product, campaign.of_offer, campaign.of_audience
    marks = {word for word in said - _EVERYWHERE if root(word) in campaign.named}
    marks |= said & campaign.made | said & campaign.named
    unsaid = said - offer.words - product.words - audience.words
    foreign = {word for word in unsaid - _EVERYWHERE if not campaign.fits(word)}
    strays = {word for word in foreign - _BESIDE if not word[0].isdigit()} | (said & _QUOTED)
    return marks, strays, (foreign - _PLAIN_SIGNS) | (unsaid & _LISTED)


def _mocks(campaign: Campaign, clause: Sequence[str]) -> bool:
    """Return whether a clause after a question that holds the offer neither calls to action nor speaks of it."""
    return _ASKING.isdisjoint(clause[:2]) and not any(map(campaign.fits, clause))


def _goes_on(clause: Sequence[str], after_comma: bool) -> bool:
    return clause[0] in (AFTER_COMMA if after_comma else AFTER_STOP) and _CALLS.isdisjoint(clause)


def _weigh(
    campaign: Campaign, clause: Sequence[str], odd: AbstractSet[str], lenient: bool, rare: set[str]
) -> tuple[int, int]:
    """Return the denials and claims among the words of no list, and put the rare ones with the others."""
    denials = claims = 0
    for word in clause:
        if word in odd and not (lenient and word in _SOFT):
            kind = _kind(word, lenient)
            if kind == _DENIES:
                denials += 1
            elif kind == _RARE:
                rare.add(word)
            elif kind:
                claims += not _limits_itself(word, clause, campaign.of_offer.words)
    return denials, claims


def _kind(word: str, lenient: bool) -> str:
    """Return what a word says that is not the campaign's: a denial, a claim, something rare, or nothing."""
    sign = word[0]
    if sign == DENIAL or word in _DENIALS:
        return _DENIES
    if sign in _SIGNS or word in _CLAIMS or (word[-2:] == "ei" and word not in _SHOPPER):
        return _CLAIMS_IT
    if not word.isalpha():
        return ""
    if not lenient and stem(word) in _PRODUCTS and word not in _SCENES:
        return _CLAIMS_IT
    return "" if word in _VOCABULARY else _RARE


def _measures(clause: Sequence[str], apt: Callable[[str], bool]) -> int:
    """Count the shares of a thing that fits the product (`1% de bateria`), which are no offer."""
    return sum(
        sign == "%" and of == "de" and apt(thing)
        for sign, of, thing in zip(clause, clause[1:], clause[2:], strict=False)
    )


def _strays(
    campaign: Campaign,
    clause: Sequence[str],
    marks: AbstractSet[str],
    strays: AbstractSet[str],
    bound: bool,
    offered: bool,
) -> int:
    """Count the words, up to `MOST_STRAYS`, that stand where only product, offer and what joins them may stand.

    That is from the first to the last of their words in a clause, and after the offer up to a call or a purpose; all
    of a clause that goes on with the offer of the one before; and what is said of the shop or its offer by name.

    Args:
        campaign: Of the prompt.
        clause: Words in uniform notation.
        marks: The words of the push that name product or offer.
        strays: Its words that may stand beside neither.
        bound: Whether the clause goes on with the offer of the one before.
        offered: Whether the offer stands before the clause.
    """
    if strays.isdisjoint(clause) and _LEADS.isdisjoint(clause):
        return 0
    start, last = _zone(clause, marks, bound, offered)
    if start < 0:
        return 0
    named = not marks.isdisjoint(clause)
    offers = bound or not named or not campaign.made.isdisjoint(clause)
    count = int(named and _is_kind_of(clause, start, strays))
    aims = False
    for place in range(start, len(clause)):
        word = clause[place]
        if place > last and _leaves_offer(clause, place, aims):
            break
        if offers and word in _LEADS:
            aims = receives(clause[place + 1 :], campaign.fits)
            count += not aims
        elif not offers and place > last and (word in CLOSED_CLASS or word in _TAILS):
            # Beside the product alone, what it is like counts, and not what a shopper does with it.
            break
        elif word in strays and (named or word != NEUTRAL):
            count += 1
            if not offers:
                break
    return min(count, MOST_STRAYS)


def _zone(clause: Sequence[str], marks: AbstractSet[str], bound: bool, offered: bool) -> tuple[int, int]:
    """Return where a clause begins to be closed, and the last word of product, offer or shop; -1 if it is open."""
    if not marks.isdisjoint(clause):
        places = [place for place, word in enumerate(clause) if word in marks]
        return 0 if bound else places[0], places[-1]
    if bound:
        return 0, -1
    if SHOP.isdisjoint(clause):
        return -1, -1
    last = next(place for place, word in enumerate(clause) if word in SHOP)
    return 0 if offered else last, last


def _leaves_offer(clause: Sequence[str], place: int, aims: bool) -> bool:
    """Return whether a clause turns from the offer to what a shopper does: a call, a second verb, a purpose."""
    word = clause[place]
    return (
        word in _CALLS
        or (place > 0 and clause[place - 1] == "e" and word in _GOES_ON)
        or (aims and is_infinitive(word))
    )


def _is_kind_of(clause: Sequence[str], place: int, strays: AbstractSet[str]) -> bool:
    """Return whether a clause names another thing `de` the product, as `réplicas de bolsas`."""
    if place < 2 or clause[place - 1] not in ("de", "dos", "das", "do", "da"):
        return False
    head = clause[place - 2]
    return head.isalpha() and head in strays and head not in CLOSED_CLASS and head not in _PLAIN


def _limits_itself(word: str, clause: Sequence[str], own: AbstractSet[str]) -> bool:
    """Return whether a word limits the offer by its own deadline: `só até meia-noite` of one that ends then."""
    if word not in _LIMITING:
        return False
    after = clause[clause.index(word) + 1 :]
    first = next((each for each in after if each not in ("a", "o", "este", "esse", "nesse", "neste")), "")
    return first[:1] == PART and first in own


def speaks(campaign: Campaign, folded: str, said: AbstractSet[str]) -> float:
    """Grade whether words fit this product or speak to this audience, in [0, 1].

    Words that fit other products alone count against it: a form that names an occasion for each fits none. Who quotes
    the audience's line addresses nobody.
    """
    theirs = set(map(root, said - CLOSED_CLASS))
    apt = len(theirs & campaign.of_product.apt)
    if not apt and (theirs.isdisjoint(campaign.of_audience.apt) or campaign.segment in folded):
        return 0.0
    astray = len(roots(said & _ANY_SENSE) - campaign.of_product.roots - campaign.of_audience.roots)
    apt = max(apt, 1)
    return ramp(astray, apt + ASTRAY, apt)
