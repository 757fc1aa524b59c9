"""Kinds of a push's words: what each word says in a campaign, as flags that are found once for all answers to it."""

from typing import TYPE_CHECKING, Final, NamedTuple

from tasks.commerce.push.clauses import BREAKS, COMMA
from tasks.commerce.push.frames import FRAMES, INVERTING, SHOP, TRIGGERS
from tasks.commerce.push.notation import CLAIM, DENIAL, NEUTRAL, NEUTRAL_TAIL, PART
from tasks.commerce.push.senses import any_sense, product_stems
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.remembered import Remembered
from tasks.commerce.text.text_form import fold, folded_words, stem
from tasks.commerce.text.vocabulary import CLOSED_CLASS, root, roots

if TYPE_CHECKING:
    from tasks.commerce.push.lines import Campaign

DATA_FILES: Final = (
    "data/lexicons/calls_to_action.txt",
    "data/lexicons/push_claims.txt",
    "data/lexicons/push_denials.txt",
    "data/lexicons/push_scenes.txt",
    "data/lexicons/push_soft.txt",
    "data/lexicons/push_tails.txt",
    "data/lexicons/push_words.txt",
)
OFFERS, STRAY, LEADS, TRIGGER, OF_SHOP, INVERTS = (1 << place for place in range(6))
"""Makes the offer; may stand beside neither it nor the product; leads to a receiver; opens a frame; names the shop;
may turn the offer round."""
DENIES, CLAIMS, THING, RARE, SOFT, ASKED = (1 << place for place in range(6, 12))
"""Denies; claims; names a thing of shops, a claim unless lenient; is in no list; claims nothing where lenient, or in a
question."""
FITS_PRODUCT, FITS_AUDIENCE, FITS_OTHERS, NAMES = (1 << place for place in range(12, 16))
"""Fits this product; speaks to this audience; fits other products alone; names product or offer."""
BREAK, ENDS = 1 << 16, 1 << 17
"""Ends a clause; ends a sentence too."""
NOTED: Final = FITS_PRODUCT
"""Flags from which on a word is noted: it names product or offer, or fits one."""
ODD: Final = DENIES | CLAIMS | THING | RARE

_KNOWN: Final = roots(
    word
    for lexicon in ("push_words", "calls_to_action")
    for entry in read_lexicon(lexicon)
    for word in folded_words(fold(entry))
)
_DENIALS: Final = frozenset(fold(word) for word in read_lexicon("push_denials") if " " not in word)
_CLAIMS: Final = frozenset(fold(word) for word in read_lexicon("push_claims") if " " not in word) | _DENIALS
PLAIN: Final = (
    frozenset(fold(word) for lexicon in ("push_words", "calls_to_action") for word in read_lexicon(lexicon))
    | CLOSED_CLASS
) - _CLAIMS
TAILS: Final = frozenset(map(fold, read_lexicon("push_tails"))) | {NEUTRAL_TAIL}
CALLS: Final = frozenset(map(fold, read_lexicon("calls_to_action"))) - {"volta", "parcela", "parcele", "use", "leve"}
_GUARDED: Final = CLOSED_CLASS | FRAMES["owned"]["nouns"] | FRAMES["endorsement"]["who"]
"""Words that frames read, or that need no list."""
_PRODUCTS: Final = product_stems()
_SCENES: Final = frozenset(map(fold, read_lexicon("push_scenes")))
_SOFT: Final = {
    form: ASKED if entry.endswith("?") else SOFT | ASKED
    for entry in map(fold, read_lexicon("push_soft"))
    for word in (entry.removesuffix("?"),)
    for form in ((f"{CLAIM}{word}", f"{DENIAL}{word}") if " " in word else (word,))
}
_LEADS: Final = FRAMES["receiver"]["leads"]
_BESIDE: Final = TAILS | CALLS | BREAKS | _LEADS | {"%"}
_PLAIN_SIGNS: Final = PLAIN | BREAKS | {"%", "r$", NEUTRAL, NEUTRAL_TAIL}
_EVERYWHERE: Final = _BESIDE & _PLAIN_SIGNS
"""Words that are free beside the offer and elsewhere."""
_QUOTED: Final = frozenset(("cliente", "clientes", "publico", "compraram"))
"""Words of an audience's line that nobody says to it."""


