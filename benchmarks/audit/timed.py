"""Audit of 300 completions that is timed: its sheet, and the child process that checks it."""

import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from schemas.config.config import AuditConfig
from schemas.documents import Rollout
from schemas.tables.rollout_tables import read_rollouts
from tasks.audit.sampling import AT_RANDOM, BY_REWARD
from tasks.audit.sheet import Row, as_row, audit_id, read_rows, write_rows
from tasks.audit.stage import files_of, run, shipped_files

PER_TASK: Final = 50


def write_sheet(folder: Path) -> tuple[int, int]:
    """Write the shipped sheet and rollouts, some of each task once more under other prompt ids; return the sizes."""
    shipped, files = shipped_files(), files_of(folder)
    known = {audit_id(rollout): rollout for rollout in read_rollouts(shipped.rollouts)}
    scored: defaultdict[str, list[Row]] = defaultdict(list)
    for row in read_rows(shipped.sheet):
        scored[row["audit_id"]].append(row)

    def of_task(task: str) -> Iterator[tuple[Rollout, Sequence[Row]]]:
        there = [(known[identity], rows) for identity, rows in scored.items() if known[identity].task == task]
        for number in range(PER_TASK):
            rollout, rows = there[number % len(there)]
            turn = number // len(there)
            yield rollout if not turn else rollout.model_copy(update={"prompt_id": f"{rollout.prompt_id}-{turn}"}), rows

    chosen = [each for task in dict.fromkeys(rollout.task for rollout in known.values()) for each in of_task(task)]
    rows = [
        {**row, **{name: value for name, value in as_row(rollout, (AT_RANDOM, BY_REWARD)[number % 2]).items() if value}}
        for number, (rollout, given) in enumerate(chosen)
        for row in given
    ]
    write_rows(files.sheet, rows)
    files.rollouts.write_text("".join(f"{rollout.model_dump_json()}\n" for rollout, _ in chosen), encoding="utf-8")
    shutil.copytree(shipped.store, files.store)
    return len(chosen), len(rows)


def check(folder: Path) -> None:
    """Audit as `tucano audit check` does, and print the processor time, imports included."""
    output = folder / "report"
    shutil.rmtree(output, ignore_errors=True)
    output.mkdir()
    run(files_of(folder), AuditConfig(require_human=False), "grounded", output)
    print(time.process_time())


if __name__ == "__main__":
    check(Path(sys.argv[1]))
