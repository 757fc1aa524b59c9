"""Costs before they are spent: in dollars and reais, with people's work, and asked about on a terminal alone."""

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from flows.cli.costs import SPREAD, confirm_costs, cost_lines, costs_of
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.errors import InputError, Interrupted
from tasks.train.sizing.estimate import estimate_training, expected_prompts


class TypedInput(io.StringIO):
    """Input or output that a person is at."""

    def isatty(self) -> bool:
        return True


def expected_costs(config: Config) -> dict[str, Any]:
    return costs_of(config, estimate_training(config, expected_prompts(config)))


def l4(state: Path, *overrides: str) -> Config:
    return load_config("l4", [f"state.root={state}", *overrides])


def at_a_terminal(monkeypatch: pytest.MonkeyPatch, typed: str) -> None:
    monkeypatch.setattr(sys, "stdin", TypedInput(typed))
    monkeypatch.setattr(sys, "stderr", TypedInput())


def test_reais_are_dollars_at_the_profiles_rate_and_left_out_without_one(tmp_path: Path) -> None:
    costs = expected_costs(l4(tmp_path, "workers.reais_per_dollar=6"))
    assert f"(R$ {6 * costs['dollars']:.2f})" in next(cost_lines(costs))
    assert "R$" not in next(cost_lines({**costs, "reais_per_dollar": None}))


def test_people_score_each_task_that_has_prompts_unless_a_sheet_is_named(tmp_path: Path) -> None:
    assert expected_costs(l4(tmp_path))["scores"] == 4 * 40
    sheet = ("audit.sheet=a.csv", "audit.rollouts=b.jsonl")
    assert expected_costs(l4(tmp_path, *sheet))["scores"] == 0
    assert expected_costs(load_config("local"))["scores"] == 0


def test_four_times_the_test_prompts_show_half_the_gain(tmp_path: Path) -> None:
    few, many = (expected_costs(l4(tmp_path, f"curate.test_per_task={n}")) for n in (15, 60))
    assert many["gain_of_a_task"] == pytest.approx(few["gain_of_a_task"] / 2)
    # One-sided at .05 with power .80: 1.645 and 0.842 standard errors.
    assert few["gain_of_a_task"] == pytest.approx((1.645 + 0.842) * SPREAD / 15**0.5, rel=1e-3)


def test_a_person_is_asked_and_no_starts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_a_terminal(monkeypatch, "n\n")
    with pytest.raises(InputError, match="nothing was started"):
        confirm_costs(l4(tmp_path), yes=False)
    at_a_terminal(monkeypatch, "")
    with pytest.raises(Interrupted):
        confirm_costs(l4(tmp_path), yes=False)
    at_a_terminal(monkeypatch, "y\n")
    confirm_costs(l4(tmp_path), yes=False)


def test_yes_and_a_scheduled_run_are_asked_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_a_terminal(monkeypatch, "")
    confirm_costs(l4(tmp_path), yes=True)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    confirm_costs(l4(tmp_path), yes=False)
