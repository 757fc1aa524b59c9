"""Insights: findings and actions from given figures."""

import random
import re
from typing import Final

from tasks.commerce.commerce_task import CommerceTask, described
from tasks.commerce.faults import chat
from tasks.commerce.insights.inputs import InsightsInputs
from tasks.commerce.insights.scorer import ENOUGH, REWARDS, WORDING
from tasks.commerce.insights.truth import metric
from tasks.commerce.reward import Reference
from tasks.commerce.served import WORDS_UNCHECKED, Served

SHARE_FLAT_INSIGHTS: Final = 0.15
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


def _flat(right: str, generator: random.Random) -> str:
    """Write the first half as one paragraph without a list at times, and chat else."""
    if generator.random() >= SHARE_FLAT_INSIGHTS:
        return chat(right, generator)
    flat = re.sub(r"^[#\-*•\d.\s]+", "", right, flags=re.MULTILINE).replace("**", "")
    sentences = [line.strip() for line in flat.splitlines() if line.strip()]
    return " ".join(sentences[: max(1, len(sentences) // 2)])


def _serve(text: str | None) -> Served:
    return Served(text, False, WORDS_UNCHECKED, text)


TASK: Final = CommerceTask(
    name="insights",
    description=described(__doc__),
    system=WORDING.system,
    instruction=WORDING.instructions[0],
    inputs=InsightsInputs,
    answer=answer,
    rewards=REWARDS,
    metric=metric,
    answer_metrics=(
        *("quotes_facts", "no_false_number", "no_false_claim", "within_length", "recommends", "in_portuguese"),
        "all_kept",
    ),
    content=frozenset({"facts"}),
    faults=_flat,
    answers_in_json=False,
    asked_by_reference=True,
    prompt_is_unread=False,
    serve=lambda completion, _prompt, _databases: _serve(completion.strip() or None),
)
