"""What a hostile query may try, and how it is refused (`sql_attacks.json`); None where it may run, as it does no harm.

TARGET stands for the path of a file that must not come to be; of a query in parts, a part with a number is repeated.
`python -m tests.tasks.commerce.sql_qa.sql_attacks` runs every attack in a process of its own, in which no file can be
opened or written, and prints, as JSON, how each was refused and how far memory grew, in bytes.
"""

import json
import random
import resource
from pathlib import Path
from typing import Any, Final

from tasks.commerce.sql_qa.sandbox import Databases, Refusal
from tasks.synthesize.simulated import simulate_store

ORDERS: Final = 1_500


def _whole(query: Any) -> str:
    parts = [query] if isinstance(query, str) else query
    return "".join(part if isinstance(part, str) else part[0] * part[1] for part in parts)


_GROUPS: Final = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
ATTACKS: Final = {
    name: (_whole(query), Refusal[refusal] if refusal else None)
    for group in _GROUPS.values()
    for name, (query, refusal) in group.items()
}


def main() -> None:
    """Run the corpus on the first copy of a store of full size."""
    database = Databases.from_store(simulate_store(ORDERS, random.Random(7))).copies[0]
    database.execute("SELECT date(order_purchase_timestamp) FROM orders LIMIT 1")
    # 5 resets the peak (proc(5)), so that what made the store does not hide what the attacks take.
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    with Path("/proc/self/status").open(encoding="ascii") as status:
        before = _bytes_of("VmRSS", status.read())
        files = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, files[1]))
        refusals = {name: database.execute(sql).refusal for name, (sql, _) in ATTACKS.items()}
        resource.setrlimit(resource.RLIMIT_NOFILE, files)
        status.seek(0)
        growth = _bytes_of("VmHWM", status.read()) - before
    named = {name: refusal and refusal.name for name, refusal in refusals.items()}
    print(json.dumps({"refusals": named, "growth": growth}))


def _bytes_of(line: str, status: str) -> int:
    return int(status.partition(f"{line}:")[2].split()[0]) * 1024


if __name__ == "__main__":
    main()
