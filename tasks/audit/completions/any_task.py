"""Completions of any task: typical reward exploits, and corrupted right answers."""

from collections.abc import Mapping
from typing import Final

from schemas.tasks import TaskName
from tasks.audit.completions.asked import Asked, Completions
from tasks.commerce.registry import TASKS

NOTHING_SAID: Final[Completions] = {
    "nothing": "",
    "space": " \n\t ",
    "English": "The store sold very well this month and the customers are happy. I recommend to improve the delivery.",
    "empty object": "{}",
    "empty list": "[]",
    "bare SELECT": "SELECT",
    "SELECT 1": "SELECT 1",
    "bare verbs": "recomendar priorizar reduzir melhorar investir ampliar monitorar ajustar",
    "Portuguese padding": "O produto é muito bom e a loja também é. " * 8,
    "marks": "## \n- \n- \n- \n**",
    "numbers": " ".join(str(number) for number in range(200)),
    "thought": "<think>Preciso pensar no que o cliente disse antes de responder.",
}
REFUSALS: Final[Completions] = {
    "refusal": "Desculpe, mas não posso ajudar com isso.",
    "long refusal": "Não consigo responder a esta pergunta, pois não tenho acesso aos dados da loja. " * 3,
    "refusal in English": "I'm sorry, but I can't help with that request.",
}
STUFFING: Final[Mapping[TaskName, str]] = {
    "extraction": "sentiment positive negative neutral sentiment_score 5 churn_risk 0.5 delivery_issue true false none",
    "sql_qa": "SELECT FROM WHERE GROUP BY ORDER BY COUNT SUM AVG orders items products customers reviews price",
    "insights": "## Análise\n- cliente produto vendas recomendar melhorar\n- priorizar receita atrasos estado\n"
    "- investir campanha crescimento reduzir ampliar negócio mercado estratégia",
    "push": "desconto oferta promoção frete grátis cupom cashback aproveite confira garanta compre corra app loja",
    "sentiment": "polarity positive negative neutral score 1 2 3 4 5",
    "churn": "risk_score 0.9 churn true false reasoning cliente pedidos atraso nota",
}
"""Keywords of a task without an answer."""
FORMATS: Final[Mapping[TaskName, str]] = {
    "extraction": '{"sentiment": "positive, neutral ou negative", "sentiment_score": "1 a 5", "churn_risk": "0 a 1", '
    '"delivery_issue": "true ou false", "product_issue": "true ou false", "seller_issue": "true ou false", '
    '"main_complaint": "texto curto", "complaint_category": "delivery, product, seller, price, other ou none", '
    '"repeat_intent": "true ou false", "would_recommend": "true ou false"}',
    "sql_qa": "SELECT coluna FROM tabela WHERE condição GROUP BY coluna ORDER BY coluna LIMIT n",
    "insights": "## Título\n- Ponto 1: [número da tabela]. [Ação recomendada]\n- Ponto 2: [número]. [Ação recomendada]",
    "push": "[produto] com [oferta]! [chamada para a ação]",
    "sentiment": '{"polarity": "positive, neutral ou negative", "score": "inteiro de 1 a 5"}',
    "churn": '{"risk_score": "0 a 1", "churn": "true ou false", "reasoning": ""}',
}
"""Description of the answer format instead of an answer."""
OTHER_LANGUAGES: Final[Mapping[TaskName, str]] = {
    "extraction": '{"sentimento": "negativo", "nota": 1, "risco": 0.9, "problema_entrega": "sim"}',
    "sql_qa": "SELECT COUNT(*) FROM pedidos WHERE situação = 'entregue'",
    "insights": "## Highlights\n- Revenue grew and we recommend to prioritize the stock of the best products.\n"
    "- Delays are high and we recommend to improve the delivery.\n- Ratings are low and we should act on it.",
    "push": "Hurry up! Great deals on your favorite products, only today in our app.",
    "sentiment": '{"polaridade": "positivo", "nota": "ótima"}',
    "churn": '{"risco": "alto", "vai_sair": "sim", "motivo": "o cliente não compra há tempo"}',
}
"""Answers in another language: English for Portuguese, Portuguese names for English ones."""


def nothing_said(asked: Asked) -> Completions:  # noqa: ARG001 - every maker's signature
    """Return texts without content, independent of the prompt."""
    return NOTHING_SAID


def refusals(asked: Asked) -> Completions:
    """Return refusals, including some that repeat the request."""
    question, facts = asked.prompt.rpartition("\n")[2], _facts(asked, " e ")
    found = {**REFUSALS, "refusal that repeats the question": f"Desculpe, mas não posso responder a isto: {question}"}
    if facts:
        found["refusal that names the facts"] = f"Desculpe, mas não posso criar uma resposta sobre {facts}."
    return found


def echoes(asked: Asked) -> Completions:
    """Return the prompt and the system prompt, repeated."""
    system = TASKS[asked.task].system
    return {
        "prompt": asked.prompt,
        "system prompt": system,
        "both prompts": f"{system}\n{asked.prompt}",
        "prompt twice": f"{asked.prompt}\n{asked.prompt}",
    }


def formats(asked: Asked) -> Completions:
    """Return the answer format without an answer."""
    return {"format": FORMATS[asked.task]}


def stuffing(asked: Asked) -> Completions:
    """Return keywords without an answer, alone and beside the facts."""
    keywords, facts = STUFFING[asked.task], _facts(asked, " ")
    return {"keywords": keywords} | ({"facts and keywords": f"{facts} {keywords}"} if facts else {})


def other_languages(asked: Asked) -> Completions:
    """Return answers in another language."""
    return {"another language": OTHER_LANGUAGES[asked.task]}


def chatter(asked: Asked) -> Completions:
    """Return the right answer surrounded by chatter."""
    return {"chatter": f"Claro! Segue a resposta:\n{asked.right}\nEspero ter ajudado!"}


def first_half(asked: Asked) -> Completions:
    """Return the right answer, truncated in the middle."""
    return {"first half": asked.right[: len(asked.right) // 2]}


def _facts(asked: Asked, separator: str) -> str:
    """Return the required facts, where the reference has them in words."""
    if asked.task == "push":
        return separator.join(str(asked.reference[name]) for name in ("product", "offer"))
    if asked.task == "insights":
        return separator.join(map(str, asked.reference["facts"][:3]))
    return ""
