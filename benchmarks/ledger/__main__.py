"""Capability ledger: every row of docs/capabilities.md, run in its order.

Limit: each command ends with the exit code of its row and prints the text of its row.
"""

import os
import re
import shlex
import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.harness import Report, run_benchmark
from schemas.source import REPOSITORY

PAGE: Final = REPOSITORY / "docs" / "capabilities.md"
ROW: Final = re.compile(r"\| (?P<capability>[^|]+) \| `(?P<command>.+)` \| (?P<code>\d)(?: `(?P<text>.+)`)? \|")
"""A row: the text is a part of what the command prints, where white space is one space."""
SECONDS: Final = 1_800
PROFILE: Final = "tests/e2e/small.toml"


def rows(page: str) -> list[dict[str, str]]:
    """Return the rows of the page: capability, command, code and text."""
    return [
        {name: (value or "").replace("\\|", "|") for name, value in found.groupdict().items()}
        for line in page.splitlines()
        if (found := ROW.fullmatch(line))
    ]


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--folder", type=Path, help="work here and leave it, in place of a temporary folder")
    parser.add_argument("--only", default="", help="regular expression of the commands to run")


def measure(report: Report, options: Namespace) -> None:
    """Run each row; print those that differ."""
    chosen = [row for row in rows(PAGE.read_text(encoding="utf-8")) if re.search(options.only, row["command"])]
    began = time.monotonic()
    with TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        same = sum([_is_same(row, folder, report) for row in chosen])
    report.line(f"{same} of {len(chosen)} capabilities are as their rows say; {time.monotonic() - began:.0f} s.")


def _is_same(row: dict[str, str], folder: Path, report: Report) -> bool:
    state = shlex.quote(str(folder / "state"))
    script = f"D={shlex.quote(str(folder))}; RUN='--profile {PROFILE} --state {state}'; {row['command']}"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    ended = subprocess.run(
        ["bash", "-o", "pipefail", "-c", script],
        cwd=REPOSITORY,
        env={**os.environ, "PATH": path, "COLUMNS": "1000"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    printed = " ".join(ended.stdout.split())
    is_same = ended.returncode == int(row["code"]) and row["text"] in printed
    report.limit(is_same, f"`{row['command']}` gave {ended.returncode}, and: {printed[-300:]}")
    return is_same


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
