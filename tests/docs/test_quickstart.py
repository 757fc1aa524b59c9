"""Every command of the quickstart, in its order, in a folder that looks like a fresh clone."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from schemas.source import REPOSITORY

DOCS = REPOSITORY / "docs"
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
CLONED = ("data", "infra", "constraints", "pyproject.toml")
ELSEWHERE = ("make ", "tucano ask ", "tucano serve", "tucano retrain --profile local")
"""Whole jobs, and what needs a champion or ends at Ctrl-C alone: tests/e2e and tests/flows/cli run these."""
MADE = (
    "prompts/prompts.parquet",
    "dataset/data/train.parquet",
    "scored.jsonl",
    "audit-report/report.html",
    "shop/shop.toml",
)


def commands(page: Path) -> list[str]:
    blocks = CONSOLE.findall(page.read_text(encoding="utf-8"))
    return [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]


@pytest.mark.integration
@pytest.mark.long
def test_every_command_of_the_quickstart_does_what_the_page_says(tmp_path: Path) -> None:
    for name in CLONED:
        (tmp_path / name).symlink_to(REPOSITORY / name)
    activate = tmp_path / ".venv" / "bin" / "activate"
    activate.parent.mkdir(parents=True)
    activate.write_text(f"export PATH={shlex.quote(str(Path(sys.executable).parent))}:$PATH\n", encoding="utf-8")
    lines = [line for line in commands(DOCS / "quickstart.md") if not line.startswith(ELSEWHERE)]
    script = "\n".join(["set -e", *(part for line in lines for part in (f"echo + {shlex.quote(line)} >&2", line))])
    ended = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-4000:]
    assert [name for name in MADE if not (tmp_path / name).is_file()] == []
