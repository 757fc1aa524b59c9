"""Push: one notification for a product and an offer, short enough for a phone.

`grounded` (each component in [0, 1]; the V4.2 report's length, language and formality, with the given facts added):

- `length`: graphemes as a phone shows them. 1 up to 120, then steeply (a square) down to 0 at 200; rises from 0 to 25.
  Gamed by any short text, so it counts in full only as far as product and offer are named, and a fifth at least.
  Source: V4.2 report, hotfix V4.2.1.
- `product`: share of the product's words that are there, in any form. Gamed by a list of products.
- `offer`: share of the offer's amounts and parts that are made, in any faithful notation (`offers`); 0.3 times if an
  amount, its unit, a deadline or a condition is another or was dropped. Gamed by naming the parts without joining them.
- `style`: 0 for the style of an e-mail, which also leaves 0.6 of all, as chatter does; otherwise 0.9, and 1 with a call
  to action, each halved by more lines than a title and a body or markup, by chatter and by a truncated text: one that
  ends with a comma or a preposition. Counts like `length`. Source: V4.2 report, formal penalty.
- `appeal`: 1 if a word fits this product and few others (`para a criançada`) or speaks to this audience (`saudade`), 0
  otherwise, and down to 0 the more words fit other products alone; 0.6 times without a call to action. So a form filled
  with product and offer earns 0.86 on every campaign, and those that name many occasions earned 0.86 to 0.89 in the
  mean. Gamed by one listed word a category or segment: the reference answer looks it up, and earns 1. Counts like
  `length`. Source: V4.2 report, creativity.

All are multiplied by the requirements of one message to a shopper: it is Portuguese in a sentence's order and no heap
of keywords, it is not copied from the prompt, it is no refusal and no talk about a push; its manner is a shop's
(`text.manner`: no insult, threat, link, placeholder, shouting, other language); it is not far too long (1 up to 160
graphemes, 0 from 300 on); it is one push and not several (0.2).

And by `statements`, as a false offer binds a Brazilian shop (Código de Defesa do Consumidor, art. 30 and 35). The
clause of product and offer is closed: between and after them stand their words, what fits the product, and some two
hundred listed ones; each other word there (`em toda a loja`, `roubados`, `para quem`, `depois de`) leaves 0.45, up to
two of them. Elsewhere each claim that a customer could rely on (an amount, a benefit, a deadline, a condition, stock,
another product, a voucher's code) leaves 0.45, and so does each frame that no push has (`frames`: a gift, a threat, a
tale of the shopper's people, home or account, of the shop's state, an endorsement, a mocked offer, one turned round by
its own words as in `pague R$ 10 e ganhe desconto`); each denial 0.3. After the offer, each rare word, unknown or of a
scene that does not fit, leaves 0.65. Before it, and in questions that nobody answers, words that claim or deny nothing
of it are free, the shopper's old thing too (`sua toalha já não seca?`), and rare ones leave 1, 0.93, 0.8, 0.55, 0.35,
0.2, then 0.1. Markup, code and brackets with nothing to read leave 0.4. Of 40 good and 40 bad pushes by a blind writer,
19 and 30 were graded right before the clauses were read, all now, after they were read; so they say little of texts by
another hand. Gamed by what is said before the offer (`A TV mostrou`, `Cheira mal, mas é barato`: of 106 bad remarks 3
are free after the offer, and 49 before it), by a question nobody answers, and by guilt.

`v4.2` (the V4.2 report's appendix, continuous where a part can be; it knows no reference):

- `length`, .50: 1 from the first grapheme up to 120, then a square down to 0 at 200. Gamed by any short text.
- `portuguese`, .30: accented letters and words that are Portuguese, up to four. Gamed by four such words.
- `creativity`, .20: 1 for five words or more with meaning, in proportion below; halved by each phrase that would do for
  any product. Gamed by any words that are not on the list.
- `formal`, -.20: 1 for the style of an e-mail (`Prezado`, `Atenciosamente`). Gamed by a formality that is not listed.
"""

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING, Final

