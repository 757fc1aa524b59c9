"""A seventh task, as docs/add-a-task.md adds it: from its prompt to a scored rollout, its alterations and its audit.

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
TESTS = (
    "__init__.py",
    "tasks/__init__.py",
    *(f"tasks/commerce/{name}.py" for name in ("__init__", "conftest", "scoring")),
)
ROLLOUTS_AND_SHEET = """
import json, sys
from pathlib import Path
import polars as pl
from schemas.documents import Rollout
from tasks.audit.sheet import as_row, write_rows

folder, rollouts, rows = Path(sys.argv[1]), [], []
for prompt in pl.read_parquet(folder / "prompts" / "prompts.parquet").iter_rows(named=True):
    reference = json.loads(prompt["reference"])
    days = reference["days"]
    answers = {
        json.dumps({"days": days}): 5,
        json.dumps({"days": days + 1}): 4,
        f'Claro! {json.dumps({"days": days})} Espero ter ajudado.': 2,
        "Não sei.": 1,
    }
    for completion, score in answers.items():
        kept = {name: prompt[name] for name in ("prompt_id", "task", "prompt")}
        rollout = Rollout(**kept, completion=completion, reference=reference)
        rollouts.append(rollout.model_dump_json() + "\\n")
        for rater in ("ana", "rui"):
            given = {"human_score": str(score), "rater": rater, "rater_kind": "human"}
            rows.append(as_row(rollout, "written") | given)
(folder / "rollouts.jsonl").write_text("".join(rollouts), encoding="utf-8")
write_rows(folder / "sheet.csv", rows)
"""
"""Four rollouts of each prompt, and the sheet on which two people scored them."""
EVERY_TASK = "tests/tasks/commerce/test_every_task.py"


def add_task(repository: Path) -> None:
    """Do in a copy of the repository what the page says."""
    for name, language, text in FILE.findall(PAGE.read_text(encoding="utf-8")):
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
    for name in (*sorted(PACKAGES), "data", "infra/profiles"):
        shutil.copytree(REPOSITORY / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in (*(f"tests/{name}" for name in TESTS), EVERY_TASK):
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, copy / name)
    add_task(copy)
    (copy / "rollouts_and_sheet.py").write_text(ROLLOUTS_AND_SHEET, encoding="utf-8")
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
    assert "9 passed" in ended.stdout


def test_the_seventh_task_goes_from_its_prompts_to_the_report_of_its_audit(repository: Path, tmp_path: Path) -> None:
    made = command(
        *(repository, "synthesize", "--count", "12", "--mix", f"{TASK}=1", "--orders", "300"),
        *("--out", tmp_path / "prompts", "--state", tmp_path / "state"),
    )
    assert made["made"][TASK] == 12

    ended = run(repository, "rollouts_and_sheet", tmp_path)
    assert ended.returncode == 0, ended.stderr
    file = tmp_path / "rollouts.jsonl"
    scored = command(repository, "score", file, "--out", tmp_path / "scored.jsonl", "--metrics")
    assert scored["tasks"][TASK]["metrics"] == {"accuracy": 0.25}
    rewards = [json.loads(line)["reward"] for line in (tmp_path / "scored.jsonl").read_text("utf-8").splitlines()]
    right, one_off, chatty, nothing = rewards[:4]
    assert 1.0 == right > one_off > chatty > nothing == 0.0

    audited = command(
        *(repository, "audit", "check", tmp_path / "sheet.csv", "--rollouts", file, "--report", tmp_path / "report"),
        *("--store", tmp_path / "prompts" / "store"),
    )
    assert audited["gate"]["passed"], audited["gate"]["reasons"]
    assert {name: probe for name, probe in audited["tasks"][TASK]["probes"].items() if not probe["passed"]} == {}
    assert "one day more" in audited["tasks"][TASK]["probes"]
    assert f"<h2>{TASK}" in (tmp_path / "report" / "report.html").read_text("utf-8")
