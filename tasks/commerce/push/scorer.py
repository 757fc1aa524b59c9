"""Pushes: nothing for one with a fault; then how its opener fits, whether others begin so, and its length.

An answer is an opener, a core and a closer of the phrases; the checker below says what is wrong with it, for reward,
probes and rendering, and fills it in. Components in [0, 1]:

- `fit`: 1 for an opener of the product's group, a quarter for one that suits every product, 0 for none. A product of no
  group has no better one: then a general opener earns all. Gamed by one opener for each group.
- `variety`: the share of a step's other pushes that begin otherwise; 1 where a push is scored alone. So one opener for
  all earns 0.6 at most within a step. Gamed by openers in turn, whatever the audience.
- `length`: 1 up to 90 graphemes filled in, then down to 0.5 at 120. Gamed by leaving the closer out.

A push with a fault earns 0. No reference is read: the product and the offer of the prompt decide.
"""

import re
from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from functools import cache, lru_cache
from typing import Final, NamedTuple

import regex

from tasks.commerce.push.phrases import KEPT_CAMPAIGNS, MOST_PERCENT, amounts_of, content_words, read_phrases, suiting
from tasks.commerce.push.products import plain_name, plain_offer
from tasks.commerce.regulated import law_against_offering
from tasks.commerce.reward import Reference, Reward, Score, StepReward
from tasks.commerce.served import Served
from tasks.commerce.text.lexicons import read_data, read_entries, read_lexicon
from tasks.commerce.text.text_form import FUNCTION_WORDS, Phrases, fold, ramp, words

DATA_FILES: Final = (
    "data/lexicons/formal_phrases.txt",
    "data/lexicons/generic_pushes.txt",
    "data/lexicons/portuguese_words.txt",
)
LONGEST: Final = 120  # Graphemes that a phone shows.
_CAMPAIGN: Final = re.compile(r"^Produto: (.+)\nOferta: (.+)$", re.MULTILINE)
_NAMES: Final = read_entries("evidence/push.toml").nomes
_LAWS: Final = read_data("evidence/regulated.toml")
_NOT_OF_A_NAME: Final = re.compile("|".join((*_NAMES.nunca, f"[{_LAWS['sinais']}]")), re.IGNORECASE)
_NO_PRODUCT: Final = re.compile(_NAMES.sem_produto.replace("MATERIAL", "|".join(_LAWS["materiais"])), re.IGNORECASE)
_AMOUNT_OF: Final = r"(?:r\$ ?)?(?P<{}>\d[\d.,]*)"
_PAIRS: Final = [form.format(_AMOUNT_OF.format("most"), _AMOUNT_OF.format("least")) for form in _NAMES.pares]
_FIELD_FIRST: Final = re.compile(r"(^|[.!?] )\{(produto|oferta)\}")


class PushFault(StrEnum):
    """What is wrong with a push, as a rater and the asker read it."""

    NAME = "o produto ou a oferta tem o que nome não tem: marcação, link, telefone, sinais estranhos ou fim de frase"
    NUMBER = "a oferta tem um número que não se lê: escreva só um, como 1.234,50"
    SHARE = f"a oferta promete mais de {MOST_PERCENT}%, nada ou o contrário do que diz"
    FORM = "não é abertura, núcleo e fecho das frases conferidas"
    UNFIT = "uma frase não combina com o produto ou com a oferta, ou repete uma palavra deles"
    REPEATED = "uma palavra se repete"
    LONG = f"tem mais de {LONGEST} caracteres"


class PushCampaign(NamedTuple):
    """What a push is to say."""

    product: str
    offer: str


class PushParts(NamedTuple):
    """The phrases of a template; either end may be empty."""

    opener: str
    core: str
    closer: str

    @property
    def template(self) -> str:
        """Return the template."""
        return " ".join(filter(None, self))

    @property
    def repeats(self) -> bool:
        """Return whether two of the phrases have a word in common."""
        said = [*map(content_words, self)]
        return sum(map(len, said)) > len(set[str]().union(*said))


def read_campaign(prompt: str) -> PushCampaign | None:
    """Return the product and the offer of a prompt; None where it names none, or several."""
    prompt = prompt.replace("\r\n", "\n")
    found = _CAMPAIGN.search(prompt)
    if found is None or len(re.findall("^(?:Produto|Oferta): ", prompt, re.MULTILINE)) > len(PushCampaign._fields):
        return None
    return PushCampaign(plain_name(found[1]), plain_offer(found[2]))


