"""The adapter gives the pipeline's rewards, through the real package, on a thousand rollouts of all tasks."""

import json
import subprocess
from pathlib import Path
from typing import Final

import pytest

from schemas.documents import Rollout
from schemas.source import REPOSITORY
from schemas.store.files import read_store
from tasks.benchmark.folder import BenchmarkItem, write_folder
from tasks.commerce.registry import TASKS, score_rollout
from tasks.commerce.sql_qa.sandbox import Databases, copies_of, tables_of

pytestmark = [pytest.mark.adapters, pytest.mark.timeout(1200)]

INTERPRETER = REPOSITORY / ".venv-adapters" / "bin" / "python"
AUDIT: Final = REPOSITORY / "data" / "audit"
TOLERANCE: Final = 1e-9
NOISE: Final = ("", " ", "\n\n", "  \t", "```", '{"', "}", "NULL", "ção", "😀", "\u2028", "DROP TABLE orders;", "1e999")


def draw_rollouts() -> list[Rollout]:
    """Return rollouts of all tasks: each of the audit's with noise around its text, a third of all."""
    lines = (AUDIT / "rollouts.jsonl").read_text(encoding="utf-8").splitlines()
    shipped = [Rollout.model_validate_json(line) for line in lines]
    drawn = [(each, noise) for each in shipped for noise in NOISE][::3]
    return [each.model_copy(update={"completion": noise + each.completion + noise}) for each, noise in drawn]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A benchmark with an item for each rollout, and `expected.jsonl` with the rewards of the pipeline."""
    folder = tmp_path_factory.mktemp("rollouts")
    store = read_store(AUDIT / "store")
    databases = Databases.from_store(store)
    items, expected = [], []
    for number, rollout in enumerate(draw_rollouts()):
        known = {"reference": rollout.reference or {}, "system": TASKS[rollout.task].system}
        asked = {"id": f"{number:04}", "task": rollout.task, "prompt": rollout.prompt}
        items.append(BenchmarkItem.model_validate(known | asked))
        answer = {"id": f"{number:04}", "completion": rollout.completion}
        expected.append(answer | {"reward": score_rollout(rollout, databases).reward})
    write_folder(folder, items, [tables_of(copy) for copy in copies_of(store)], {})
    (folder / "expected.jsonl").write_text("".join(json.dumps(line) + "\n" for line in expected), encoding="utf-8")
    return folder


def test_the_harness_gives_the_pipelines_rewards(folder: Path) -> None:
    lines = [json.loads(line) for line in (folder / "expected.jsonl").read_text(encoding="utf-8").splitlines()]
    expected = {line["id"]: line["reward"] for line in lines}
    command = [str(INTERPRETER), "-m", "tests.contracts.adapters.harnesses", str(folder)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=REPOSITORY, check=False)
    assert ended.returncode == 0, ended.stderr[-4_000:]
    rewards = json.loads(ended.stdout.splitlines()[-1])
    assert rewards.keys() == expected.keys()
    differences = {name: abs(rewards[name] - reward) for name, reward in expected.items()}
    print(f"{len(rewards)} rewards, largest difference {max(differences.values()):.1e}")
    assert max(differences.values()) <= TOLERANCE
