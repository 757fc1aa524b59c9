"""Text of an answer that people read: the completion, or its rendering where it is no text for people."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from schemas.documents import Rollout, SheetItem
from schemas.tasks import SpecName, TaskName
from tasks.commerce.churn.cited import render as churn
from tasks.commerce.evidence import render as insights
from tasks.commerce.push.cited import render as push
from tasks.commerce.served import Served

RENDERERS: Final[Mapping[TaskName, Callable[[str, str], Served]]] = MappingProxyType(
    {"insights": insights.render, "push": push.render, "churn": churn.render}
)
"""Of the tasks whose answers under `cited` are claims, each written as data says it."""
KEY: Final = "shown"
"""Key of a rollout that holds the text on which people's scores were given, so that a new wording parts nothing."""


def with_shown_text(rollout: Rollout, spec: SpecName) -> Rollout:
    """Return a rollout with what people read of it, where that is not the completion itself."""
    render_answer = RENDERERS.get(rollout.task) if spec == "cited" else None
    if render_answer is None or KEY in (rollout.model_extra or {}):
        return rollout
    rendered = render_answer(rollout.completion, rollout.prompt)
    what = "não mostrado" if rendered.text else "nada a mostrar"
    left_out = "" if rendered.checked else f"({what}: {rendered.reason})"
    return rollout.model_copy(update={KEY: "\n\n".join(filter(None, (rendered.text, left_out)))})


def shown_text(answer: Rollout | SheetItem) -> str:
    """Return what a person reads of an answer; a row of a sheet holds that alone."""
    shown = (answer.model_extra or {}).get(KEY)
    return shown if isinstance(shown, str) else answer.completion
