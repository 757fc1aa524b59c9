"""Number formats of terminal, page, Markdown and the gates' reasons, in the report's language."""

from datetime import UTC, date, datetime

from tasks.report.wording import language, reais_per_dollar, worded


def decimal(value: float, places: int = 3) -> str:
    """Format a number with so many decimals."""
    return _localized(f"{value:,.{places}f}")


def shortest(value: float) -> str:
    """Format a number that somebody set, with the digits that it has."""
    return _localized(f"{value:g}")


def signed(value: float | None) -> str:
    """Format a difference with its sign, the minus as wide as the plus."""
    if value is None:
        return worded("unknown")
    return _localized("0.000" if abs(value) < 0.0005 else f"{value:+.3f}".replace("-", "−"))


def interval(low: float | None, high: float | None) -> str:
    """Format both ends of an interval."""
    return worded("unknown") if low is None else worded("{low} to {high}", low=signed(low), high=signed(high))


def p_value(value: float) -> str:
    """Format a p value, with a floor below which its digits mean nothing."""
    return _localized("< 0.001" if value < 0.001 else f"{value:.3f}")


def percent(share: float, places: int = 0) -> str:
    """Format a share of 1 as a percentage."""
    return worded("{number} %", number=decimal(100 * share, places).replace("-", "−"))


def money(dollars: float, places: int = 2) -> str:
    """Format an amount of US dollars with so many decimals, and in reais beside it where a rate is known."""
    rate = reais_per_dollar()
    amount = worded("${amount}", amount=decimal(dollars, places))
    return amount if rate is None else f"{amount} (R$\N{NO-BREAK SPACE}{decimal(dollars * rate, places)})"


def amount(dollars: float) -> str:
    """Format an amount of US dollars with the decimals that it has, six at most, and in reais beside it."""
    decimals = f"{dollars:.6f}".rstrip("0").partition(".")[2]
    return money(dollars, len(decimals))


def written_day(when: date) -> str:
    """Format a day: in English as ISO 8601 has it, in Portuguese as 31/12/2026."""
    return f"{when:%d/%m/%Y}" if language() == "pt" else f"{when:%Y-%m-%d}"


def short_day(when: date) -> str:
    """Format a day without its year: 31 Dec, or 31/12."""
    return f"{when:%d/%m}" if language() == "pt" else f"{when:%d %b}"


def moment(when: str) -> str:
    """Format a time of ISO 8601 in UTC, to the second."""
    found = datetime.fromisoformat(when).astimezone(UTC)
    return f"{written_day(found)} {found:%H:%M:%S} UTC"


def _localized(number: str) -> str:
    """Return a number with the signs of the language: in Portuguese a decimal comma, and a point at the thousands."""
    return number if language() == "en" else number.translate(str.maketrans(",.", ".,"))
