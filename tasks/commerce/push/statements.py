"""Closed world of a push: what it may say, and what each statement beyond that costs.

A push is read by clause. The clause that says product and offer is closed: from the first of them to its end stand
their words, what fits the product, and the words of `push_tails`; all else is a claim of what kind, for whom, when or
how far. Elsewhere it may say the few hundred words and phrases of `push_words` and `push_phrases`, which promise
nothing. A claim that a customer could rely on (a benefit, an amount, a date, a stock, an effect, another product, a
frame of `frames`), or a denial of the offer, costs at once; a rare word costs nothing, and several much.
"""

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from typing import Final, NamedTuple

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
from tasks.commerce.push.notation import CLAIM, DENIAL, NEUTRAL, NEUTRAL_TAIL, PART, uniform
from tasks.commerce.push.offers import Amount, Offer, invented_amounts, read_offer
from tasks.commerce.push.senses import ANY_PRODUCT, address_of, any_sense, product_stems, sense_of
from tasks.commerce.push.synonyms import names_of
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.portuguese_numbers import numbers_among
from tasks.commerce.text.text_form import KEPT_PROMPTS, content_words, fold, ramp, stem, words
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
_HEADS: Final = frozenset(("aparelhos", "artigos", "itens", "produtos"))
"""Heads of a product's name that people leave out: `ar-condicionado` is what they call it."""


class Sayable(NamedTuple):
    """Words that one line of a campaign lets a push say."""

    words: frozenset[str]
    roots: frozenset[str]
    numbers: frozenset[float]
    apt: frozenset[str]
    """Roots of the words that fit the line without being its own."""


class Campaign(NamedTuple):
    """What a push must and may say, parsed once for all answers to a prompt."""

    product: tuple[str, ...]
    offer: Offer
    offer_words: tuple[str, ...]
    """The offer's words, signs and numbers."""
    made: frozenset[str]
    """The parts and numbers of the offer, in uniform notation."""
    named: frozenset[str]
    """What names the product: its head, in any form, and its other names."""
    line: frozenset[str]
    """The product's words."""
    of_product: Sayable
    of_offer: Sayable
    of_audience: Sayable
    segment: str
    """The audience as the prompt has it, folded."""

    def fits(self, word: str) -> bool:
        """Return whether a word is said by a line of the campaign, or fits one."""
        return word in self.of_offer.words or self.suits(word) or root(word) in self.of_offer.roots

    def suits(self, word: str) -> bool:
        """Return whether a word is the product's or the audience's, or fits one of them."""
        product, audience = self.of_product, self.of_audience
        if word in product.words or word in audience.words:
            return True
        own = root(word)
        return own in product.roots or own in audience.roots

    def sells(self, word: str) -> bool:
        """Return whether a word is the product's or the offer's."""
        return word in self.line or word in self.of_offer.words or root(word) in self.named


def _sayable(line: str, more: frozenset[str], apt: frozenset[str]) -> Sayable:
    read = words(line)
    own = more.union(read, uniform(read))
    own_roots = roots(own - CLOSED_CLASS)
    apt_roots = roots(apt - CLOSED_CLASS)
    numbers = frozenset(numbers_among(uniform(read)))
    return Sayable(own | apt, own_roots | apt_roots, numbers, apt_roots - own_roots)


# A campaign's lines are few, and meet in many prompts.
@lru_cache(maxsize=KEPT_PROMPTS)
def _product(product: str) -> Sayable:
    return _sayable(product, names_of(frozenset(_content(product))), sense_of(product))


@lru_cache(maxsize=KEPT_PROMPTS)
def _offer(offer: str) -> Sayable:
    return _sayable(offer, read_offer(offer).allowed, frozenset())


@lru_cache(maxsize=KEPT_PROMPTS)
def _audience(segment: str) -> Sayable:
    address = address_of(segment)
    read = words(segment)
    return Sayable(
        address.union(read), _roots(address).union(map(root, read)), frozenset(numbers_among(read)), _roots(address)
    )


@lru_cache(maxsize=KEPT_PROMPTS)
def _roots(address: frozenset[str]) -> frozenset[str]:
    return roots(address)


@lru_cache(maxsize=KEPT_PROMPTS)
def _content(line: str) -> tuple[str, ...]:
    return tuple(content_words(line))


def _short(product: tuple[str, ...]) -> tuple[str, ...]:
    """Return a product's words without the head that people leave out."""
    return product[1:] if len(product) > 1 and product[0] in _HEADS else product


