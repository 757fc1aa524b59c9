"""Number formats of terminal, page, Markdown and the gate's reasons."""


def signed(value: float | None) -> str:
    """Format a difference with its sign, the minus as wide as the plus."""
    if value is None:
        return "unknown"
    return "0.000" if abs(value) < 0.0005 else f"{value:+.3f}".replace("-", "−")


def interval(low: float | None, high: float | None) -> str:
    """Format both ends of an interval."""
    return "unknown" if low is None else f"{signed(low)} to {signed(high)}"


def p_value(value: float) -> str:
    """Format a p value, with a floor below which its digits mean nothing."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def percent(share: float) -> str:
    """Format a share of 1 as a percentage."""
    return f"{100 * share:.0f} %"