def _uses() -> dict[str, int]:
    found = dict(_SOFT)
    lists = ((LEADS, _LEADS), (TRIGGER, TRIGGERS), (OF_SHOP, SHOP), (STRAY, _QUOTED), (INVERTS, INVERTING))
    for flag, listed in lists:
        for word in listed:
            found[word] = found.get(word, 0) | flag
    return found


_USES: Final = _uses()
"""The flags of words that a frame, a receiver or the shop's name may have."""
_SHOPPER: Final = frozenset(("amei", "adorei", "gostei", "sonhei", "sei", "rei", "hei", "ei"))
"""Words in `ei` that are no verb of who wrote the text, as `usei` is; a shop speaks as `nós`."""
_ANY_SENSE: Final = any_sense()
_SIGNS: Final = (PART, CLAIM, DENIAL)


class _Word(NamedTuple):
    """A word as every campaign has it: its flags in any, where no line fits it, where none says it, and its root."""

    elsewhere: int
    """Its flags in a campaign of which no line is about it."""
    kind: int
    foreign: int
    unsaid: int
    root: str


def _read(word: str) -> _Word:
    own = root(word)
    kind = _USES.get(word, 0)
    says = _says(word, own)
    foreign = 0
    if word not in _EVERYWHERE:
        foreign = STRAY * (word not in _BESIDE and not word[0].isdigit()) | says * (word not in _PLAIN_SIGNS)
    unsaid = says * (word in _CLAIMS)
    fits_others = FITS_OTHERS * (word in _ANY_SENSE and word not in CLOSED_CLASS)
    return _Word(kind | foreign | unsaid | fits_others, kind, foreign, unsaid, own)


_WORDS: Final = Remembered(_read)


def kind_of(campaign: "Campaign", word: str) -> int:
    """Return the flags of a word in uniform notation."""
    if word in BREAKS:
        return BREAK | ENDS * (word != COMMA)
    elsewhere, kind, foreign, unsaid, own = _WORDS[word]
    product, audience = campaign.of_product, campaign.of_audience
    sells, offers, speaks = product.about, campaign.of_offer.about, audience.about
    if not (word in sells or own in sells or word in speaks or own in speaks or word in offers or own in offers):
        return elsewhere | NAMES * (own in campaign.named and word not in _EVERYWHERE)
    theirs = own in product.roots or own in audience.roots
    if word in campaign.made:
        kind |= OFFERS | NAMES
    elif word in campaign.named or (own in campaign.named and word not in _EVERYWHERE):
        kind |= NAMES
    if word not in campaign.of_offer.words and word not in product.words and word not in audience.words:
        kind |= unsaid
        if not theirs and own not in campaign.of_offer.roots:
            kind |= foreign
    if word in CLOSED_CLASS:
        return kind
    if own in product.apt:
        return kind | FITS_PRODUCT
    return kind | FITS_AUDIENCE if own in audience.apt else kind | FITS_OTHERS * (word in _ANY_SENSE and not theirs)


def _says(word: str, own: str) -> int:
    """Return what a word says that is not the campaign's: a denial, a claim, a thing, something rare, or nothing."""
    sign = word[0]
    if sign == DENIAL or word in _DENIALS:
        return DENIES
    if sign in _SIGNS or word in _CLAIMS or (word[-2:] == "ei" and word not in _SHOPPER):
        return CLAIMS
    if not word.isalpha():
        return 0
    thing = stem(word) in _PRODUCTS and word not in _SCENES
    return THING * thing | RARE * (own not in _KNOWN and word not in _GUARDED)
