"""Alterations of delay: wrong days in the right form."""

import json
from typing import Final

from tasks.audit.alterations.bounds import ERROR_COST, WRONG
from tasks.audit.alterations.library import Alteration, Change


def _days_more(days: int) -> Change:
    return lambda good: json.dumps({"days": json.loads(good.text)["days"] + days}, separators=(",", ":"))


DELAY: Final = (
    Alteration("one day more", _days_more(1), ERROR_COST),
    Alteration("one day less", _days_more(-1), ERROR_COST),
    Alteration("ten days more", _days_more(10), WRONG),
)