@lru_cache(maxsize=KEPT_PROMPTS)
def _made(offer: str) -> frozenset[str]:
    spelled = uniform(words(offer))
    marks = frozenset(word for word in spelled if word[0] == PART or word[0].isdigit())
    return marks or frozenset(spelled) - CLOSED_CLASS


@lru_cache(maxsize=KEPT_PROMPTS)
def _in_line(product: str) -> frozenset[str]:
    return frozenset(_content(product))


@lru_cache(maxsize=KEPT_PROMPTS)
def _named(product: str) -> frozenset[str]:
    read = _short(_content(product))
    head = frozenset(next(([word] for word in read if word not in ANY_PRODUCT), read))
    return head | roots(head) | names_of(frozenset(read))


@lru_cache(maxsize=KEPT_PROMPTS)
def read_campaign(product: str | None, offer: str | None, prompt: str = "") -> Campaign:
    """Return what a push of a campaign must and may say.

    Args:
        product: None if unknown: then the prompt's line says what a push may say.
        offer: None if unknown, likewise.
        prompt: The prompt, whose lines have labels.
    """
    segment = _line(prompt, "Público: ")
    said_product = _line(prompt, "Produto: ") if product is None else product
    said_offer = _line(prompt, "Oferta: ") if offer is None else offer
    return Campaign(
        product=_short(_content(product or "")),
        offer=read_offer(said_offer),
        offer_words=_content(offer or ""),
        made=_made(said_offer),
        named=_named(said_product),
        line=_in_line(said_product),
        of_product=_product(said_product),
        of_offer=_offer(said_offer),
        of_audience=_audience(segment),
        segment=fold(segment),
    )


def _line(prompt: str, label: str) -> str:
    start = prompt.find(f"\n{label}") + 1
    return prompt[start + len(label) :].split("\n", 1)[0] if start else ""


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
    # Most words are in every list, and are looked up no further.
    marks = said & campaign.made | said & campaign.named
    marks |= {word for word in said - _EVERYWHERE if root(word) in campaign.named}
    unsaid = said - offer.words - product.words - audience.words
    foreign = {word for word in unsaid - _EVERYWHERE if not campaign.fits(word)}
    strays = {word for word in foreign - _BESIDE if not word[0].isdigit()} | (said & _QUOTED)
    odd = (foreign - _PLAIN_SIGNS) | (unsaid & _LISTED)
    triggers = TRIGGERS & said
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
            claims += _strays(campaign, clause, marks, strays, bound, offered)
            if lenient and "%" in clause:
                claims -= min(claims, _measures(clause, campaign.suits))
            if triggers and not triggers.isdisjoint(clause):
                claims += wrong_frames(clause, triggers, lenient, campaign.suits, campaign.sells)
            bound = bound or here
            offered = offered or here
            if odd.isdisjoint(clause):
                continue
            for word in clause:
                if word in odd and not (lenient and word in _SOFT):
                    kind = _kind(word, lenient)
                    if kind == _DENIES:
                        denials += 1
                    elif kind == _RARE:
                        rare.add(word)
                    elif kind:
                        claims += not _limits_itself(word, clause, offer.words)
        named = named or marked
    claims += any(spelled.count(word) > MOST_NAMED for word in marks if word.isalpha() or word[0] == PART)
    unknown = len(rare)
    return CLAIMED**claims * DENIED**denials * UNKNOWN[min(unknown, len(UNKNOWN) - 1)]


def _mocks(campaign: Campaign, clause: Sequence[str]) -> bool:
    """Return whether a clause after a question that holds the offer neither calls to action nor speaks of it."""
    return _ASKING.isdisjoint(clause[:2]) and not any(map(campaign.fits, clause))


def _goes_on(clause: Sequence[str], after_comma: bool) -> bool:
    return clause[0] in (AFTER_COMMA if after_comma else AFTER_STOP) and _CALLS.isdisjoint(clause)


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
    places = [] if marks.isdisjoint(clause) else [place for place, word in enumerate(clause) if word in marks]
    offers = bound or not campaign.made.isdisjoint(clause)
    start, last, count = 0, -1, 0
    if places:
        start, last = 0 if bound else places[0], places[-1]
        count = _is_kind_of(clause, places[0], strays)
    elif not bound:
        if SHOP.isdisjoint(clause):
            return 0
        last = next(place for place, word in enumerate(clause) if word in SHOP)
        start, offers = 0 if offered else last, True
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
        elif word in strays and (places or word != NEUTRAL):
            count += 1
            if not offers:
                break
    return min(count, MOST_STRAYS)


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
