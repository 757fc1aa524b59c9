"""How the page and the Markdown put numbers, and what they say of the looks at the test split."""

from collections.abc import Sequence
from datetime import UTC, datetime

from tasks.evaluate.background import Looks
from tasks.evaluate.planning import ALPHA


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


def models_in(metrics: Sequence[Sequence[str]]) -> list[str]:
    """Return the models that any metric knows: base and tuned first, then the others as they come."""
    found = dict.fromkeys(model for models in metrics for model in models)
    return sorted(found, key=lambda model: {"base": 0, "tuned": 1}.get(model, 2))


def when_margin_was_set(looks: Looks, margin: float) -> str:
    """Say which look this is, and when the margin was recorded."""
    read = "before this run" if looks.first_read_at is None else f"on {_time(looks.first_read_at)}"
    first = "were not drawn" if looks.first_read_at is None else "were first drawn"
    return (
        f"Look number {looks.number} of this challenger at this test split. The margin of {margin:g} was recorded on "
        f"{_time(looks.margin_recorded_at)}; this challenger's answers to this split {first} {read}."
    )


def warnings_of(looks: Looks, margin: float) -> list[str]:
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
    elif looks.first_read_at is not None and _is_later(looks.margin_recorded_at, looks.first_read_at):
        warnings.append(
            "The margin was recorded after this challenger's answers to the test split had been drawn, "
            "so that nothing shows that it was chosen without them."
        )
    return warnings


def _time(moment: str) -> str:
    """Write a time in UTC, to the second."""
    return datetime.fromisoformat(moment).astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def _is_later(moment: str, other: str) -> bool:
    return datetime.fromisoformat(moment).astimezone(UTC) > datetime.fromisoformat(other).astimezone(UTC)