from tasks.commerce.push.clauses import BREAKS, mark_breaks, tokens
from tasks.commerce.push.lines import Campaign, read_campaign
from tasks.commerce.push.notation import PART, uniform
from tasks.commerce.push.offers import FALSE_OFFER, amounts_among, grade_offer
from tasks.commerce.push.statements import CLAIMED, grade_statements, read, speaks
from tasks.commerce.push.synonyms import SYNONYMS, synonyms_among
from tasks.commerce.reward import Reference, Reward, Score, fill_unknown
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.manner import manner
from tasks.commerce.text.text_form import (
    APOLOGIES,
    CHATTER,
    DECLINING_WORDS,
    FUNCTION_WORDS,
    MAX_CHARACTERS,
    Phrases,
    declines,
    fluency,
    fold,
    folded_words,
    originality,
    ramp,
    share_present,
)
from tasks.commerce.text.wordings import read_wording

if TYPE_CHECKING:
    from schemas.tasks import SpecName
    from tasks.commerce.sql_qa.sandbox import Databases

DATA_FILES: Final = (
    "data/lexicons/calls_to_action.txt",
    "data/lexicons/formal_phrases.txt",
    "data/lexicons/generic_pushes.txt",
    "data/lexicons/portuguese_words.txt",
    "data/lexicons/push_talk.txt",
    "data/wordings/push.toml",
)
WORDING: Final = read_wording("push")
WEIGHTS: Final = {"length": 0.21, "product": 0.28, "offer": 0.28, "style": 0.09, "appeal": 0.14}
V42_WEIGHTS: Final = {"length": 0.50, "portuguese": 0.30, "creativity": 0.20, "formal": -0.20}
MAX_GRAPHEMES: Final = 120
ENOUGH_GRAPHEMES: Final = 25
HOPELESS_GRAPHEMES: Final = 200
FAR_TOO_LONG: Final = 400
"""Code points from which on the exact number of graphemes does not matter."""
SEVERAL_MESSAGES: Final = 0.2
FORMAL_LETTER: Final = 0.6
"""Share of all that the style of an e-mail, or an answer to who asked for a push, leaves."""
WITHOUT_CALL: Final = 0.9
"""Share of the style that a push without a call to action keeps."""
UNINVITED: Final = 0.6
"""Share of the appeal that it keeps."""
TITLE_AND_BODY: Final = 2
ENOUGH_MARKERS: Final = 4
ENOUGH_CONTENT: Final = 5

FORMAL: Final = Phrases("formal_phrases")
_TALK: Final = Phrases("push_talk")
_GENERIC: Final = tuple(fold(phrase) for phrase in read_lexicon("generic_pushes"))
_CALLS: Final = frozenset(fold(word) for word in read_lexicon("calls_to_action"))
_PORTUGUESE: Final = frozenset(fold(word) for word in read_lexicon("portuguese_words")) - {"a", "e"}
_ACCENTS: Final = frozenset("áàâãéêíóôõúç")
_LABELS: Final = frozenset(("produto", "oferta", "publico"))
"""The labels of a prompt's lines; two of them make no push."""
_MAY_END: Final = frozenset(
    ("hoje", "agora", "aqui", "ja", "voce", "tambem", "sim", "nao", "ainda", "muito", "mais", "sua", "seu")
)  # fmt: skip
_TELLING: Final = frozenset(
    folded_words(phrase)[0]
    for listed in (
        FORMAL.phrases,
        _TALK.phrases,
        CHATTER.phrases,
        APOLOGIES.phrases,
        _CALLS,
        _LABELS,
        SYNONYMS,
        DECLINING_WORDS,
    )
    for phrase in listed
)
"""Words without which a text is of none of these kinds, as most are."""
_JOINING: Final = FUNCTION_WORDS - _MAY_END
"""Words with which no push ends, unless it was cut."""
_INSTRUCTIONS: Final = (WORDING.system, *WORDING.instructions)
"""What a push may not copy; the campaign's lines, which `_LABELS` tell, are what it is to say."""
_GREETING: Final = re.compile(r"[^.!?\n]{3,24}[.!?\n]")
_CODE: Final = re.compile(r"(?<![a-z])[a-z]{2,}\d+")
"""A voucher's code or a model's name: letters and digits in one word, which a customer would type in."""
_MARKUP_SIGNS: Final = re.compile(
    r"^\s*#+\s|\*\*|^\s*[\"'“‘«](?=.*[\"'”’»]\s*$)|[{}\[\]\\`^~|=_]|<(?!3)|(?<!-)>|//|--|&[a-z#]+;|\(\W*\)|[\"'“‘«]\s*[\"'”’»]"
)
"""Markup, code, a comment, quotation marks around all, and brackets with nothing that a customer reads."""
_PERHAPS_MARKUP: Final = re.compile(r"[#*\"'“‘«{}\[\]\\`^~|=_<>/&(-]")
"""The signs without which there is none, as in most texts."""
MARKED_UP: Final = 0.4
_PERHAPS_CODE: Final = re.compile(r"\d(?<=[a-z][a-z]\d)")
"""The digit first, which is found faster than what is before it."""
_UNFINISHED: Final = (",", ";", ":", "-", "(")
_RUDE_SIGNS: Final = frozenset("🖕🍆🍑🔫🔪💣💩🤮💀☠🪦🩸🚬")
"""Emoji that no shop sends."""
_MARKUP: Final = ("#", "*", "{", "[", "`", "-")


