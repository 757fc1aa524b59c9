"""Kinds of a push's words: what each word says in a campaign, as flags that are found once for all answers to it."""

from typing import TYPE_CHECKING, Final

from tasks.commerce.push.clauses import BREAKS
from tasks.commerce.push.frames import FRAMES, SHOP, TRIGGERS
from tasks.commerce.push.notation import CLAIM, DENIAL, NEUTRAL, NEUTRAL_TAIL, PART
from tasks.commerce.push.senses import any_sense, product_stems
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.text_form import fold, stem
from tasks.commerce.text.vocabulary import CLOSED_CLASS, Vocabulary, root

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
NAMES, OFFERS, STRAY, LEADS, TRIGGER, OF_SHOP = (1 << place for place in range(6))
"""Names product or offer; makes the offer; may stand beside neither; leads to a receiver; frames; the shop's name."""
DENIES, CLAIMS, THING, RARE, SOFT = (1 << place for place in range(6, 11))
"""Denies; claims; names a thing of shops, a claim unless lenient; is in no list; claims nothing where lenient."""
FITS_PRODUCT, FITS_AUDIENCE, FITS_OTHERS = (1 << place for place in range(11, 14))
"""Fits this product; speaks to this audience; fits other products alone."""
ODD: Final = DENIES | CLAIMS | THING | RARE

_VOCABULARY: Final = Vocabulary("push_words", "calls_to_action")
_DENIALS: Final = frozenset(fold(word) for word in read_lexicon("push_denials") if " " not in word)
_CLAIMS: Final = frozenset(fold(word) for word in read_lexicon("push_claims") if " " not in word) | _DENIALS
PLAIN: Final = (
    frozenset(fold(word) for lexicon in ("push_words", "calls_to_action") for word in read_lexicon(lexicon))
    | CLOSED_CLASS
) - _CLAIMS
TAILS: Final = frozenset(map(fold, read_lexicon("push_tails"))) | {NEUTRAL_TAIL}
CALLS: Final = frozenset(map(fold, read_lexicon("calls_to_action"))) - {"volta", "parcela", "parcele", "use", "leve"}
_PRODUCTS: Final = product_stems()
_SCENES: Final = frozenset(map(fold, read_lexicon("push_scenes")))
_SOFT: Final = frozenset(
    form
    for entry in map(fold, read_lexicon("push_soft"))
    for form in ((f"{CLAIM}{entry}", f"{DENIAL}{entry}") if " " in entry else (entry,))
)
_LEADS: Final = FRAMES["receiver"]["leads"]
_BESIDE: Final = TAILS | CALLS | BREAKS | _LEADS
_PLAIN_SIGNS: Final = PLAIN | BREAKS | {"%", "r$", NEUTRAL, NEUTRAL_TAIL}
_EVERYWHERE: Final = _BESIDE & _PLAIN_SIGNS
"""Words that are free beside the offer and elsewhere."""
_QUOTED: Final = frozenset(("cliente", "clientes", "publico", "compraram"))
"""Words of an audience's line that nobody says to it."""
_SHOPPER: Final = frozenset(("amei", "adorei", "gostei", "sonhei", "sei", "rei", "hei", "ei"))
"""Words in `ei` that are no verb of who wrote the text, as `usei` is; a shop speaks as `nós`."""
_ANY_SENSE: Final = any_sense()
_SIGNS: Final = (PART, CLAIM, DENIAL)


def kind_of(campaign: "Campaign", word: str) -> int:
    """Return the flags of a word in uniform notation."""
    kind = (
        OFFERS * (word in campaign.made)
        | LEADS * (word in _LEADS)
        | TRIGGER * (word in TRIGGERS)
        | OF_SHOP * (word in SHOP)
        | SOFT * (word in _SOFT)
    )
    if kind & OFFERS or word in campaign.named or (word not in _EVERYWHERE and root(word) in campaign.named):
        kind |= NAMES
    product, audience = campaign.of_product, campaign.of_audience
    said = word in campaign.of_offer.words or word in product.words or word in audience.words
    foreign = not said and word not in _EVERYWHERE and not campaign.fits(word)
    if (foreign and word not in _BESIDE and not word[0].isdigit()) or word in _QUOTED:
        kind |= STRAY
    if (foreign and word not in _PLAIN_SIGNS) or (not said and word in _CLAIMS):
        kind |= _says(word)
    return kind if word in CLOSED_CLASS else kind | _sense(campaign, word)


def _says(word: str) -> int:
    """Return what a word says that is not the campaign's: a denial, a claim, a thing, something rare, or nothing."""
    sign = word[0]
    if sign == DENIAL or word in _DENIALS:
        return DENIES
    if sign in _SIGNS or word in _CLAIMS or (word[-2:] == "ei" and word not in _SHOPPER):
        return CLAIMS
    if not word.isalpha():
        return 0
    return THING * (stem(word) in _PRODUCTS and word not in _SCENES) | RARE * (word not in _VOCABULARY)


def _sense(campaign: "Campaign", word: str) -> int:
    own, product, audience = root(word), campaign.of_product, campaign.of_audience
    others = word in _ANY_SENSE and own not in product.roots and own not in audience.roots
    return FITS_PRODUCT * (own in product.apt) | FITS_AUDIENCE * (own in audience.apt) | FITS_OTHERS * others
