"""Checker of pushes in phrases, for reward, probes and rendering: it says what is wrong with one, and fills it in."""

import re
from enum import StrEnum
from functools import cache, lru_cache
from typing import Final, NamedTuple

from tasks.commerce.push.cited.phrases import KEPT_CAMPAIGNS, CampaignPhrases, content_words, read_phrases, suiting

LONGEST: Final = 120
"""Graphemes that a phone shows."""
_CAMPAIGN: Final = re.compile(r"^Produto: (.+)\nOferta: (.+)$", re.MULTILINE)
_NOT_OF_A_NAME: Final = re.compile(
    r"[{}<>|\\^`~\[\]]|//|&#?\w+;|\bwww\b|@"
    r"|\.(?:com|br|net|org|info|app|shop|store|site|online|link|ly|me|io|gl|co)\b"
    r"|[.!?,;:]$|^\W*$|^\s|\s$|\s\s",
    re.IGNORECASE,
)
"""Fields, markup, links and addresses; the end of a sentence, which the phrases have; and blanks that nobody needs."""
_FIELD_FIRST: Final = re.compile(r"(^|[.!?] )\{(produto|oferta)\}")


class PushFault(StrEnum):
    """What is wrong with a push, as the end of a sentence."""

    CAMPAIGN = "the prompt names no product and offer"
    NAME = "the product or the offer has what no name has: a field, markup, a link, a line's or a sentence's end"
    FORM = "it is no opener, core and closer of the phrases"
    OPENER = "its opener is of another group of products, or repeats a word of the product or the offer"
    CORE = "its core does not go with the offer, or a condition would not stand last"
    CLOSER = "its closer needs an offer with a deadline, or repeats a word of the product or the offer"
    REPEATED = "it has a word twice"
    LONG = f"filled in, it has more than {LONGEST} characters"


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


def read_campaign(prompt: str) -> PushCampaign | None:
    """Return the product and the offer of a prompt; None where it names none, or several."""
    found = _CAMPAIGN.findall(prompt)
    return PushCampaign(*found[0]) if len(found) == 1 else None


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
        [*known.fechos.sempre, *known.fechos.com_prazo],
    )
    opener, core, closer = ("|".join(map(re.escape, each)) for each in texts)
    return re.compile(f"(?:({opener}) )?({core})(?: ({closer}))?")


def fault_of(template: str, campaign: PushCampaign) -> PushFault | None:
    """Return the first thing that is wrong with a template for a campaign; None where its text may be sent."""
    if not _are_names(campaign):
        return PushFault.NAME
    parts = parts_of(template)
    if parts is None:
        return PushFault.FORM
    if fault := _part_fault(parts, suiting(*campaign)):
        return fault
    if repeats(parts):
        return PushFault.REPEATED
    return PushFault.LONG if graphemes(fill(template, campaign)) > LONGEST else None


@lru_cache(maxsize=KEPT_CAMPAIGNS)
def _are_names(campaign: PushCampaign) -> bool:
    """Return whether product and offer are one line each that a customer may read."""
    return all(_NOT_OF_A_NAME.search(name) is None and name.isprintable() for name in campaign)


def _part_fault(parts: PushParts, known: CampaignPhrases) -> PushFault | None:
    if parts.opener and parts.opener not in known.own and parts.opener not in known.general:
        return PushFault.OPENER
    if parts.core not in known.cores:
        return PushFault.CORE
    return PushFault.CLOSER if parts.closer and parts.closer not in known.closers else None


def repeats(parts: PushParts) -> bool:
    """Return whether two of the phrases have a word in common."""
    opener, core, closer = map(content_words, parts)
    return not (opener.isdisjoint(core) and opener.isdisjoint(closer) and core.isdisjoint(closer))


def fill(template: str, campaign: PushCampaign) -> str:
    """Return what a customer reads: names in place of fields, and a capital letter where a sentence begins."""
    values = {"produto": campaign.product, "oferta": campaign.offer}
    text = _FIELD_FIRST.sub(lambda field: f"{field[1]}{values[field[2]][:1].upper()}{values[field[2]][1:]}", template)
    # Names have no braces: neither fills the other's field.
    return text.replace("{produto}", campaign.product).replace("{oferta}", campaign.offer)


def graphemes(text: str) -> int:
    """Count the graphemes of one line, as a phone shows them: a family of emoji is one."""
    try:
        return len(text.encode("latin-1"))
    except UnicodeEncodeError:
        import regex

        return len(regex.findall(r"\X", text))
