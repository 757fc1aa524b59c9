"""Alarms: each begins when something has been wrong for long enough, is reported once, and survives a resume."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.config.train_sections import AlarmsSection
from schemas.errors import GateRefused
from tasks.train.resume.state_files import read_state, write_state
from tasks.train.watch.alarms import Alarms, Validation

FINE: dict[str, Any] = {
    "loss": 0.1,
    "grad_norm": 0.5,
    "entropy": 1.0,
    "clip_ratio/region_mean": 0.0,
    "completions/clipped_ratio": 0.0,
    "zero_variance": 0.0,
}


def _walk(alarms: Alarms, steps: list[dict[str, Any]], first: int = 1) -> list[tuple[int, str]]:
    """Show the alarms some steps, and return when which of them began."""
    return [
        (alarm.step, alarm.name)
        for step, metrics in enumerate(steps, first)
        for alarm in alarms.step(step, {**FINE, **metrics})
    ]


def _validation(step: int, reward: float, truth: dict[str, float], task: str = "push") -> Validation:
    return Validation(step=step, mean_reward=reward, by_task={task: reward}, ground_truth={task: truth})


@pytest.mark.parametrize(
    ("name", "wrong", "limit"),
    [
        ("entropy_collapse", {"entropy": 0.019}, {"entropy": 0.02}),
        ("ceiling", {"completions/clipped_ratio": 0.5}, {"completions/clipped_ratio": 0.49}),
        ("zero_variance", {"zero_variance": 1.0}, {"zero_variance": 0.89}),
    ],
)
def test_an_alarm_is_raised_once_after_its_patience(
    name: str, wrong: dict[str, float], limit: dict[str, float]
) -> None:
    steps = [wrong] * 2 + [limit] + [wrong] * 5 + [limit] + [wrong] * 3
    assert _walk(Alarms(AlarmsSection(patience=3)), steps) == [(6, name), (12, name)]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("metric", ["loss", "grad_norm"])
def test_a_loss_or_gradient_that_is_no_number_waits_for_no_patience(metric: str, bad: float) -> None:
    alarms = Alarms(AlarmsSection(patience=5))
    assert _walk(alarms, [{}, {metric: bad}, {metric: bad}]) == [(2, "non_finite")]
    assert alarms.stopped_by is not None


def test_reward_up_while_the_mean_of_the_ground_truth_is_down_is_hacking() -> None:
    alarms = Alarms(AlarmsSection(hacking_patience=2, min_hacking_rise=0.05, min_hacking_fall=0.1))
    first = _validation(0, 0.4, {"all_kept": 0.6, "informal": 1.0})
    # The mean falls from 0.8 to 0.7, and the reward rises by 0.05: both just enough.
    hacked = {"all_kept": 0.4, "informal": 1.0}
    found = [
        alarms.validation(first, latest)
        for latest in (
            _validation(10, 0.45, hacked),
            _validation(20, 0.44, hacked),
            _validation(30, 0.45, {"all_kept": 0.41, "informal": 1.0}),
            _validation(40, 0.45, hacked),
            _validation(50, 0.45, hacked),
            _validation(60, 0.45, hacked),
        )
    ]
    assert [[alarm.step for alarm in each] for each in found] == [[], [], [], [], [50], []]
    assert "push rose by 0.050 from step 0 to step 50 while its ground truth fell by 0.100" in found[4][0].text


def test_answers_that_become_one_text_are_an_alarm_and_those_that_always_were_are_not() -> None:
    first, latest = (
        _validation(step, 0.7, {"auc": 0.5}, "churn").model_copy(update={"variety": {"churn": variety}})
        for step, variety in ((0, 0.9), (8, 0.12))
    )
    alarms = Alarms(AlarmsSection(hacking_patience=2))
    assert alarms.validation(first, latest) == []
    (alarm,) = alarms.validation(first, latest)
    assert (alarm.name, alarm.step, alarms.stopped_by) == ("one_answer", 8, alarm)
    assert "churn" in alarm.text and "0.12 times" in alarm.text
    always = Alarms(AlarmsSection(hacking_patience=1))
    none = latest.model_copy(update={"variety": {"churn": 0.0}})
    assert always.validation(latest, latest) == always.validation(none, none) == []
    older = first.model_copy(update={"variety": {}})
    assert always.validation(older, latest) == [], "a checkpoint of before knows no variety"


def test_only_a_named_alarm_stops_and_the_refusal_tells_why_what_is_kept_and_what_to_do(tmp_path: Path) -> None:
    shown = Alarms(AlarmsSection(patience=1))
    _walk(shown, [{"zero_variance": 1.0}])
    shown.require_none_stopped(10)
    alarms = Alarms(AlarmsSection(patience=1, stop_on=("zero_variance",)))
    _walk(alarms, [{"zero_variance": 1.0}], first=12)
    write_state(tmp_path, "alarms", alarms.state_dict())
    restored = Alarms(AlarmsSection(patience=1, stop_on=("zero_variance",)))
    restored.load_state_dict(read_state(tmp_path, "alarms"))
    for stopped in (alarms, restored):
        with pytest.raises(GateRefused, match=r"zero_variance stopped .*newest of step 10: .*of step 12.*stop_on$"):
            stopped.require_none_stopped(10)


METRICS = st.fixed_dictionaries(
    {
        "loss": st.sampled_from([0.1, math.nan]),
        "entropy": st.sampled_from([0.001, 1.0, None]),
        "clip_ratio/region_mean": st.sampled_from([0.0, 0.1]),
        "completions/clipped_ratio": st.sampled_from([0.0, 1.0]),
        "zero_variance": st.sampled_from([0.0, 1.0]),
    }
)


@given(steps=st.lists(METRICS, max_size=12), cut=st.integers(0, 12), patience=st.integers(1, 3))
def test_a_resumed_run_raises_the_same_alarms(steps: list[dict[str, Any]], cut: int, patience: int) -> None:
    section = AlarmsSection(patience=patience, stop_on=("zero_variance", "non_finite"))
    whole, before, after = Alarms(section, 2), Alarms(section, 2), Alarms(section, 2)
    wanted = _walk(whole, steps)
    found = _walk(before, steps[:cut])
    after.load_state_dict(json.loads(json.dumps(before.state_dict())))
    found += _walk(after, steps[cut:], first=len(steps[:cut]) + 1)
    assert found == wanted
    assert after.stopped_by == whole.stopped_by
