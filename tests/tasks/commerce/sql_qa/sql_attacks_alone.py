"""Run every attack in a process of its own and print, as JSON, how each was refused and how far memory grew, in bytes.

`python -m tests.tasks.commerce.sql_qa.sql_attacks_alone`; no file can be opened or written while the attacks run.
"""

import json
import random
import resource
from pathlib import Path

from tasks.commerce.sql_qa.sandbox import Databases
from tasks.synthesize.simulated import simulate_store
from tests.tasks.commerce.sql_qa.sql_attacks import ATTACKS

ORDERS = 1_500


def main() -> None:
    """Run the corpus on the first copy of a store of full size."""
    database = Databases.from_store(simulate_store(ORDERS, random.Random(7))).copies[0]
    database.execute("SELECT date(order_purchase_timestamp) FROM orders LIMIT 1")
    # 5 resets the peak (proc(5)), so that what made the store does not hide what the attacks take.
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before = resident("VmRSS")
    with Path("/proc/self/status").open(encoding="ascii") as status:
        files = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, files[1]))
        refusals = {name: database.execute(sql).refusal for name, (sql, _) in ATTACKS.items()}
        resource.setrlimit(resource.RLIMIT_NOFILE, files)
        growth = peak_in(status.read()) - before
    named = {name: refusal and refusal.name for name, refusal in refusals.items()}
    print(json.dumps({"refusals": named, "growth": growth}))


def resident(line: str) -> int:
    """Return a line of the process's status, in bytes."""
    return int(Path("/proc/self/status").read_text(encoding="ascii").partition(f"{line}:")[2].split()[0]) * 1024


def peak_in(status: str) -> int:
    """Return the peak of the memory, in bytes."""
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


if __name__ == "__main__":
    main()
