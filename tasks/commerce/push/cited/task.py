"""Push in phrases: an opener, a core and a closer of proof-read phrases, with the product and the offer as fields."""

import random
import re
import zlib
from typing import Final

from tasks.commerce.commerce_task import CommerceTask, described
from tasks.commerce.push.cited.checker import LONGEST, Parts, fill, parts_of
from tasks.commerce.push.cited.grammar import push_grammar
from tasks.commerce.push.cited.phrases import content_words, read_phrases, suiting
from tasks.commerce.push.cited.scorer import REWARD
from tasks.commerce.push.inputs import PushInputs
from tasks.commerce.reward import Reference
from tasks.commerce.text.wordings import read_wording
from tasks.commerce.usable import CheckedAnswer, check_text

SHARE_OWN: Final = 0.7
"""Share of right answers that begin with a phrase of the product's group."""
SHARE_DULL: Final = 0.6
SHARE_STRANGE: Final = 0.2
USUAL: Final = ("Oi!", "Boa notícia!", "Novidade no app!")
"""Openers of careless answers, which suit everything."""
_CAMPAIGN: Final = re.compile(r"^Produto: (.+)\nOferta: (.+)$", re.MULTILINE)


def answer(reference: Reference) -> str:
    """Return a push without a fault, in phrases that the campaign alone decides; those of its group mostly."""
    product, offer = reference.get("product") or "toda a loja", reference.get("offer") or "novidades"
    known = suiting(product, offer)
    generator = random.Random(zlib.crc32(f"{product} {offer}".encode()))
    openers = known.own if known.own and generator.random() < SHARE_OWN else known.general
    choices = [
        Parts(generator.choice(openers), generator.choice(known.cores), generator.choice(known.closers))
        for _ in range(20)
    ]
    choices.append(Parts("", known.cores[0], ""))
    return next(
        (
            each.template
            for each in choices
            if not _repeats(each) and len(fill(each.template, product, offer)) <= LONGEST
        ),
        choices[-1].template,
    )


def _repeats(parts: Parts) -> bool:
    words = [content_words(part) for part in parts]
    return sum(map(len, words)) != len(frozenset().union(*words))


def spoil(right: str, generator: random.Random) -> str:
    """Begin as one always does mostly, and at times with another product's phrase, or say nothing but the core."""
    parts = parts_of(right)
    if parts is None:
        return right
    kind = generator.random()
    if kind < SHARE_DULL:
        return parts._replace(opener=generator.choice(USUAL)).template
    if kind < SHARE_DULL + SHARE_STRANGE:
        strange = [text for _, group in sorted(read_phrases().grupos.items()) for text in group.aberturas]
        return parts._replace(opener=generator.choice(strange)).template
    return parts._replace(opener="", closer="").template


def grammar(prompt: str) -> str:
    """Return the grammar of the pushes for a prompt's campaign; empty, which guides nothing, where none is known."""
    campaign = _CAMPAIGN.search(prompt)
    return push_grammar(suiting(*campaign.groups())) if campaign else ""


def _check(completion: str) -> CheckedAnswer:
    read = check_text(completion)
    if isinstance(read.parsed, str) and parts_of(read.parsed) is None:
        return read._replace(fault="it is no opener, core and closer of the phrases")
    return read


TASK: Final = CommerceTask(
    name="push",
    description=described(__doc__),
    system=read_phrases().system,
    instruction=read_wording("push").instructions[0],
    inputs=PushInputs,
    answer=answer,
    rewards={"cited": REWARD},
    metric=lambda rollouts, databases: {},  # noqa: ARG005 - every task's signature
    answer_metrics=(),
    content=frozenset({"sound"}),
    faults=spoil,
    answers_in_json=False,
    asked_by_reference=True,
    prompt_is_unread=False,
    check=lambda completion, _: _check(completion),
    prompt_grammar=grammar,
)
