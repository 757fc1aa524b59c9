"""What an evaluation must show, on made-up reports."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from benchmarks.harness import Report
from benchmarks.retrain import __main__ as retrain
from benchmarks.retrain.__main__ import in_clone, misses, report_clone

BETTER = ("sql_qa", "push", "churn")


def _blocks(p: float = 0.001, better: tuple[str, ...] = BETTER, worse: tuple[str, ...] = ()) -> dict[str, Any]:
    tasks = ("extraction", "sql_qa", "insights", "push", "sentiment", "churn")
    verdicts = {task: "better" if task in better else "worse" if task in worse else "inconclusive" for task in tasks}
    tasks_blocks = {task: {"verdict": verdict} for task, verdict in verdicts.items()}
    return {"overall": {"p_signflip": p, "verdict": "better"}, "tasks": tasks_blocks}


def _report(scores: dict[str, Any], truth: dict[str, Any]) -> dict[str, Any]:
    return {**scores, "ground_truth": truth}


@pytest.mark.parametrize(
    ("changed", "miss"),
    [
        ({"p": 0.01}, "overall: p 0.0100, limit 0.01"),
        ({"better": ("sql_qa", "push")}, "better on sql_qa, push; wanted 3, sql_qa or insights among them"),
        ({"better": ("push", "sentiment", "churn")}, "better on push, sentiment, churn; wanted 3"),
        ({"better": ()}, "better on no task"),
        ({"worse": ("extraction",)}, "worse on extraction"),
    ],
)
def test_a_gain_that_is_not_shown_is_named_for_scores_and_for_truth(changed: dict[str, Any], miss: str) -> None:
    for report, what in (
        (_report(_blocks(**changed), _blocks()), "scores"),
        (_report(_blocks(), _blocks(**changed)), "ground truth"),
    ):
        (found,) = misses(report)
        assert found.startswith(what)
        assert miss in found


MAKEFILE = """
retrain: .venv/.ready
	@test -z "$$PYTHONPATH" -a -z "$$VIRTUAL_ENV"
	@echo "$(SET)" > .tucano/set
	@{evaluate}
	@exit 3

.venv/.ready:
	@mkdir -p .venv .tucano
	@sleep 1
	@touch .venv/.ready
	@sleep 0.2
"""


def _repository(folder: Path, evaluate: str) -> Path:
    folder.mkdir()
    (folder / "Makefile").write_text(MAKEFILE.format(evaluate=evaluate), encoding="utf-8")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "Begin"]):
        subprocess.run([*git, *command], cwd=folder, check=True)
    return folder


@pytest.mark.integration
def test_installation_and_chain_in_a_clone_are_timed_apart_and_a_held_model_is_no_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    monkeypatch.setenv("MAKEFLAGS", "-n")
    monkeypatch.setattr(retrain, "REPOSITORY", _repository(tmp_path / "held", "touch .tucano/forest.svg"))
    found = in_clone(["seed=2", "train.max_steps=3"])
    assert found.first.exit_code == 2
    assert 0.9 < found.install_seconds < found.first.seconds
    assert found.chain_seconds == pytest.approx(found.first.seconds - found.install_seconds)
    assert found.again.seconds < found.install_seconds
    report = Report()
    report_clone(report, found)
    assert report.misses == []
