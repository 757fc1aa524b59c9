"""Text of an answer that people read: the completion, or its rendering where it is no text for people."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from schemas.documents import Rollout, SheetItem
from schemas.tasks import TaskName
from tasks.commerce.churn import scorer as churn
from tasks.commerce.insights import scorer as insights
from tasks.commerce.push import scorer as push
from tasks.commerce.served import Served

RENDERERS: Final[Mapping[TaskName, Callable[[str, str], Served]]] = MappingProxyType(
    {"insights": insights.render, "push": push.render, "churn": churn.render}
)
"""Of the tasks whose answers are claims or templates, each written as data says it."""
KEY: Final = "shown"
"""Key of a rollout that holds the text on which people's scores were given, so that a new wording parts nothing."""
NOTHING: Final = "(nada a mostrar)"
"""Shown of an answer of which nothing holds: why is the checker's to say, and would tell a rater its verdict."""


def with_shown_text(rollout: Rollout) -> Rollout:
    """Return a rollout with what people read of it, where that is not the completion itself."""
    render_answer = RENDERERS.get(rollout.task)
    if render_answer is None or KEY in (rollout.model_extra or {}):
        return rollout
    text = render_answer(rollout.completion, rollout.prompt).text
    return rollout.model_copy(update={KEY: text or NOTHING})


def shown_text(answer: Rollout | SheetItem) -> str:
    """Return what a person reads of an answer; a row of a sheet holds that alone."""
    shown = (answer.model_extra or {}).get(KEY)
    return shown if isinstance(shown, str) else answer.completion
