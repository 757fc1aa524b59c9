"""How terminal, page, Markdown and the gate's reasons put numbers, and what they say of the looks at the test split."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tasks.evaluate.sample_size import ALPHA

if TYPE_CHECKING:
    # The gate writes its reasons with these words, and whatever compares has the gate.
    from tasks.evaluate.background import Looks
    from tasks.evaluate.compare import Comparison


def signed(value: float | None) -> str:
    """Write a difference with its sign, the minus as wide as the plus."""
    if value is None:
        return "unknown"
    return "0.000" if abs(value) < 0.0005 else f"{value:+.3f}".replace("-", "−")


def interval(low: float | None, high: float | None) -> str:
    """Write both ends of an interval."""
    return "unknown" if low is None else f"{signed(low)} to {signed(high)}"


def p_value(value: float) -> str:
    """Write a p value, with a floor below which its digits say nothing."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def percent(share: float) -> str:
    """Write a share of 1 as a percentage."""
    return f"{100 * share:.0f} %"


def headline(comparison: "Comparison") -> str:
    """Say in one sentence what was found."""
    overall = comparison.overall
    found = {
        "better": "is better than the base and may be promoted"
        if comparison.gate.verdict == "promote"
        else "is better than the base overall, but not ready for promotion",
        "worse": "is worse than the base",
        "non-inferior": "is no worse than the base, but not shown to be better",
        "inconclusive": "cannot be told from the base by this test",
    }
    scores = f"it scores {overall.mean_tuned:.3f} where the base scores {overall.mean_base:.3f}"
    return f"The tuned model {found[overall.verdict]}: {scores}."


def models_in(metrics: Sequence[Sequence[str]]) -> list[str]:
    """Return the models that any metric knows: base, tuned and champion first, then the others as they come."""
    found = dict.fromkeys(model for models in metrics for model in models)
    first = ("base", "tuned", "champion")
    return [*(model for model in first if model in found), *(model for model in found if model not in first)]


def when_margin_was_set(looks: "Looks", margin: float) -> str:
    """Say which look this is, and when the margin was recorded."""
    order = "after" if _was_set_too_late(looks) else "before"
    return (
        f"Look number {looks.number} of this challenger at this test split. The margin of {margin:g} was recorded on "
        f"{_time(looks.margin_recorded_at)}, {order} its answers to this split were first drawn on "
        f"{_time(looks.first_read_at)}."
    )


def warnings_of(looks: "Looks", margin: float) -> list[str]:
    """Return what weakens the claim: earlier looks, and a margin that was chosen after the answers could be seen."""
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


def _was_set_too_late(looks: "Looks") -> bool:
    return datetime.fromisoformat(looks.margin_recorded_at) > datetime.fromisoformat(looks.first_read_at)


def _time(moment: str) -> str:
    """Write a time in UTC, to the second."""
    return datetime.fromisoformat(moment).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
