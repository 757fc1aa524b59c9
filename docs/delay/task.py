"""Delay: days that a delivery came late."""

import json
from typing import Final

from tasks.commerce.commerce_task import CommerceTask, described
from tasks.commerce.delay.prompts import DelayInputs
from tasks.commerce.delay.scorer import CHECKS, REWARDS
from tasks.commerce.delay.truth import metric
from tasks.commerce.grammar import serve_object, spoil_json
from tasks.commerce.reward import Reference


def answer(reference: Reference) -> str:
    """Return the days as compact JSON; unknown ones are 0."""
    return json.dumps({"days": reference.get("days") or 0}, separators=(",", ":"))


TASK: Final = CommerceTask(
    name="delay",
    description=described(__doc__),
    inputs=DelayInputs,
    answer=answer,
    rewards=REWARDS,
    metric=metric,
    answer_metrics=("accuracy",),
    content=frozenset({"days"}),
    faults=spoil_json,
    answers_in_json=True,
    prompt_is_unread=True,
    serve=lambda completion, _prompt, _databases: serve_object(completion, CHECKS),
)
