"""Push: a push notification for an offer."""

import random
import zlib
from collections import Counter
from collections.abc import Sequence
from typing import Final

from schemas.documents import Rollout
from tasks.commerce.commerce_task import CommerceTask, described
from tasks.commerce.push.offers_kept import makes_offer
from tasks.commerce.push.scorer import (
    FORMAL,
    MAX_GRAPHEMES,
    REWARDS,
    WORDING,
    graphemes,
    has_several_messages,
)
from tasks.commerce.push.senses import line_of
from tasks.commerce.push.statements import read_campaign
from tasks.commerce.reward import Reference
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.text.text_form import MAX_CHARACTERS, fold, folded_words, share_present

CALLS: Final = ("Aproveite no app!", "Aproveite já!", "Aproveite agora!", "Aproveite e garanta!")
GREETINGS: Final = ("Prezado cliente, ", "Prezada cliente, informamos que ")
TAILS: Final = (
    " Esta é uma oportunidade única preparada para você, aproveite agora mesmo e confira todas as condições.",
    " Acesse o nosso aplicativo, confira o catálogo e aproveite as condições especiais que separamos para você.",
)
SHARE_LONG_PUSH: Final = 0.55
SHARE_FORMAL_PUSH: Final = 0.40


def answer(reference: Reference) -> str:
    """Return a push that makes the offer of the product, and says what the product is to who buys it."""
    offer = reference.get("offer") or "novidades"
    product = reference.get("product") or "toda a loja"
    call = CALLS[zlib.crc32(f"{product} {offer}".encode()) % len(CALLS)]
    return f"{product[0].upper()}{product[1:]} {line_of(product)}: {offer}. {call}"


def is_formal(text: str) -> bool:
    """Return whether a text has the style of an e-mail."""
    folded = fold(text[:MAX_CHARACTERS])
    return FORMAL.are_in(folded, set(folded_words(folded)))


def metric(rollouts: Sequence[Rollout], databases: Databases | None) -> dict[str, float]:  # noqa: ARG001 - every task's signature
    """Return the share of pushes that satisfy each constraint, and all of them."""
    known = [rollout for rollout in rollouts if rollout.reference]
    if not known:
        return {}
    kept: Counter[str] = Counter()
    for rollout in known:
        constraints = _constraints(rollout.completion, rollout.reference or {})
        kept.update(constraints | {"all_kept": all(constraints.values())})
    return {name: count / len(known) for name, count in kept.items()}


def _constraints(completion: str, reference: Reference) -> dict[str, bool]:
    shown = graphemes(completion.strip())
    text = completion.strip()[:MAX_CHARACTERS]
    text_words = folded_words(fold(text))
    campaign = read_campaign(reference.get("product"), reference.get("offer"))
    present = set(text_words)
    return {
        "within_length": 0 < shown <= MAX_GRAPHEMES,
        "names_product": share_present(campaign.product, present) == 1.0,
        "names_offer": makes_offer(text, reference.get("offer") or ""),
        "informal": not is_formal(text),
        "one_message": bool(text) and not has_several_messages(text.split("\n"), text_words, campaign),
    }


def _formal_and_long(right: str, generator: random.Random) -> str:
    """Greet formally at times, and say too much at times."""
    greeting = generator.choice(GREETINGS) if generator.random() < SHARE_FORMAL_PUSH else ""
    tail = generator.choice(TAILS) if generator.random() < SHARE_LONG_PUSH else ""
    return greeting + right + tail


TASK: Final = CommerceTask(
    name="push",
    description=described(__doc__),
    system=WORDING.system,
    answer=answer,
    rewards=REWARDS,
    metric=metric,
    answer_metrics=("within_length", "names_product", "names_offer", "informal", "one_message"),
    content=frozenset({"product", "offer"}),
    faults=_formal_and_long,
    answers_in_json=False,
    asked_by_reference=True,
    prompt_is_unread=False,
)
