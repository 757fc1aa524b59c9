"""The command of the check: what it refuses, leaves out and calls missed, and the models that it is made of."""

import json
from pathlib import Path

import pytest
import torch

from benchmarks.gpu_check import __main__ as command
from benchmarks.gpu_check.__main__ import GROUPS, Group
from benchmarks.gpu_check.base import Row, Scale, append_row, build
from benchmarks.gpu_check.inputs import recipe_of
from benchmarks.gpu_check.memory import cases
from benchmarks.gpu_check.rollouts import DIFFERENCE, memory_row, sampling_rows
from benchmarks.gpu_check.training import Trained
from tasks.train.sizing.memory import DecoderShape

ON_CPU = Scale("tiny", "cpu")
OK = Row("a check", "1", "2", "ok", {"bytes": 1})
MISSED = Row("another check", "3", "2", "MISSED")


def test_without_a_gpu_one_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert command.main([]) == 2
    assert " ".join(capsys.readouterr().err.split()).startswith("nothing was checked: there is no GPU here")


@pytest.mark.parametrize(("rows", "code"), [([OK], 0), ([OK, MISSED], 1), ([Row("x", "", "", "not here")], 0)])
def test_the_exit_code_says_whether_a_limit_was_missed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, rows: list[Row], code: int
) -> None:
    monkeypatch.setattr(command, "measure_all", lambda *_: rows)
    out = tmp_path / "figures.json"
    assert command.main(["--device", "cpu", "--shape", "tiny", "--out", str(out)]) == code
    shown = capsys.readouterr().out
    assert all(row.verdict in shown for row in rows)
    assert max(map(len, shown.splitlines())) <= 100
    written = json.loads(out.read_text())
    assert [row["verdict"] for row in written["rows"]] == [row.verdict for row in rows]
    assert written["rows"][0]["figures"] == rows[0].figures


def test_a_missing_library_is_not_here(tmp_path: Path) -> None:
    groups = [Group("environment", "a group", 60, ("torch", "no_such_module"))]
    (row,) = command.measure_all(groups, ON_CPU, tmp_path, 60)
    assert (row.verdict, row.measured) == ("not here", "needs no_such_module")


def test_a_group_that_needs_a_gpu_is_not_here_on_a_cpu(tmp_path: Path) -> None:
    (row,) = command.measure_all([Group("environment", "a group", 60, needs_gpu=True)], ON_CPU, tmp_path, 60)
    assert (row.verdict, row.measured) == ("not here", "needs a GPU")


def test_a_group_without_time_is_missed(tmp_path: Path) -> None:
    (row,) = command.measure_all(GROUPS[:1], ON_CPU, tmp_path, 1)
    assert row.verdict == "MISSED"
    assert "not begun" in row.measured


def test_a_group_that_dies_keeps_its_rows_and_is_missed(tmp_path: Path) -> None:
    append_row(tmp_path / "no_such_group.rows", OK)
    rows = command.measure_all([Group("no_such_group", "a group", 60)], ON_CPU, tmp_path, 60)
    assert [row.verdict for row in rows] == ["ok", "MISSED"]
    assert "No module named" in rows[1].measured


@pytest.mark.parametrize(
    ("end", "failure"),
    [("import os; os._exit(3)", "exit code 3"), ("import time; time.sleep(600)", "killed after 2 s")],
)
def test_a_failed_groups_child_is_heard_and_no_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], end: str, failure: str
) -> None:
    for name in ("before", "during"):
        (tmp_path / name).mkdir()
    (tmp_path / "before" / "child.log").write_text("of another group", encoding="utf-8")
    write = f"open({str(tmp_path / 'during' / 'child.log')!r}, 'w').write('what the child died of')"
    # Each Python of the group's environment runs it when it starts.
    (tmp_path / "sitecustomize.py").write_text(f"{write}\n{end}\n", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(command, "MIN_SECONDS", 0)
    (row,) = command.measure_all([Group("environment", "a group", 60)], ON_CPU, tmp_path, 2)
    assert row.measured.startswith(failure)
    shown = capsys.readouterr().err
    assert "what the child died of" in shown
    assert "of another group" not in shown


@pytest.mark.parametrize("backend", ["transformers", "unsloth"])
@pytest.mark.parametrize("profile", ["l4", "l4-next"])
def test_the_recipe_is_the_profiles_own_but_for_what_a_few_steps_need(profile: str, backend: str) -> None:
    recipe = recipe_of(Scale(), profile, **({"backend": backend} if profile == "l4" else {}))
    assert recipe.completions_per_step == {"l4": 32, "l4-next": 64}[profile]
    assert recipe.load_in_4bit is (profile == "l4")
    assert recipe.optimizer.name == {"l4": "adamw_8bit", "l4-next": "adamw_torch"}[profile]
    assert (recipe.max_steps, recipe.preemption.notice_url) == (3, None)


def test_a_larger_card_is_capped_for_children_too() -> None:
    assert Scale("l4", "cuda", 24.0, 0.25).allocator_settings() == {
        "PYTORCH_ALLOC_CONF": "per_process_memory_fraction:0.2500"
    }
    assert Scale("l4", "cuda", 24.0, 1.0).allocator_settings() == {}
    assert ON_CPU.allocator_settings() == {}


@pytest.mark.parametrize("shape", {case.shape for case in cases(Scale())})
def test_the_models_have_their_shapes_exact_number_of_weights(shape: DecoderShape) -> None:
    assert build(shape, "meta", torch.bfloat16).num_parameters() == shape.parameters


def by_vllm(difference: float | None = 0.01, resampled: float = 2.0, base_after: str = "a") -> Trained:
    """Return a training of three steps with rollouts by vLLM."""
    differences = {} if difference is None else {f"{DIFFERENCE}/mean": difference, f"{DIFFERENCE}/max": 0.5}
    metrics = {step: {"sampling/resampled_groups": resampled, "step_time": 2.0, **differences} for step in (1, 2, 3)}
    observed = {"base_before": "a", "base_after": base_after, "peaks": {"step": 9e9}, "held_bytes": 23e9}
    return Trained(metrics, observed, None)


@pytest.mark.parametrize(
    ("trained", "missed"),
    [
        (by_vllm(), []),
        (by_vllm(resampled=0.0), ["dynamic sampling, vLLM"]),
        (by_vllm(base_after="b"), ["base weights, vLLM"]),
        (by_vllm(difference=0.06), ["log-probabilities, vLLM"]),
        # Where no completion counts, their mean is 0 and says nothing.
        (by_vllm(difference=0.0), ["log-probabilities, vLLM"]),
        (by_vllm(difference=None), ["log-probabilities, vLLM"]),
    ],
)
def test_vllm_resamples_agrees_and_leaves_the_base_alone(trained: Trained, missed: list[str]) -> None:
    assert [row.name for row in sampling_rows(trained) if row.verdict == "MISSED"] == missed


@pytest.mark.parametrize(("gigabytes", "verdict"), [(24.0, "ok"), (22.0, "MISSED")])
def test_memory_that_vllm_holds_has_a_limit(gigabytes: float, verdict: str) -> None:
    row = memory_row("steps", by_vllm(), Scale(gigabytes=gigabytes))
    assert row.verdict == verdict
    assert "holds 23.0 GB of the card" in row.measured
    assert row.figures["step_time"] == 2.0
