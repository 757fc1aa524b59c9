"""What a hostile query may try, and how it is refused (`sql_attacks.json`); None where it may run, as it does no harm.

TARGET stands for the path of a file that must not come to be; of a query in parts, a part with a number is repeated.
"""

import json
from pathlib import Path
from typing import Any, Final

from tasks.commerce.sql_qa.sandbox import Refusal


def _whole(query: Any) -> str:
    return (
        query
        if isinstance(query, str)
        else "".join(part if isinstance(part, str) else part[0] * part[1] for part in query)
    )


_GROUPS: Final = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
ATTACKS: Final = {
    name: (_whole(query), Refusal[refusal] if refusal else None)
    for group in _GROUPS.values()
    for name, (query, refusal) in group.items()
}