@lru_cache(maxsize=KEPT_CAMPAIGNS)
def parts_of(template: str) -> PushParts | None:
    """Return the phrases of a template, whatever campaign it is for; None where it is no template."""
    match = _form().fullmatch(template)
    return PushParts(*(part or "" for part in match.groups())) if match else None


@cache
def _form() -> re.Pattern[str]:
    known = read_phrases()
    texts = (
        [text for group in known.grupos.values() for text in group.aberturas],
        [core.texto for core in known.nucleos],
        [*known.fechos.todas, *known.fechos.conhecidas],
    )
    opener, core, closer = ("|".join(map(re.escape, each)) for each in texts)
    return re.compile(f"(?:({opener}) )?({core})(?: ({closer}))?")


def fault_of(template: str, campaign: PushCampaign) -> str | None:
    """Return the first thing that is wrong with a template for a campaign; None where its text may be sent."""
    if fault := _campaign_fault(campaign):
        return fault
    parts, known = parts_of(template), suiting(*campaign)
    if parts is None:
        return PushFault.FORM
    suits = parts.opener in ("", *known.own, *known.general) and parts.core in known.cores
    if not suits or parts.closer not in ("", *known.closers):
        return PushFault.UNFIT
    if parts.repeats:
        return PushFault.REPEATED
    return PushFault.LONG if graphemes(fill(template, campaign)) > LONGEST else None


@lru_cache(maxsize=KEPT_CAMPAIGNS)
def _campaign_fault(campaign: PushCampaign) -> str | None:
    """Return why no push of this product and offer may be sent: a name that no customer may read, or a law."""
    is_name = all(re.fullmatch(_NAMES.sinais, name) and not _NOT_OF_A_NAME.search(name) for name in campaign)
    if not is_name or _NO_PRODUCT.search(campaign.product):
        return PushFault.NAME
    if amounts_of(campaign.offer) is None:
        return PushFault.NUMBER
    return PushFault.SHARE if _is_absurd(campaign.offer) else law_against_offering(*campaign)


def _is_absurd(offer: str) -> bool:
    """Return whether an offer gives all, nothing, or less than is paid for."""
    for form, text in _NAMES.lidos:
        offer = re.sub(form, text, offer, flags=re.IGNORECASE)
    found = (match for form in _PAIRS for match in re.finditer(form, offer, re.IGNORECASE))
    pairs = [amounts_of(f"{each['most']} {each['least']}".rstrip(".,")) for each in found]
    written = re.findall(r"(\d[\d.,]*)(?= ?%)", offer)
    shares = [share for text in written for share in amounts_of(text.rstrip(".,")) or ()]
    return (
        (0 in shares and re.search("desconto|off|menos", offer.lower()) is not None)
        or re.search("|".join(_NAMES.nada), offer, re.IGNORECASE) is not None
        or any(share > MOST_PERCENT for share in shares)
        or any(pair is None or pair[0] <= pair[1] for pair in pairs)
    )


def fill(template: str, campaign: PushCampaign) -> str:
    """Return what a customer reads: names in place of fields, with a capital where a sentence begins."""
    product, offer = campaign
    text = _FIELD_FIRST.sub(lambda field: field[1] + _begun(product if field[2] == "produto" else offer), template)
    if offer[1:2].islower() and offer.split(" ")[0].lower() in read_phrases().iniciais:
        offer = offer[:1].lower() + offer[1:]
    # Names have no braces: neither fills the other's field.
    return text.replace("{produto}", product).replace("{oferta}", offer)


def _begun(name: str) -> str:
    """Return a name with a capital first, but for a brand (iPhone) and a letter whose capital is two (ß)."""
    first = name[:1].upper()
    return name if name[1:2].isupper() or len(first) > 1 else first + name[1:]


def graphemes(text: str) -> int:
    """Count the graphemes of a text, as a phone shows them: a family of emoji is one."""
    return len(regex.findall(r"\X", text))


WEIGHTS: Final = {"fit": 0.4, "variety": 0.4, "length": 0.2}
OF_GENERAL_OPENER: Final = 0.25
SEEN_AT_ONCE: Final = 90  # Graphemes that a phone's list of notifications shows before it is unfolded.
OF_LONGEST: Final = 0.5


