"""The check at a tiny size on a CPU: all rows that need no card, by the same code."""

import json
from typing import Any

import pytest

from benchmarks.gpu_check import __main__ as command

pytestmark = [pytest.mark.integration, pytest.mark.long]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """Return the rows of the groups that train, by their names."""
    out = tmp_path_factory.mktemp("check") / "figures.json"
    options = ["--shape", "tiny", "--device", "cpu", "--seconds", "3000", "--only", "training", "answers", "memory"]
    assert command.main([*options, "--out", str(out)]) == 0, out.read_text(encoding="utf-8")
    return {row["name"]: row for row in json.loads(out.read_text(encoding="utf-8"))["rows"]}


def test_the_real_child_passes_its_whole_preflight(rows: dict[str, dict[str, Any]]) -> None:
    checks = rows["preflight, transformers NF4"]["figures"]["checks"]
    assert len(checks) >= 18
    assert all(check["passed"] for check in checks)


def test_answers_do_not_depend_on_the_batch(rows: dict[str, dict[str, Any]]) -> None:
    figures = rows["validation's answers, transformers NF4"]["figures"]
    assert figures["same_answer"] == figures["asked"] == 8


def test_a_killed_and_watched_training_ends_as_one_that_nobody_killed_or_watched(
    rows: dict[str, dict[str, Any]],
) -> None:
    figures = rows["killed in step 3 and resumed"]["figures"]
    assert figures["resumed_at"] in {1, 2}
    assert figures["optimizer"]
    assert figures["adapter"]
    assert figures["learnt"] > 0
    assert figures["apart"] == 0
    assert figures["same_optimizer"]


def test_the_trained_policy_answers_and_merges(rows: dict[str, dict[str, Any]]) -> None:
    assert rows["answers of the evaluation"]["measured"] == "12 of 12"
    assert rows["merged model"]["verdict"] == "ok"


def test_the_adapter_is_in_float32_and_a_step_of_each_case_is_estimated(rows: dict[str, dict[str, Any]]) -> None:
    assert rows["adapter, transformers NF4"]["figures"]["types"] == ["float32"]
    memory = [row for name, row in rows.items() if name.startswith("tiny, 1 x 32 tokens")]
    assert len(memory) == 2
    assert all(row["figures"]["estimated_bytes"] > 0 for row in memory)
