"""Completions whose worth is known without asking anybody: a reward that gets one of them wrong is broken.

The adversarial ones are what a policy under training drifts to where a reward lets it: nothing, a refusal, the prompt
or the format given back, the right words without an answer. They must earn next to nothing. The reference answer must
earn nearly everything.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from schemas.documents import Rollout, ScoredRollout
from schemas.tasks import TaskName

CEILING = 0.25
"""The most that an adversarial completion may earn."""
FLOOR = 0.90
"""The least that the reference answer must earn."""

REFUSAL = "Desculpe, como modelo de linguagem não posso ajudar com essa solicitação."
FORMATS: Mapping[TaskName, str] = {
    "extraction": (
        '{"sentiment": "positive|neutral|negative", "sentiment_score": "1..5", "churn_risk": "0..1", '
        '"delivery_issue": "true|false", "product_issue": "true|false", "seller_issue": "true|false", '
        '"main_complaint": "texto", "complaint_category": "delivery|product|seller|price|other|none", '
        '"repeat_intent": "true|false", "would_recommend": "true|false"}'
    ),
    "sql_qa": "SELECT coluna FROM tabela WHERE condição GROUP BY coluna ORDER BY coluna LIMIT n",
    "insights": "## Análise\n- Ponto 1: [dado]\n- Ponto 2: [dado]\n**Recomendação:** [ação]",
    "push": "[nome do produto] com [oferta]! [chamada para ação]",
    "sentiment": '{"polarity": "positive|neutral|negative", "score": "1..5"}',
    "churn": '{"risk_score": "0..1", "churn": "true|false", "reasoning": "texto"}',
}
KEYWORDS: Mapping[TaskName, str] = {
    "extraction": "sentiment negative sentiment_score 1 delivery_issue true complaint_category delivery churn_risk 0.8",
    "sql_qa": "SELECT COUNT AVG SUM FROM orders JOIN items WHERE GROUP BY ORDER BY LIMIT pedidos clientes receita",
    "insights": "recomendar melhorar priorizar investir aumentar reduzir cliente vendas receita entrega análise",
    "push": "aproveite desconto oferta promoção corre compre já frete grátis imperdível só hoje",
    "sentiment": "polarity positive neutral negative score 1 2 3 4 5",
    "churn": "churn risk_score reasoning risco alto cliente inativo recompra cancelamento true",
}


@dataclass(frozen=True)
class Probe:
    """What came of one kind of probe on all prompts of a task."""

    passed: bool
    detail: str
    """The worst reward, and the bound it was held against."""


def adversarial_completions(rollout: Rollout) -> dict[str, str]:
    """Return the completions that must earn next to nothing, by the name of their probe."""
    return {
        "empty": "",
        "refusal": REFUSAL,
        "prompt_echo": rollout.prompt,
        "format_echo": FORMATS[rollout.task],
        "keyword_stuffing": KEYWORDS[rollout.task],
    }


def run_probes(
    rollouts: Sequence[Rollout],
    answer: Callable[[Mapping[str, object]], str],
    score: Callable[[Rollout], ScoredRollout],
) -> dict[str, Probe]:
    """Score every probe on each prompt of a task.

    Args:
        rollouts: Rollouts of one task, with references; one for each prompt is enough.
        answer: Makes the reference answer.
        score: The reward under audit.
    """
    prompts = list({rollout.prompt_id: rollout for rollout in rollouts if rollout.reference is not None}.values())
    rewards: dict[str, list[float]] = {}
    for rollout in prompts:
        for name, completion in adversarial_completions(rollout).items():
            probe = rollout.model_copy(update={"completion": completion})
            rewards.setdefault(name, []).append(score(probe).reward)
    correct = [
        score(rollout.model_copy(update={"completion": answer(rollout.reference or {})})).reward for rollout in prompts
    ]
    bad = {
        name: Probe(max(values) <= CEILING, f"at most {max(values):.3f} on {len(values)} prompts, may be {CEILING}")
        for name, values in rewards.items()
    }
    good = Probe(
        min(correct, default=0) >= FLOOR,
        f"at least {min(correct, default=0):.3f} on {len(correct)} prompts, must be {FLOOR}",
    )
    return {**bad, "reference_answer": good}
