"""Review texts of simulated shoppers: sentences about the experience, in the writer's typing style."""

import random
from typing import Final

from tasks.synthesize.market import CHANCES, Thing
from tasks.synthesize.sentences import Span, Style, Teller, continued, type_out
from tasks.synthesize.shopping import Experience

NEVER_CAME: Final = frozenset({"waiting", "lost", "canceled"})
DETAILS: Final = {"terse": (78, 22, 0, 0, 0), "usual": (27, 33, 13, 9, 18)}
"""Weights of zero to four additional sentences after a complaint; from three on it is a story."""
SENT_BACK: Final = frozenset({"refund", "regret"})
LENGTHS: Final = {"terse": (0.45, 0.44, 0.10, 0.01, 0.0), "usual": (0.16, 0.34, 0.30, 0.12, 0.08)}
"""Weights of a satisfied shopper's review length: a word, one, two or three sentences, or a story."""
_INTENTIONS: Final = {
    (True, True): "recommends_and_returns",
    (True, False): "only_recommends",
    (False, True): "only_returns",
    (False, False): "neither",
}


def write_message(
    experience: Experience, thing: Thing, days_late: int, style: Style, generator: random.Random
) -> tuple[str, str]:
    """Return a review that mentions every issue, all of it true, and the words of its worst complaint."""
    teller = Teller(thing, days_late, feminine="feminine" in style, generator=generator)
    ironic = bool(experience.issues) and experience.score <= 2 and generator.random() < CHANCES["irony"]
    sentences, place = compose(experience, teller, generator, terse="terse" in style, ironic=ironic)
    return type_out(sentences, "ironic" if ironic else experience.sentiment, style, generator, place)


def write_title(experience: Experience, style: Style, generator: random.Random) -> str:
    """Write the title of a review."""
    teller = Teller(Thing("produto", feminine=False), 0, feminine="feminine" in style, generator=generator)
    return type_out([teller.say("titles", str(experience.score))], experience.sentiment, style, generator)[0]


def compose(
    experience: Experience, teller: Teller, generator: random.Random, *, terse: bool, ironic: bool
) -> tuple[list[str], Span | None]:
    """Compose a review as sentences without full stops and without typos; and the place of the worst complaint."""
    if experience.issues:
        return _complain(experience, teller, generator, terse=terse, ironic=ironic)
    if experience.score == 3:
        several = generator.choice((1, 1, 2))
        return [*teller.say_several("lukewarm", "sentences", several), _closing(experience, teller)], None
    if experience.score < 3:
        return [_few_words(experience, teller, generator)], None
    return _praise(experience, teller, generator, LENGTHS["terse" if terse else "usual"]), None


def _praise(experience: Experience, teller: Teller, generator: random.Random, lengths: tuple[float, ...]) -> list[str]:
    length = generator.choices(range(5), weights=lengths)[0]
    if length == 0:
        return [_few_words(experience, teller, generator)]
    if length == 1 and generator.random() < CHANCES["content"]:
        return [teller.say("content")]
    praises = _praises(teller, generator, max(length, 1))
    if length == 1 and generator.random() < CHANCES["tag"]:
        praises[0] += f", {teller.say('tags')}"
    opening = [teller.say("openings", "happy")] if generator.random() < 0.12 * length else []
    closing = [_closing(experience, teller)] if generator.random() < 0.2 * length else []
    if length == 4:
        contexts = _story_start(teller, generator, generator.choice((1, 1, 2)))
        return [*contexts, *praises, *teller.say_several("content", "sentences", 2), *closing]
    if length == 2 and generator.random() < 0.4:
        praises = _linked(praises)
    return opening + praises + closing


def _few_words(experience: Experience, teller: Teller, generator: random.Random) -> str:
    section = "brief" if generator.random() < CHANCES["stock"] else "short"
    return teller.say(section, str(experience.score))


def _praises(teller: Teller, generator: random.Random, count: int) -> list[str]:
    if count == 1:
        return [teller.say("praises", generator.choices(("product", "delivery", "seller", "price"), (5, 4, 1, 1))[0])]
    others = generator.sample(("product", "seller", "price"), k=count - 2)
    praises = teller.say_several("praises", "product", 1 + others.count("product"))
    praises += [teller.say("praises", aspect) for aspect in ("delivery", *others) if aspect != "product"]
    generator.shuffle(praises)
    return praises


