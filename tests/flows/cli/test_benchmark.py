"""`tucano benchmark`: a test is written, a model here is run on it, and its answers are scored."""

from pathlib import Path

import pytest

from schemas.tasks import TASK_NAMES
from tests.flows.command import Ended, in_this_process
from tests.tasks.policy.conftest import base

__all__ = ["base"]


def tucano(*arguments: str | Path) -> Ended:
    return in_this_process("benchmark", *arguments)


@pytest.mark.integration
def test_a_model_gets_from_the_questions_to_its_scores(base: Path, tmp_path: Path) -> None:
    folder, answers = tmp_path / "test", tmp_path / "answers.jsonl"
    written = tucano("write", "--out", folder, "--per-task", "2", "--orders", "300", "--json").document()
    assert written["items"] == dict.fromkeys(TASK_NAMES, 2)
    run = ("run", folder, "--model", base, "--guided", "forms", "--max-tokens", "4", "--out", answers)
    for _ in range(2):
        assert tucano(*run).returncode == 0
        assert len(answers.read_text(encoding="utf-8").splitlines()) == 2 * len(TASK_NAMES)
    assert tucano("score", folder, answers, "--json").document()["tasks"].keys() == set(TASK_NAMES)
