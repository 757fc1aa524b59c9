"""The page in a reader's language: a form for each task, in HTML, and the words and the script that ask."""

import hashlib
import json
from base64 import b64encode
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from schemas.config.section import Language
from schemas.tasks import TaskName
from tasks.bag_of_words.sentences import BAG_OF_WORDS
from tasks.commerce.registry import TASKS
from tasks.report.page import page_template
from tasks.report.wording import spoken, worded
from tasks.serve.served_model import BASE, CHAMPION

DATA_FILES: Final = (
    "tasks/serve/by_hand/try_page.html.j2",
    "tasks/serve/by_hand/try_page.js",
    "tasks/serve/by_hand/reasons.json",
)
TITLES: Final[Mapping[TaskName, str]] = {
    "sentiment": "Sentiment of a review",
    "extraction": "Facts of a review",
    "push": "Push notification",
    "churn": "Will a customer leave?",
    "insights": "What a table says",
    "sql_qa": "Question about the store",
}
"""Names of the tasks for people, in the page's order."""
EXAMPLES: Final[Mapping[str, str]] = {
    "review": "Chegou quebrado e a loja não responde.",
    "question": "Quantos pedidos foram entregues?",
    "product": "fone de ouvido",
    "offer": "20% de desconto",
    "segment": "clientes que não compram há 60 dias",
    "period": "jan/2025 a mar/2025",
    "table": "Estado | Receita | Pedidos\nSP | R$ 9.000 | 90\nRJ | R$ 4.000 | 45\nRO | R$ 600 | 9",
    "state": "SP",
    "orders": "2",
    "category": "beleza e saúde",
    "spent": "180",
    "instalments": "1",
    "silent_days": "200",
    "mean_rating": "3",
}
"""Values with which the forms open, by the inputs' names."""
LONG: Final = frozenset({"review", "table", "question"})
"""Inputs of several lines."""
ANSWERERS: Final[Mapping[str, str]] = {CHAMPION: "Champion", BASE: "Base model", BAG_OF_WORDS: "Bag of words"}
WORDS: Final = (
    "checked", "not checked", "nothing to show", "refused", "asking", "asked", "feedback", "right", "wrong", "Noted.",
    "{milliseconds} ms, {tokens} tokens", "No wrong answers in the last days.", "answered", "rated {rating} of 5",
    "nothing was sent", "loaded with its first question, which takes a while", "The gateway does not answer.",
    "The champion has not learned this task.",
)  # fmt: skip
"""Messages of the script."""
_ROOM: Final = Path(__file__).parent
_REASONS: Final = _ROOM / "reasons.json"
"""English for what the checks say of an answer, which is Portuguese: parts of sentences, the longest first."""


@lru_cache(maxsize=8)
def render(language: Language, version: str, others: tuple[str, ...], answered: tuple[TaskName, ...]) -> str:
    """Return the page for a version, as NAME/VERSION, what can answer beside it, and the tasks that it answers."""
    script = (_ROOM / "try_page.js").read_text(encoding="utf-8")
    with spoken(language):
        said: dict[str, object] = {message: worded(message) for message in (*WORDS, *ANSWERERS.values())}
        said["reasons"] = json.loads(_REASONS.read_text(encoding="utf-8")) if language == "en" else {}
        return page_template(_ROOM / "try_page.html.j2").render(
            answerers={name: title for name, title in ANSWERERS.items() if name in (CHAMPION, *others)},
            examples=EXAMPLES,
            forms={task: TASKS[task].inputs.model_fields for task in TITLES},
            answered=answered,
            long=LONG,
            script=script,
            script_digest=b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            titles=TITLES,
            version=version,
            words=json.dumps(said, ensure_ascii=False).replace("<", "\\u003c"),
        )
