"""Sentiment: polarity and score of a review."""

import json
from typing import Final

from tasks.commerce.commerce_task import CommerceTask, described
from tasks.commerce.grammar import STARS, json_grammar, object_schema, one_of, serve_object, spoil_json
from tasks.commerce.inputs import ReviewInputs
from tasks.commerce.reward import Reference
from tasks.commerce.sentiment.prompts import WORDING
from tasks.commerce.sentiment.scorer import CHECKS, REWARDS
from tasks.commerce.sentiment.truth import metric
from tasks.commerce.served import Served
from tasks.commerce.text.json_fields import SENTIMENTS, sentiment_contradicts, sentiment_of

_FIELDS: Final = {"polarity": one_of(SENTIMENTS), "score": STARS}


def answer(reference: Reference) -> str:
    """Return polarity and score as compact JSON; an unknown one follows from the other."""
    by_polarity = {"negative": 1, "neutral": 3, "positive": 5}
    stars = reference.get("score") or by_polarity.get(reference.get("polarity") or "", 3)
    polarity = reference.get("polarity") or sentiment_of(stars)
    return json.dumps({"polarity": polarity, "score": stars}, separators=(",", ":"))


def serve(completion: str) -> Served:
    """Return polarity and score, unchecked where the one contradicts the other."""
    served = serve_object(completion, CHECKS)
    if not isinstance(served.parsed, dict) or not sentiment_contradicts(*map(served.parsed.get, _FIELDS)):
        return served
    return served._replace(checked=False, reason="polarity e score se contradizem")


TASK: Final = CommerceTask(
    name="sentiment",
    description=described(__doc__),
    system=WORDING.system,
    instruction=WORDING.instructions[0],
    inputs=ReviewInputs,
    answer=answer,
    rewards=REWARDS,
    metric=metric,
    answer_metrics=("accuracy",),
    content=frozenset({"polarity", "score"}),
    faults=spoil_json,
    answers_in_json=True,
    asked_by_reference=False,
    prompt_is_unread=True,
    serve=lambda completion, _prompt, _databases: serve(completion),
    schema=object_schema(_FIELDS),
    grammar=json_grammar(_FIELDS),
)
