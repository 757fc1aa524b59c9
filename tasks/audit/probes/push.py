"""Probes of push: its own words, and the properties of its reward."""

from collections.abc import Mapping, Sequence
from typing import Final

from tasks.audit.completions import any_task, pushes
from tasks.audit.probes.properties import (
    ERROR_COST,
    FLOOR,
    FORM_COST,
    WRONG,
    Probed,
    Property,
    ceiling,
    changes_nothing,
    content_before_form,
    costs,
    each_costs_more,
    earn_the_same,
    known_part_counts,
    unknown_is_not_scored,
)
from tasks.audit.probes.task_probes import TaskProbes
from tasks.commerce.push.campaigns import OFFERS
from tasks.commerce.reward import Reference

FORMAL_COST: Final = 0.30
"""Least cost of the style of an e-mail."""


def _less(known: Reference) -> Reference:
    return {**known, "offer": None}


def _facts(reference: Reference) -> list[str]:
    return [str(reference[name]) for name in ("product", "offer")]


def _offers(prompt: Probed) -> Sequence[Probed]:
    """Return the prompt with each offer that a campaign may have: a sheet's prompts have a few of them."""
    offer = str(prompt.asked.reference["offer"])
    return [
        prompt.asking(prompt.asked.prompt.replace(offer, other), {**prompt.asked.reference, "offer": other})
        for other in OFFERS
        if other != offer
    ]


def _each_offer(prompt: Probed) -> Mapping[str, float]:
    return {str(other.asked.reference["offer"]): other.best for other in _offers(prompt)}


def _each_amount(prompt: Probed) -> Mapping[str, float]:
    return {
        f"{kind} of {other.asked.reference['offer']}": other.best - other.reward(text)
        for other in _offers(prompt)
        for kind, text in pushes.other_amounts(other.asked).items()
    }


def _each_writing(prompt: Probed) -> Mapping[str, float]:
    return {
        f"{kind} of {other.asked.reference['offer']}": other.reward(text)
        for other in _offers(prompt)
        for kind, text in pushes.offers_written_otherwise(other.asked).items()
    }


PROBES: Final = TaskProbes(
    keywords=("desconto oferta promoção frete grátis cupom cashback aproveite confira garanta compre corra app loja"),
    answer_format="[produto] com [oferta]! [chamada para a ação]",
    other_language="Hurry up! Great deals on your favorite products, only today in our app.",
    own=(
        unknown_is_not_scored(_less),
        known_part_counts(pushes.wrong_answer, _less),
        changes_nothing("same_push", pushes.same_push),
        changes_nothing("at_limit", pushes.at_limit),
        earn_the_same("other_calls", pushes.other_calls, FORM_COST),
        ceiling("english", pushes.in_english, WRONG),
        ceiling("wrong_answer", pushes.wrong_answer, WRONG),
        costs("no_call", pushes.no_call, FORM_COST),
        costs("formal", pushes.formal, FORMAL_COST),
        each_costs_more("too_long", pushes.too_long),
        costs("missing_fact", pushes.without_facts),
        costs("false_offer", pushes.untrue),
        Property("each_offer", _each_offer, "earns", at_least=FLOOR),
        Property("each_amount", _each_amount, "costs", at_least=ERROR_COST),
        Property("each_writing", _each_writing, "earns", at_least=FLOOR),
        ceiling("several_pushes", pushes.several, WRONG),
        content_before_form(any_task.chatter, pushes.wrong_answer),
    ),
    always_known=("product",),
    facts=_facts,
)