def score(completion: str, prompt: str, _reference: Reference | None, _: object) -> Score:
    """Score the opener and the length of a push without a fault."""
    campaign, parts = read_campaign(prompt), parts_of(completion)
    if campaign is None or parts is None or fault_of(completion, campaign):
        return Score(dict.fromkeys(WEIGHTS, 0.0))
    own = suiting(*campaign).own
    over = max(0, graphemes(fill(completion, campaign)) - SEEN_AT_ONCE) / (LONGEST - SEEN_AT_ONCE)
    fit = 1.0 if parts.opener in own or not own else OF_GENERAL_OPENER
    return Score({"fit": fit if parts.opener else 0.0, "variety": 1.0, "length": 1 - (1 - OF_LONGEST) * over})


def shares_that_begin_otherwise(completions: Sequence[str]) -> list[float]:
    """Return, for each push, the share of the others whose opener is another; 1 where there is no other."""
    openers = [parts.opener if (parts := parts_of(each)) else "" for each in completions]
    counts, others = Counter(openers), len(openers) - 1
    return [(len(openers) - counts[opener]) / others if others else 1.0 for opener in openers]


REWARD: Final = StepReward(WEIGHTS, score, component="variety", among=shares_that_begin_otherwise)


def render(completion: str, prompt: str) -> Served:
    """Check an answer to a prompt and fill it in; nothing of one with a fault is shown."""
    campaign = read_campaign(prompt)
    if campaign is None:
        return Served(None, False, "o pedido não tem uma linha `Produto: ...` e, abaixo, uma `Oferta: ...`")
    if fault := fault_of(completion, campaign):
        return Served(None, False, fault)
    text = fill(completion, campaign)
    return Served(text, True, None, text)


def serve(completion: str, prompt: str) -> Served:
    """Check an answer to a prompt; a plain core alone, if any may be sent, takes the place of one with a fault."""
    served, campaign = render(completion, prompt), read_campaign(prompt)
    if served.checked or campaign is None:
        return served
    plain = [fill(core, campaign) for core in suiting(*campaign).cores if not fault_of(core, campaign)]
    return Served(min(plain, key=len), False, f"trocada por um texto simples: {served.reason}") if plain else served


V42_WEIGHTS: Final = {"length": 0.50, "portuguese": 0.30, "creativity": 0.20, "formal": -0.20}
HOPELESS: Final = 200  # Graphemes.
ENOUGH_MARKERS, ENOUGH_CONTENT = 4, 5
_FORMAL: Final = Phrases("formal_phrases")
_GENERIC: Final = tuple(fold(phrase) for phrase in read_lexicon("generic_pushes"))
_PORTUGUESE: Final = frozenset(fold(word) for word in read_lexicon("portuguese_words")) - {"a", "e"}


def v42_score(completion: str, prompt: str, _reference: Reference | None, _: object) -> Score:
    """Score what a push becomes filled in by the V4.2 report, continuous where a part can be; nothing if it is refused.

    - `length`, .50: 1 up to 120 graphemes, falling to 0 at 200. Gamed by any short push.
    - `portuguese`, .30: accents and frequent words, up to four. Gamed by any sentence.
    - `creativity`, .20: different words of content, up to five, halved by each generic phrase. Gamed by long closers.
    - `formal`, -.20: a phrase of a letter.
    """
    text = render(completion, prompt).text or ""
    folded, text_words = fold(text), words(text)
    markers = sum(map(text.lower().count, "áàâãéêíóôõúç")) + sum(word in _PORTUGUESE for word in text_words)
    content = len(set(text_words) - FUNCTION_WORDS)
    generic = sum(phrase in folded for phrase in _GENERIC)
    components = {
        "length": ramp(graphemes(text), HOPELESS, LONGEST) ** 2 if text else 0.0,
        "portuguese": min(markers, ENOUGH_MARKERS) / ENOUGH_MARKERS,
        "creativity": min(content, ENOUGH_CONTENT) / ENOUGH_CONTENT * 0.5**generic,
        "formal": float(_FORMAL.are_in(folded, set(text_words))),
    }
    return Score(components)


V42_REWARD: Final = Reward(V42_WEIGHTS, v42_score)