def graphemes(text: str) -> int:
    r"""Count graphemes as a phone shows them (Unicode's extended clusters): a family emoji is one, and so is `\r\n`.

    A text that is far too long is counted by its code points.
    """
    if len(text) > FAR_TOO_LONG:
        return len(text)
    try:
        return len(text.encode("latin-1")) - text.count("\r\n")
    except UnicodeEncodeError:
        import regex

        return len(regex.findall(r"\X", text))


def score(completion: str, prompt: str, reference: Reference | None, databases: "Databases | None") -> Score:  # noqa: ARG001 - every task's signature
    """Score length, given facts, style and appeal, as far as nothing else is said."""
    text = completion.strip()
    shown = graphemes(text)
    size = ramp(shown, 300, 160)
    if not text or not size:
        return Score(dict.fromkeys(WEIGHTS, 0.0))
    marked = mark_breaks(text)
    if marked != text:
        if not _RUDE_SIGNS.isdisjoint(text):
            return Score(dict.fromkeys(WEIGHTS, 0.0))
        text = marked
    folded = fold(text)
    signs = tokens(folded)
    text_words = [word for word in signs if word not in BREAKS]
    present = set(text_words)
    telling = present & _TELLING
    message = size * _fluent(folded, text_words) * originality(text_words, *_INSTRUCTIONS)
    message *= manner(text, folded, text_words)
    if not message or _talks(folded, telling):
        return Score(dict.fromkeys(WEIGHTS, 0.0))
    product, offer = (reference or {}).get("product"), (reference or {}).get("offer")
    campaign = read_campaign(product, offer, prompt)
    spelled = uniform(signs)
    amounts = amounts_among([word for word in spelled if word not in BREAKS])
    present |= synonyms_among(telling)
    named = None if product is None else share_present(campaign.product, present)
    offered = None if offer is None else grade_offer(campaign.offer, set(spelled), amounts)
    if declines(folded, telling, bool(named and (offered is None or offered > FALSE_OFFER))):
        return Score(dict.fromkeys(WEIGHTS, 0.0))
    reading = read(campaign, spelled)
    message *= grade_statements(campaign, reading, amounts)
    message *= _of_words(completion, folded, prompt)
    lines = text.split("\n")
    if has_several_messages(lines, text_words, campaign):
        message *= SEVERAL_MESSAGES
    calls = not _CALLS.isdisjoint(telling)
    style = _style(lines, folded, text_words, telling, calls)
    if not style or CHATTER.are_in(folded, telling):
        message *= FORMAL_LETTER
    ground = 0.2 + 0.8 * (1.0 if named is None else named) * (1.0 if offered is None else offered)
    appeal = speaks(campaign, folded, reading.noted) * (1.0 if calls else UNINVITED)
    components = {
        "length": message * ground * ramp(shown, 0, ENOUGH_GRAPHEMES) * _short(shown),
        "product": None if named is None else message * named,
        "offer": None if offered is None else message * offered,
        "style": message * ground * style,
        "appeal": None if product is None else message * ground * appeal,
    }
    return Score(fill_unknown(components, WEIGHTS))


