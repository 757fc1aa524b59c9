"""Sentences about a comparison and the looks at the test split, and the order in which models are named."""

from collections.abc import Sequence
from datetime import UTC, datetime

from tasks.evaluate.compare import Comparison
from tasks.evaluate.number_format import percent
from tasks.evaluate.report.background import Looks
from tasks.evaluate.stats.sample_size import ALPHA


def headline(comparison: Comparison) -> str:
    """Summarize the finding in one sentence."""
    overall = comparison.overall
    found = {
        "better": "is better than the base and may be promoted"
        if comparison.gate.verdict == "promote"
        else "is better than the base overall, but not ready for promotion",
        "no better": "scores higher than the base, but no better than an answer that takes no model",
        "not learned": "scores higher than the base, but has learned no task",
        "worse": "is worse than the base",
        "non-inferior": "is no worse than the base, but not shown to be better",
        "inconclusive": "cannot be distinguished from the base by this test",
    }
    scores = f"it scores {overall.mean_tuned:.3f} where the base scores {overall.mean_base:.3f}"
    return f"The tuned model {found[overall.verdict]}: {scores}."


def models_in(metrics: Sequence[Sequence[str]]) -> list[str]:
    """Return the models of any metric: base, tuned and champion first, then the others in order of appearance."""
    found = dict.fromkeys(model for models in metrics for model in models)
    first = ("base", "tuned", "champion")
    return [*(model for model in first if model in found), *(model for model in found if model not in first)]


def when_margin_was_set(looks: Looks, margin: float) -> str:
    """State the number of this look, and when the margin was recorded."""
    order = "after" if _was_set_too_late(looks) else "before"
    return (
        f"Look number {looks.number} of this challenger at this test split. The margin of {margin:g} was recorded on "
        f"{_time(looks.margin_recorded_at)}, {order} its answers to this split were first drawn on "
        f"{_time(looks.first_read_at)}."
    )


def warnings_of(looks: Looks, margin: float) -> list[str]:
    """Return caveats of the claim: earlier looks, and a margin chosen after the answers could be seen."""
    warnings = []
    if looks.number > 1:
        bound = min(1.0, looks.number * ALPHA)
        warnings.append(
            f"This is look number {looks.number}: the p values and intervals below hold for a single look. The chance "
            f"that any of {looks.number} looks claims a gain that is none may be as high as {percent(bound)}."
        )
    if looks.margin_before is not None:
        warnings.append(
            f"The margin was changed after the test split had been read: it is {margin:g} now and was "
            f"{looks.margin_before:g} at an earlier look."
        )
    elif _was_set_too_late(looks):
        warnings.append(
            "The margin was recorded after this challenger's answers to the test split had been drawn, "
            "so that nothing shows that it was chosen without them."
        )
    return warnings


def _was_set_too_late(looks: Looks) -> bool:
    return datetime.fromisoformat(looks.margin_recorded_at) > datetime.fromisoformat(looks.first_read_at)


def _time(moment: str) -> str:
    """Format a time in UTC, to the second."""
    return datetime.fromisoformat(moment).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
