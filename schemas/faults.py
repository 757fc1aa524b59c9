"""What is wrong with a document, in words."""

from pydantic import ValidationError

_MOST_SHOWN = 20


def first_fault(error: ValidationError) -> str:
    """Say where and what the first fault of a document is, and what stands there instead where that tells no text."""
    fault = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in fault["loc"])
    if fault["type"] == "missing":
        return f"{place} is missing"
    found, message = fault["input"], fault["msg"].removeprefix("Value error, ")
    # A longer text may be a shopper's words, which belong in no message.
    shown = type(found).__name__ if isinstance(found, (str, dict, list)) and len(found) > _MOST_SHOWN else repr(found)
    return f"{place}: {message} (it is {shown})" if place else message
