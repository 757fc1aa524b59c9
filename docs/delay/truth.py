"""Ground truth of delay, from the reference alone. Unseen: fields beside the days."""

from collections.abc import Sequence

from schemas.documents import Rollout
from tasks.commerce.truth_text import number_of, read_object


def metric(rollouts: Sequence[Rollout], _: object) -> dict[str, float]:
    """Return the accuracy of the days. A constant earns the share of its number."""
    known = [rollout for rollout in rollouts if (rollout.reference or {}).get("days") is not None]
    right = [
        number_of((read_object(each.completion) or {}).get("days")) == (each.reference or {})["days"] for each in known
    ]
    return {"accuracy": sum(right) / len(right)} if right else {}
