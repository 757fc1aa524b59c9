"""Schema in a text: tables with their columns, as in `reviews(order_id, review_score)`."""

import re
from typing import Final

_TABLE: Final = re.compile(r"\b(\w+)\(([\w, ]+)\)")


def tables_in(text: str) -> dict[str, list[str]]:
    """Return the columns of each name that a text shows with a list in parentheses, in the text's order."""
    return {name: columns.split(", ") for name, columns in _TABLE.findall(text)}
