from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from flows.cli.retrain import print_retraining
from flows.cli.tables.compare import print_report
from flows.stages.retraining import Retraining
from tests.tasks.evaluate.small_comparison import claimed, comparison


def test_a_retraining_is_reported_by_the_report_within_a_hundred_columns(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    compared = comparison(-0.2, tasks=("extraction", "push"), with_truth=True)
    decision = {"verdict": "hold", "version": "3", "model": "tucano", "alias": "champion", "merged": None}
    evaluated = SimpleNamespace(path=tmp_path, seconds=1.5, reused=False, record=SimpleNamespace(sha256="ab" * 32))
    stages = {"evaluate": evaluated}
    retraining = SimpleNamespace(stages=stages, seconds=2.0, report=compared.report(), decision=decision, champion=None)
    print_retraining(cast("Retraining", retraining))
    printed = capsys.readouterr().err
    assert max(len(line) for line in printed.splitlines() if line.startswith("│")) <= 100
    assert "Ground truth of the same answers" in printed
    assert all(f"- {reason}" in printed for reason in compared.gate.reasons)
    assert "hold: version 3 of tucano\n`champion` is no version yet\n" in printed
    assert "next: `tucano ask TASK --version 3`, `tucano ui`, `tucano promote 3 --force REASON`\n" in printed
    assert "model: " not in printed


def test_a_promoted_model_is_named_with_what_one_does_next(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    decision = {"verdict": "promote", "version": "3", "model": "tucano", "alias": "champion", "merged": {"prompts": 20}}
    stage = SimpleNamespace(path=tmp_path, seconds=1.5, reused=False, record=SimpleNamespace(sha256="ab" * 32))
    stages = {"evaluate": stage, "promote": stage}
    report = comparison(0.2, tasks=("push",)).report()
    retraining = SimpleNamespace(stages=stages, seconds=2.0, report=report, decision=decision, champion="3")
    print_retraining(cast("Retraining", retraining))
    printed = capsys.readouterr().err
    assert f"model: {tmp_path / 'merged'}\nnext: `tucano ask TASK`, `tucano ui`, `tucano monitor LOGS`\n" in printed


def test_answers_that_take_no_model_are_printed_beside_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    print_report(claimed().report())
    printed = capsys.readouterr().err
    assert "Scores of answers that take no model" in printed
    (row,) = [line for line in printed.splitlines() if "0.700" in line and line.startswith("│")]
    assert len(row) <= 100
    assert "0.75" in row


def test_the_widest_row_of_a_report_fits_a_hundred_columns(capsys: pytest.CaptureFixture[str]) -> None:
    block = comparison(tasks=("extraction",)).report()["overall"] | {
        "n_prompts": 1000, "ci_low": -0.555, "ci_high": 0.237, "p_holm": 0.0, "p_harm": 0.0, "verdict": "non-inferior",
    }  # fmt: skip
    gate = {"verdict": "hold", "reasons": []}
    print_report({"overall": block, "tasks": {"extraction": block}, "ground_truth": None, "gate": gate})
    rows = [line for line in capsys.readouterr().err.splitlines() if line.startswith("│")]
    assert len(rows) == 2
    assert max(map(len, rows)) <= 100
    assert all("−0.555 to +0.237" in row and "non-inferior" in row for row in rows)
