"""Push: an opener, a core and a closer of proof-read phrases, with the product and the offer as fields."""

import json
import random
import zlib
from collections.abc import Iterator
from typing import Final

from tasks.commerce.commerce_task import CommerceTask, described
from tasks.commerce.evidence.automaton import automaton
from tasks.commerce.grammar import FAULTS
from tasks.commerce.push import scorer
from tasks.commerce.push.phrases import GENERAL, CampaignPhrases, content_words, read_phrases, suiting
from tasks.commerce.push.prompts import PushInputs
from tasks.commerce.push.truth import metric
from tasks.commerce.reward import Reference

ATTEMPTS: Final = 40  # Draws for one right answer: one in two is without a fault, of a long product few are short.
Said = frozenset[str]


def answer(reference: Reference) -> str:
    """Return a push without a fault whose phrases the campaign alone decides, with an opener of the product's group."""
    campaign = scorer.PushCampaign(reference.get("product") or "toda a loja", reference.get("offer") or "novidades")
    known = suiting(*campaign)
    generator = random.Random(zlib.crc32(" ".join(campaign).encode()))
    openers = known.own or known.general or ("",)
    # A product may have a word of every closer.
    closers = known.closers or ("",)
    found = ""
    for _ in range(ATTEMPTS):
        parts = scorer.PushParts(generator.choice(openers), generator.choice(known.cores), generator.choice(closers))
        if scorer.fault_of(parts.template, campaign) is None:
            found = parts.template
            if scorer.graphemes(scorer.fill(found, campaign)) <= scorer.SEEN_AT_ONCE:
                return found
    return found or known.cores[0]


def spoil(right: str, generator: random.Random) -> str:
    """Begin as for any product or as for another one, or say nothing but the core, each at times."""
    parts, kind = scorer.parts_of(right), generator.random()
    groups, shares = read_phrases().grupos, FAULTS.push
    if parts is None:
        return right
    if kind < shares.dull:
        parts = parts._replace(opener=generator.choice(groups[GENERAL].aberturas))
    elif kind < shares.dull + shares.strange:
        openers = [text for group in groups.values() for text in group.aberturas]
        parts = parts._replace(opener=generator.choice(openers))
    elif kind < shares.dull + shares.strange + shares.bare:
        parts = scorer.PushParts("", parts.core, "")
    return parts.template


def push_grammar(phrases: CampaignPhrases) -> str:
    """Return the grammar of the templates that these phrases make, no word of which is said twice."""
    if not phrases.cores:
        return ""
    openers = (*phrases.own, *phrases.general)
    places = [set[str]().union(*map(content_words, texts)) for texts in (openers, phrases.cores, phrases.closers)]
    # Openers differ by the words that a later phrase has too.
    shared = places[0] & (places[1] | places[2])

    def moves(state: tuple[str, Said]) -> Iterator[tuple[str, tuple[str, Said] | None]]:
        place, said = state
        if place == "opener":
            yield "", ("core", frozenset())
            yield from ((_literal(f"{text} "), ("core", content_words(text) & shared)) for text in openers)
        elif place == "core":
            for core in phrases.cores:
                if said.isdisjoint(words := content_words(core)):
                    free = (each for each in phrases.closers if (said | words).isdisjoint(content_words(each)))
                    yield _literal(core), ("closer", frozenset(free))
        else:
            yield "", None
            yield from ((_literal(f" {text}"), None) for text in phrases.closers if text in said)

    return automaton(("opener", Said()), moves)


def _literal(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


TASK: Final = CommerceTask(
    name="push",
    description=described(__doc__),
    inputs=PushInputs,
    answer=answer,
    rewards={"grounded": scorer.REWARD, "v4.2": scorer.V42_REWARD},
    metric=metric,
    answer_metrics=("in_form", "suits_the_campaign", "offer_as_it_is", "no_repetition", "within_length", "all_kept"),
    content=frozenset({"fit"}),
    faults=spoil,
    asked_by_reference=True,
    serve=lambda completion, prompt, _: scorer.serve(completion, prompt),
    parts=("product", "offer"),
    prompt_grammar=lambda prompt: push_grammar(suiting(*known)) if (known := scorer.read_campaign(prompt)) else "",
)
