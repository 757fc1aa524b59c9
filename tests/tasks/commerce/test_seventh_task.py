"""A seventh task, as docs/add-a-task.md adds it: from its prompt to a scored rollout and its alterations.

The page's files are copied into a copy of the repository, and everything runs there in processes of its own.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from schemas.source import PACKAGES, REPOSITORY

pytestmark = pytest.mark.integration

TASK = "delay"
PAGE = REPOSITORY / "docs" / "add-a-task.md"
FILE = re.compile(r"^`(\S+)`:\n\n```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COPIED = re.compile(r"^`(\S+)`: \[.*\]\((\S+)\)$", re.MULTILINE)
TESTS = (
    "__init__.py",
    "tasks/__init__.py",
    *(f"tasks/commerce/{name}.py" for name in ("__init__", "conftest", "scoring")),
)
EVERY_TASK = "tests/tasks/commerce/test_every_task.py"


def add_task(repository: Path) -> None:
    """Do in a copy of the repository what the page says."""
    page = PAGE.read_text(encoding="utf-8")
    copied = ((name, "python", (PAGE.parent / source).read_text("utf-8")) for name, source in COPIED.findall(page))
    for name, language, text in (*FILE.findall(page), *copied):
        file = repository / name.replace("NAME", TASK)
        file.parent.mkdir(exist_ok=True)
        file.write_text(patched(file, text) if language == "diff" else text, encoding="utf-8")


def patched(file: Path, diff: str) -> str:
    """Return a file's text with a change of some lines that stand in it once."""
    lines = diff.splitlines(keepends=True)
    before, after = ("".join(line[1:] for line in lines if line[0] in kept) for kept in (" -", " +"))
    text = file.read_text(encoding="utf-8")
    assert text.count(before) == 1
    return text.replace(before, after)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with the seventh task in it."""
    copy = tmp_path_factory.mktemp("copy")
    for name in (*sorted(PACKAGES), "data", "docs", "infra/profiles"):
        shutil.copytree(REPOSITORY / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in (*(f"tests/{name}" for name in TESTS), EVERY_TASK):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, copy / name)
    add_task(copy)
    return copy


def run(repository: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a module of Python in the copy."""
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=repository,
        env={**os.environ, "PYTHONPATH": str(repository), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


def command(repository: Path, *arguments: str | Path, code: int = 0) -> dict[str, Any]:
    """Run the command line in the copy and return its document."""
    ended = run(repository, "flows", *arguments, "--json")
    assert ended.returncode == code, ended.stderr
    document: dict[str, Any] = json.loads(ended.stdout)
    return document


def test_every_task(repository: Path) -> None:
    """The one test that a stranger runs, with nothing missing."""
    ended = run(repository, "pytest", "-p", "no:cacheprovider", "-v", "-k", TASK, EVERY_TASK)
    assert ended.returncode == 0, ended.stdout
    assert "8 passed" in ended.stdout


def test_the_seventh_tasks_prompts_are_made_and_its_answers_scored(repository: Path, tmp_path: Path) -> None:
    made = command(
        *(repository, "synthesize", "--count", "12", "--mix", f"{TASK}=1", "--orders", "300"),
        *("--out", tmp_path / "prompts", "--state", tmp_path / "state"),
    )
    assert made["made"][TASK] == 12
    rows = [
        {"prompt_id": "p", "task": TASK, "prompt": "?", "completion": completion, "reference": {"days": -3}}
        for completion in ('{"days": -3}', '{"days": -2}', 'Claro! {"days": -3} Espero ter ajudado.', "Não sei.")
    ]
    file = tmp_path / "rollouts.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    scored = command(repository, "score", file, "--out", tmp_path / "scored.jsonl", "--metrics")
    assert scored["tasks"][TASK]["metrics"] == {"accuracy": 0.25}
    rewards = [json.loads(line)["reward"] for line in (tmp_path / "scored.jsonl").read_text("utf-8").splitlines()]
    assert 1.0 == rewards[0] > rewards[1] > rewards[2] > rewards[3] == 0.0
