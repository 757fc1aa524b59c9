"""The adapter gives the pipeline's rewards, through the real package, on a thousand rollouts of all tasks."""

import json
import subprocess
from pathlib import Path

import pytest

from schemas.source import REPOSITORY
from tests.contracts.adapters.rollouts import draw_rollouts, write_rollouts

pytestmark = [pytest.mark.adapters, pytest.mark.timeout(1200)]

INTERPRETER = REPOSITORY / ".venv-adapters" / "bin" / "python"
TOLERANCE = 1e-9


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rollouts")
    write_rollouts(folder, draw_rollouts())
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
