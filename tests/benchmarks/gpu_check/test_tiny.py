"""The check at a tiny size on a CPU: all rows that need no card, by the same code."""

import json
from typing import Any

import pytest

from benchmarks.gpu_check import __main__ as command

pytestmark = [pytest.mark.integration, pytest.mark.long]


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    out = tmp_path_factory.mktemp("check") / "figures.json"
    options = "--shape tiny --device cpu --seconds 3000 --only training answers --out"
    assert command.main([*options.split(), str(out)]) == 0, out.read_text(encoding="utf-8")
    return {row["name"]: row for row in json.loads(out.read_text(encoding="utf-8"))["rows"]}


def test_the_real_child_passes_its_preflight_and_its_answers_do_not_depend_on_the_batch(
    rows: dict[str, dict[str, Any]],
) -> None:
    checks = rows["preflight, transformers NF4"]["figures"]["checks"]
    assert len(checks) >= 18
    assert all(check["passed"] for check in checks)
    answers = rows["validation's answers, transformers NF4"]["figures"]
    assert answers["same_answer"] == answers["asked"] == 8


def test_a_killed_training_ends_as_one_that_nobody_killed_or_watched(rows: dict[str, dict[str, Any]]) -> None:
    resumed = rows["killed in step 3 and resumed"]["figures"]
    assert resumed["resumed_at"] in {1, 2}
    assert resumed["optimizer"] and resumed["adapter"]
    end = rows["its end beside that of one that nobody killed"]["figures"]
    assert (end["apart"], end["same_optimizer"], end["learnt"] > 0) == (0, True, True)


def test_the_trained_policy_answers_and_merges_and_its_adapter_is_in_float32(rows: dict[str, dict[str, Any]]) -> None:
    assert rows["answers of the evaluation"]["measured"] == "12 of 12"
    assert rows["merged model"]["verdict"] == "ok"
    assert rows["adapter, transformers NF4"]["figures"]["types"] == ["float32"]