def _linked(sentences: list[str]) -> list[str]:
    """Join several sentences into one, unless one already has joined clauses."""
    if any(" e " in sentence for sentence in sentences):
        return sentences
    return [" e ".join([sentences[0], *map(continued, sentences[1:])])]


def _complain(
    experience: Experience, teller: Teller, generator: random.Random, *, terse: bool, ironic: bool
) -> tuple[list[str], Span]:
    first, *others = experience.issues
    complaints = [teller.say("ironies" if ironic else "complaints", first)]
    worst = len(complaints[0])
    complaints += [teller.say("complaints", issue) for issue in others]
    if others and generator.random() < 0.4:
        complaints = _linked(complaints)
    said = len(complaints[0])
    complaints[0] = _beside_praise(complaints[0], experience, teller, generator) if not ironic else complaints[0]
    opening, contexts, details = list[str](), list[str](), list[str]()
    if experience.score <= 2 and not ironic and generator.random() < CHANCES["anger"]:
        opening = [teller.say("openings", "angry")]
    # Shoppers who would recommend and return do not elaborate.
    if not (experience.would_recommend and experience.repeat_intent):
        count = generator.choices(range(5), weights=DETAILS["terse" if terse else "usual"])[0]
        details = teller.say_several("details", first, count)
        contexts = _story_start(teller, generator, max(count - 2, 0))
    if experience.score <= 2 and not ironic and generator.random() < (0.15 if terse else 0.4):
        details.append(teller.say("outcries"))
    before, start = [*opening, *contexts], len(complaints[0]) - said
    place = Span(len(before), start, start + worst)
    return [*before, *complaints, *details, *_ending(experience, teller, generator)], place


def _story_start(teller: Teller, generator: random.Random, count: int) -> list[str]:
    """Tell what led to the purchase, with one purpose at most."""
    purpose = count > 0 and generator.random() < CHANCES["purpose"]
    return [teller.say("purposes")] * purpose + teller.say_several("contexts", "sentences", count - purpose)


def _ending(experience: Experience, teller: Teller, generator: random.Random) -> list[str]:
    # Three stars do not reveal the shopper's intentions: the words have to. Nor do they tell why four are given.
    relieved = experience.score == 4 and not set(experience.issues) & NEVER_CAME and generator.random() < 0.6
    if relieved:
        return [teller.say("reliefs")]
    return [_closing(experience, teller)] if experience.score >= 3 or generator.random() < 0.3 else []


def _beside_praise(complaint: str, experience: Experience, teller: Teller, generator: random.Random) -> str:
    """Put praise of another aspect before a complaint, often if the shopper is not angry."""
    if generator.random() >= (0.08 if experience.score <= 2 else 0.7):
        return complaint
    aspects = _good_aspects(experience)
    if not aspects:
        return complaint
    # Only a whole clause follows "só que".
    links = ("mas", "mas", "porém", "só que", "pena que") if complaint.startswith(("O ", "A ")) else ("mas", "porém")
    praise = teller.say("praises", generator.choice(aspects))
    return f"{praise}, {generator.choice(links)} {continued(complaint)}"


def _good_aspects(experience: Experience) -> list[str]:
    """Return the aspects to praise beside a complaint: none that went wrong, and none of an order that never came."""
    issues = set(experience.issues)
    if issues & NEVER_CAME:
        return []
    grudging = experience.score <= 2 or issues & SENT_BACK
    aspects = ("delivery",) if grudging else ("product", "product", "delivery", "seller", "price")
    # Only a good product makes a price good.
    unfit = {"price"} if experience.has("product") else set[str]()
    return [aspect for aspect in aspects if not experience.has(aspect) and aspect not in unfit]


def _closing(experience: Experience, teller: Teller) -> str:
    intention = _INTENTIONS[experience.would_recommend, experience.repeat_intent]
    despite = experience.issues and intention == "recommends_and_returns"
    return teller.say("closings_despite" if despite else "closings", intention)
