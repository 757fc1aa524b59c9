"""The command of the check: what it refuses, leaves out and calls missed, and the models that it is made of."""

import json
from pathlib import Path

import pytest
import torch

from benchmarks.gpu_check import __main__ as command
from benchmarks.gpu_check.__main__ import Group
from benchmarks.gpu_check.base import Row, Scale, append_row, build
from benchmarks.gpu_check.memory import cases
from benchmarks.gpu_check.rollouts import DIFFERENCE, sampling_rows
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


def test_a_group_that_dies_keeps_its_rows_and_is_missed(tmp_path: Path) -> None:
    append_row(tmp_path / "no_such_group.rows", OK)
    rows = command.measure_all([Group("no_such_group", "a group", 60)], ON_CPU, tmp_path, 60)
    assert [row.verdict for row in rows] == ["ok", "MISSED"]
    assert "No module named" in rows[1].measured


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
