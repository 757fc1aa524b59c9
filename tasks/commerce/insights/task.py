"""Insights: findings and actions from given figures."""

import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from schemas.documents import Rollout
from tasks.commerce.commerce_task import CommerceTask, described
from tasks.commerce.faults import chat
from tasks.commerce.insights.quotations import KnownFacts, know, read_quotations, tokens_of
from tasks.commerce.insights.scorer import (
    ACTION_VERBS,
    ENOUGH,
    LENGTHS,
    ORDINAL,
    REWARDS,
    WORDING,
    invented_numbers,
    own_lines,
    with_codes,
)
from tasks.commerce.reward import Reference
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.text.text_form import MAX_CHARACTERS, fold

SHARE_FLAT_INSIGHTS: Final = 0.60
ACTIONS: Final = {
    "de atrasos": "Recomendo renegociar os prazos com a transportadora.",
    "nota média": "É preciso melhorar a experiência dos clientes.",
    "frete médio": "Vale reduzir o custo do envio com outra transportadora.",
    "ticket médio": "Sugiro investir em kits e manter o valor por compra.",
    " pedidos": "Convém acompanhar a procura e reforçar as campanhas.",
}
"""Action for a fact, by the words of its statement."""


def answer(reference: Reference) -> str:
    """Return a heading and an item for each of the first facts, with a suitable action."""
    facts = [str(fact) for fact in reference.get("facts") or []][:ENOUGH] or ["Sem destaques no período"]
    return "\n".join(["## Destaques do período", *(f"- {fact}. {_action(fact)}" for fact in facts)])


def _action(fact: str) -> str:
    fitting = (action for words, action in ACTIONS.items() if words in fact)
    return next(fitting, "Vale priorizar o estoque e manter as campanhas.")


def metric(rollouts: Sequence[Rollout], databases: Databases | None) -> dict[str, float]:  # noqa: ARG001 - every task's signature
    """Return the share of analyses that satisfy each constraint, and all of them.

    Three facts are quoted with their numbers and of the right rows; no number is invented (except a year) or attributed
    to a wrong row; the length is right; something is recommended.
    """
    known = [rollout for rollout in rollouts if rollout.reference and rollout.reference.get("facts")]
    if not known:
        return {}
    kept: Counter[str] = Counter()
    for rollout in known:
        constraints = _constraints(rollout.completion, rollout.prompt, know(tuple((rollout.reference or {})["facts"])))
        kept.update(constraints | {"all_kept": all(constraints.values())})
    return {name: count / len(known) for name, count in kept.items()}


def _constraints(completion: str, prompt: str, known: KnownFacts) -> dict[str, bool]:
    stripped = completion.strip()
    text = with_codes(own_lines(stripped[:MAX_CHARACTERS], prompt), known)
    folded = fold(ORDINAL.sub("", text))
    tokens = tokens_of(folded)
    quotations = read_quotations(tokens, known)
    invented = {number for number in invented_numbers(quotations.unknown, folded, known) if not 1900 <= number < 2100}
    return {
        "quotes_facts": sum(grade > 0 for grade in quotations.grades) >= min(ENOUGH, len(known.facts)),
        "no_false_number": bool(stripped) and not invented and not quotations.wrong,
        "within_length": LENGTHS[0] <= len(stripped) <= LENGTHS[1],
        "recommends": ACTION_VERBS.count(tokens) > 0,
    }


def _flat(right: str, generator: random.Random) -> str:
    """Write the first half as one paragraph without a list at times, and chat else."""
    if generator.random() >= SHARE_FLAT_INSIGHTS:
        return chat(right, generator)
    flat = re.sub(r"^[#\-*•\d.\s]+", "", right, flags=re.MULTILINE).replace("**", "")
    sentences = [line.strip() for line in flat.splitlines() if line.strip()]
    return " ".join(sentences[: max(1, len(sentences) // 2)])


TASK: Final = CommerceTask(
    name="insights",
    description=described(__doc__),
    system=WORDING.system,
    answer=answer,
    rewards=REWARDS,
    metric=metric,
    answer_metrics=("quotes_facts", "no_false_number", "within_length", "recommends"),
    content=frozenset({"facts"}),
    faults=_flat,
    answers_in_json=False,
    asked_by_reference=True,
    prompt_is_unread=False,
)