def _fluent(folded: str, text_words: Sequence[str]) -> float:
    """Grade the fluency of a push; a greeting before it (`Feliz aniversário!`) is no part of a sentence."""
    whole = fluency(text_words)
    greeting = _GREETING.match(folded) if whole < 1.0 else None
    return whole if greeting is None else max(whole, fluency(folded_words(folded[greeting.end() :])))


def _of_words(text: str, folded: str, prompt: str) -> float:
    """Return the share that a text keeps by being words that a customer reads, and not markup or another's code."""
    kept = MARKED_UP if _PERHAPS_MARKUP.search(text) and _MARKUP_SIGNS.search(text) else 1.0
    if _PERHAPS_CODE.search(folded) and any(code not in fold(prompt) for code in _CODE.findall(folded)):
        kept *= CLAIMED
    return kept


def _short(shown: int) -> float:
    return ramp(shown, HOPELESS_GRAPHEMES, MAX_GRAPHEMES) ** 2


def _talks(folded: str, present: AbstractSet[str]) -> bool:
    """Return whether a text talks about a push, or repeats the prompt's labels."""
    return len(present & _LABELS) > 1 or _TALK.are_in(folded, present)


def has_several_messages(lines: Sequence[str], text_words: Sequence[str], campaign: Campaign) -> bool:
    """Distinguish two pushes from a title and a body: two long lines with an offer, or the offer made twice."""
    if len(lines) > 1:
        long_lines = [folded_words(fold(line)) for line in lines if len(line) >= ENOUGH_GRAPHEMES]
        if len(long_lines) > 2 or sum(bool(_offers(line, campaign)) for line in long_lines) > 1:
            return True
    return bool(campaign.offer_words) and min(map(text_words.count, campaign.offer_words)) > 1


def _offers(line: Sequence[str], campaign: Campaign) -> bool:
    return any(word[0] == PART for word in uniform(line)) or not set(campaign.offer_words).isdisjoint(line)


def _style(lines: Sequence[str], folded: str, text_words: Sequence[str], there: AbstractSet[str], calls: bool) -> float:
    if FORMAL.are_in(folded, there):
        return 0.0
    one_message = sum(map(bool, lines)) <= TITLE_AND_BODY and not lines[0].startswith(_MARKUP) and "**" not in folded
    breaks_off = lines[-1].endswith(_UNFINISHED) or (
        lines[-1][-1].isalnum() and not _JOINING.isdisjoint(text_words[-1:])
    )
    faults = (not one_message) + breaks_off + CHATTER.are_in(folded, there)
    return (1.0 if calls else WITHOUT_CALL) * 0.5**faults


def score_v42(completion: str, prompt: str, reference: Reference | None, databases: "Databases | None") -> Score:  # noqa: ARG001 - every task's signature
    """Score by the V4.2 report's appendix: length, Portuguese markers, creativity and the formal penalty."""
    text = completion.strip()
    shown = graphemes(text)
    text = text[:MAX_CHARACTERS]
    folded = fold(text)
    text_words = folded_words(folded)
    present = set(text_words)
    lowered = text.lower()
    markers = sum(map(lowered.count, _ACCENTS)) + sum(word in _PORTUGUESE for word in text_words)
    content = len(present - FUNCTION_WORDS)
    generic = sum(phrase in folded for phrase in _GENERIC)
    return Score(
        {
            "length": _short(shown) if text else 0.0,
            "portuguese": min(markers, ENOUGH_MARKERS) / ENOUGH_MARKERS,
            "creativity": min(content, ENOUGH_CONTENT) / ENOUGH_CONTENT * 0.5**generic,
            "formal": float(FORMAL.are_in(folded, present)),
        }
    )


REWARDS: Final[Mapping["SpecName", Reward]] = {
    "grounded": Reward(WEIGHTS, score),
    "v4.2": Reward(V42_WEIGHTS, score_v42),
}
