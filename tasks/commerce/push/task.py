"""Push: a push notification for an offer."""

import random
import zlib
from typing import Final

from tasks.commerce.commerce_task import CommerceTask, described
from tasks.commerce.push.inputs import PushInputs
from tasks.commerce.push.scorer import (
    ENOUGH_GRAPHEMES,
    MAX_GRAPHEMES,
    REWARDS,
    TITLE_AND_BODY,
    WORDING,
    graphemes,
)
from tasks.commerce.push.senses import line_of
from tasks.commerce.push.truth import metric
from tasks.commerce.reward import Reference
from tasks.commerce.served import WORDS_UNCHECKED, Served

CALLS: Final = ("Aproveite no app!", "Aproveite já!", "Aproveite agora!", "Aproveite e garanta!")
GREETINGS: Final = ("Prezado cliente, ", "Prezada cliente, informamos que ")
INVENTED: Final = " Frete grátis!"
TAILS: Final = (
    " Acesse a nossa loja e confira todas as condições desta oportunidade única, preparada para você.",
    " Acesse o nosso aplicativo, confira o catálogo e aproveite as condições especiais que separamos para você.",
)
_EMOJI: Final = "\u2600-\u27bf\u2b50\u2b55\ufe0f\u200d\U0001f300-\U0001faff"
_SIGN: Final = f"[A-Za-zÀ-ÖØ-öø-ÿ0-9!\"$%&'()+,.\\/:;?@ªº°–—…“”{_EMOJI}-]"
_LINE: Final = f'[A-Za-zÀ-ÖØ-öø-ÿ0-9“"{_EMOJI}]{_SIGN}*( {_SIGN}+)*'
GRAMMAR: Final = f"""
start: PUSH
PUSH: SHOWN & /{_LINE}(\\n{_LINE}){{0,{TITLE_AND_BODY - 1}}}([.!?\u2026]| ?[{_EMOJI}])/
SHOWN: /(?s:.{{{ENOUGH_GRAPHEMES},{MAX_GRAPHEMES}}})/
"""
"""A title and a body, or one line, that a phone shows whole: no markup, and the end of a sentence at the end."""
SHARE_INVENTED_OFFER: Final = 0.7
SHARE_LONG_PUSH: Final = 0.2
SHARE_FORMAL_PUSH: Final = 0.15


def answer(reference: Reference) -> str:
    """Return a push that makes the offer of the product, and says what the product is to who buys it."""
    offer = reference.get("offer") or "novidades"
    product = reference.get("product") or "toda a loja"
    call = CALLS[zlib.crc32(f"{product} {offer}".encode()) % len(CALLS)]
    return f"{product[0].upper()}{product[1:]} {line_of(product)}: {offer}. {call}"


def _careless(right: str, generator: random.Random) -> str:
    """Promise what is not offered mostly, or say too much; greet formally at times."""
    greeting = generator.choice(GREETINGS) if generator.random() < SHARE_FORMAL_PUSH else ""
    kind = generator.random()
    if kind < SHARE_INVENTED_OFFER:
        ending = INVENTED
    elif kind < SHARE_INVENTED_OFFER + SHARE_LONG_PUSH:
        ending = generator.choice(TAILS)
    else:
        ending = ""
    return greeting + right + ending


def _serve(completion: str) -> Served:
    """Withhold what a phone does not show whole."""
    text = completion.strip()
    shown, lines = graphemes(text), len(text.splitlines())
    if not text or shown > MAX_GRAPHEMES or lines > TITLE_AND_BODY:
        return Served(None, False, f"tem {shown} caracteres e {lines} linhas: não cabe num celular")
    return Served(text, False, WORDS_UNCHECKED, text)


TASK: Final = CommerceTask(
    name="push",
    description=described(__doc__),
    system=WORDING.system,
    instruction=WORDING.instructions[0],
    inputs=PushInputs,
    answer=answer,
    rewards=REWARDS,
    metric=metric,
    answer_metrics=(
        *("within_length", "names_product", "names_offer", "nothing_added", "informal", "in_portuguese", "one_message"),
        "all_kept",
    ),
    content=frozenset({"product", "offer"}),
    faults=_careless,
    answers_in_json=False,
    asked_by_reference=True,
    prompt_is_unread=False,
    serve=lambda completion, _prompt, _databases: _serve(completion),
    parts=("product", "offer"),
    grammar=GRAMMAR,
)
