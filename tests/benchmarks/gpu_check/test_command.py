"""The command of the check: what it refuses, leaves out and calls missed, and the models that it is made of."""

import json
from pathlib import Path

import pytest
import torch
from llguidance import LLMatcher, LLTokenizer

from benchmarks.gpu_check import __main__ as command
from benchmarks.gpu_check.__main__ import Group
from benchmarks.gpu_check.base import TINY, Row, Scale, append_row
from benchmarks.gpu_check.guided import follows
from benchmarks.gpu_check.inputs import build
from benchmarks.gpu_check.rollouts import DIFFERENCE, sampling_rows
from benchmarks.gpu_check.training import Trained
from tasks.train.sizing.memory import DecoderShape

OK, MISSED = Row("a check", "1", "2", "ok", {"bytes": 1}), Row("another check", "3", "2", "MISSED")


def test_without_a_gpu_nothing_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert command.main([]) == 2


@pytest.mark.parametrize(("rows", "code"), [([OK], 0), ([OK, MISSED], 1), ([Row("x", "", "", "not here")], 0)])
def test_the_exit_code_says_whether_a_limit_was_missed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rows: list[Row], code: int
) -> None:
    monkeypatch.setattr(command, "measure_all", lambda *_: rows)
    out = tmp_path / "figures.json"
    assert command.main(["--device", "cpu", "--shape", "tiny", "--out", str(out)]) == code
    assert [Row(**row) for row in json.loads(out.read_text())["rows"]] == rows


def test_a_group_that_dies_keeps_its_rows_and_is_missed(tmp_path: Path) -> None:
    append_row(tmp_path / "no_such_group.rows", OK)
    rows = command.measure_all([Group("no_such_group", "a group", 60)], Scale("tiny", "cpu"), tmp_path, 60)
    assert [row.verdict for row in rows] == ["ok", "MISSED"]
    assert "No module named" in rows[1].measured


@pytest.mark.parametrize("shape", [TINY, Scale().policy])
def test_the_models_have_their_shapes_exact_number_of_weights(shape: DecoderShape) -> None:
    assert build(shape, "meta", torch.bfloat16).num_parameters() == shape.parameters


def test_an_answer_follows_its_grammar_to_its_end_or_to_where_it_is_cut_off() -> None:
    matcher, end = LLMatcher(LLTokenizer("byte"), 'start: "yes"'), 256
    for answer, is_whole in {b"yes": True, b"ye": False, b"no": False, b"": False}.items():
        assert follows(matcher.deep_copy(), [*answer, end], end) is is_whole, answer
    assert follows(matcher, list(b"ye"), end)


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
        (by_vllm(resampled=0.0, base_after="b"), ["dynamic sampling, vLLM", "base weights, vLLM"]),
        (by_vllm(difference=0.06), ["log-probabilities, vLLM"]),
        # Where no completion counts, their mean is 0 and says nothing.
        (by_vllm(difference=0.0), ["log-probabilities, vLLM"]),
        (by_vllm(difference=None), ["log-probabilities, vLLM"]),
    ],
)
def test_vllm_resamples_agrees_and_leaves_the_base_alone(trained: Trained, missed: list[str]) -> None:
    assert [row.name for row in sampling_rows(trained) if row.verdict == "MISSED"] == missed
