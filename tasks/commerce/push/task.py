"""Push: an opener, a core and a closer of proof-read phrases, with the product and the offer as fields."""

import json
import random
import zlib
from collections.abc import Iterable, Mapping
from typing import Final

from tasks.commerce.commerce_task import CommerceTask, described
from tasks.commerce.grammar import FAULTS
from tasks.commerce.push.phrases import GENERAL, CampaignPhrases, content_words, read_phrases, suiting
from tasks.commerce.push.prompts import PushInputs
from tasks.commerce.push.scorer import (
    REWARD,
    SEEN_AT_ONCE,
    V42_REWARD,
    PushCampaign,
    PushParts,
    fault_of,
    fill,
    graphemes,
    parts_of,
    read_campaign,
    serve,
)
from tasks.commerce.push.truth import metric
from tasks.commerce.reward import Reference

ATTEMPTS: Final = 40
"""Draws of phrases for one right answer; one in two is without a fault, and of a long product few are short."""


def answer(reference: Reference) -> str:
    """Return a push without a fault whose phrases the campaign alone decides, with an opener of the product's group."""
    campaign = PushCampaign(reference.get("product") or "toda a loja", reference.get("offer") or "novidades")
    known = suiting(*campaign)
    generator = random.Random(zlib.crc32(" ".join(campaign).encode()))
    openers = known.own or known.general or ("",)
    # A product may have a word of every closer.
    closers = known.closers or ("",)
    found = ""
    for _ in range(ATTEMPTS):
        parts = PushParts(generator.choice(openers), generator.choice(known.cores), generator.choice(closers))
        if fault_of(parts.template, campaign) is None:
            found = parts.template
            if graphemes(fill(found, campaign)) <= SEEN_AT_ONCE:
                return found
    return found or known.cores[0]


def spoil(right: str, generator: random.Random) -> str:
    """Begin as for any product or as for another one, or say nothing but the core, each at times."""
    parts, kind = parts_of(right), generator.random()
    groups, shares = read_phrases().grupos, FAULTS.push
    if parts is None:
        return right
    if kind < shares.dull:
        parts = parts._replace(opener=generator.choice(groups[GENERAL].aberturas))
    elif kind < shares.dull + shares.strange:
        openers = [text for group in groups.values() for text in group.aberturas]
        parts = parts._replace(opener=generator.choice(openers))
    elif kind < shares.dull + shares.strange + shares.bare:
        parts = PushParts("", parts.core, "")
    return parts.template


TASK: Final = CommerceTask(
    name="push",
    description=described(__doc__),
    inputs=PushInputs,
    answer=answer,
    rewards={"grounded": REWARD, "v4.2": V42_REWARD},
    metric=metric,
    answer_metrics=("in_form", "suits_the_campaign", "offer_as_it_is", "no_repetition", "within_length", "all_kept"),
    content=frozenset({"fit"}),
    faults=spoil,
    asked_by_reference=True,
    serve=lambda completion, prompt, _: serve(completion, prompt),
    parts=("product", "offer"),
    prompt_grammar=lambda prompt: push_grammar(suiting(*known)) if (known := read_campaign(prompt)) else "",
)

Words = frozenset[str]


def push_grammar(phrases: CampaignPhrases) -> str:
    """Return the grammar of the templates that these phrases make; empty, which guides nothing, where there is none."""
    if not phrases.cores:
        return ""
    shared = _shared(phrases.cores, phrases.closers)
    openers = _by_words([*phrases.own, *phrases.general], shared)
    places = {words: place for place, words in enumerate({Words(): None, **dict.fromkeys(openers)})}
    starts = [f'({_one_of(texts)}) " " rest_{places[words]}' for words, texts in openers.items()]
    rules = [f"start: {' | '.join(['rest_0', *starts])}"]
    closers = _by_words(phrases.closers, _shared([*phrases.own, *phrases.general], phrases.cores))
    ends: dict[str, str] = {}
    for words, place in places.items():
        cores: dict[str, list[str]] = {}
        for core in phrases.cores:
            said = words | content_words(core)
            if words.isdisjoint(content_words(core)):
                free = _one_of(text for own, texts in closers.items() if said.isdisjoint(own) for text in texts)
                end = f' (" " {ends.setdefault(free, f"end_{len(ends)}")})?' if free else ""
                cores.setdefault(end, []).append(core)
        rules.append(f"rest_{place}: {' | '.join(f'({_one_of(texts)}){end}' for end, texts in cores.items())}")
    return "\n".join([*rules, *(f"{name}: {texts}" for texts, name in ends.items())])


def _shared(texts: Iterable[str], others: Iterable[str]) -> Words:
    return Words().union(*map(content_words, texts), *map(content_words, others))


def _by_words(texts: Iterable[str], shared: Words) -> Mapping[Words, list[str]]:
    found: dict[Words, list[str]] = {}
    for text in texts:
        found.setdefault(content_words(text) & shared, []).append(text)
    return found


def _one_of(texts: Iterable[str]) -> str:
    return " | ".join(json.dumps(text, ensure_ascii=False) for text in texts)
