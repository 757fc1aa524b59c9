"""Next steps after a hold: each is named only where the figures say that it would help, and its command works."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from schemas.config.profiles import load_config
from schemas.tasks import TASK_NAMES
from tasks.next_steps.steps import NextStep, Trained, next_steps, read_trained
from tasks.report.wording import spoken

ROWS = {"sentiment": 900, "push": 900}
FLAT = ((0, 0.5), (5, 0.6), (10, 0.6))
DONE = Trained(FLAT, 500, stopped_early=False, prompts_a_step=4.0, asked={"sentiment": 1_200}, scored_by_people=True)


def report(verdict: str = "hold", bag: tuple[float, float | None] | None = None, **verdicts: str) -> dict[str, Any]:
    """Return an evaluation's report; `bag` is the tuned model's right answers less its bag's, and the upper end."""
    block = {"n_prompts": 240, "mean_base": 0.9, "mean_tuned": 0.8, "ci_low": None}
    beside = None if bag is None else {**block, "mean_difference": bag[0], "ci_high": bag[1]}
    known = {"bag-of-words": {"scores": block, "truth": beside}} if beside else {}
    return {
        "gate": {"verdict": verdict},
        "tasks": {task: {"verdict": each} for task, each in ({"sentiment": "inconclusive"} | verdicts).items()},
        "claims": {"sentiment": {"baselines": known, "floors": [{"metric": "macro_f1", "least": 0.5}]}},
        "untold": {},
    }


def commands(found: dict[str, Any], trained: Trained = DONE, macro_f1: float = 0.78, **rows: Any) -> list[str]:
    metrics = {"sentiment": {"macro_f1": {"bag-of-words": macro_f1}}}
    counted: Any = ROWS | rows
    return [step.command for step in next_steps(found, metrics, counted, trained)]


def trained(validation: Any = FLAT, steps: int = 500, **changes: Any) -> Trained:
    return Trained(**{**vars(DONE), "validation": validation, "steps": steps, **changes})


@pytest.mark.parametrize(
    ("training", "steps"),
    [
        (trained(((0, 0.5), (5, 0.6), (10, 0.7)), 500), 1_000),
        (trained(((0, 0.5), (5, 0.7), (10, 0.7)), 500), None),
        (trained(FLAT, 200), 450),
        (trained(FLAT, 40), 160),
        (trained(((0, 0.5), (10, 0.7)), 40, stopped_early=True), None),
    ],
)
def test_more_steps_are_for_a_rising_curve_and_unsampled_prompts(training: Trained, steps: int | None) -> None:
    expected = [] if steps is None else [f"tucano retrain --set train.max_steps={steps}"]
    assert commands(report(), training) == expected


def test_grpo_after_sft_alone_is_planned_before_it_is_paid() -> None:
    assert commands(report(), trained(FLAT[:1], 0)) == ["tucano plan --set train.max_steps=20"]


@pytest.mark.parametrize(
    ("bag", "macro_f1", "place"),
    [((-0.1, -0.02), 0.78, 0), ((-0.1, 0.01), 0.78, 1), ((0.1, 0.2), 0.78, None), ((-0.1, -0.02), 0.4, None)],
)
def test_a_better_bag_of_words_is_taken(bag: tuple[float, float], macro_f1: float, place: int | None) -> None:
    """An interval puts it before more steps; below its floor it may not be promoted."""
    found = commands(report(bag=bag), trained(FLAT, 200), macro_f1)
    expected = ["tucano retrain --set train.max_steps=450"]
    if place is not None:
        expected.insert(place, "tucano promote --baseline sentiment")
    assert found == expected


def test_a_task_that_is_not_learned_is_dropped_only_where_another_is() -> None:
    dropped = "tucano retrain --set synthesize.counts.push=0"
    assert commands(report(push="not learned")) == [dropped]
    assert commands(report(push="not learned", sentiment="not learned")) == []


def test_more_rows_are_for_tasks_with_fewer_than_500_that_did_not_get_better() -> None:
    for verdict in ("inconclusive", "non-inferior"):
        more = ["tucano retrain --set synthesize.counts.sentiment=2000"]
        assert commands(report(sentiment=verdict), sentiment=300) == more
    assert commands(report(sentiment="better"), sentiment=300) == []
    (own,) = next_steps(report(), {}, {"sentiment": 300}, trained(asked={}))
    assert (own.command, "your files" in own.why) == ("tucano retrain", True)


def test_people_are_asked_for_references_first_where_a_task_could_not_be_tested_and_for_scores_last() -> None:
    found = report(bag=(-0.1, -0.02))
    asked = "tucano audit references --task sentiment --rater me"
    assert commands(found | {"untold": {"sentiment": (40, 40)}})[0] == asked
    assert commands(found | {"untold": {"sentiment": (3, 40), "push": (3, 40)}})[1:] == [asked]
    assert commands(report(), trained(scored_by_people=False)) == ["tucano retrain --set audit.require_human=true"]


def test_at_most_three_are_named_none_forces_and_a_promoted_model_has_none() -> None:
    found = report(bag=(-0.1, -0.02), push="not learned")
    many = commands(found, trained(FLAT, 40, scored_by_people=False), sentiment=300)
    assert len(many) == 3
    assert not any("--force" in command for command in many)
    assert commands(report("promote", bag=(-0.1, -0.02)), trained(FLAT, 40)) == []


def test_a_command_works_as_printed_with_the_options_of_the_run(tmp_path: Path) -> None:
    given = ["--profile", "local", "--set", 'report.language="pt"', "--state", "my shop"]
    step = NextStep("it rose", "tucano retrain --set train.max_steps=20", 20)
    with spoken("pt"):
        whole = step.whole(given, tmp_path, "7", 6.0)
    assert whole["why"] == "it rose; cerca de 2,0 minutos de treino"
    words = shlex.split(whole["command"])
    settings = [words[place + 1] for place, word in enumerate(words) if word == "--set"]
    assert load_config("local", settings).train.max_steps == 20
    promoted = NextStep("", "tucano promote --baseline sentiment").whole(["--profile", "local"], tmp_path, "7", 0.0)
    assert promoted == {"command": "tucano promote 7 --profile local --baseline sentiment", "why": ""}
    for task in TASK_NAMES:
        assert load_config("local", [f"synthesize.counts.{task}=0"]).synthesize.counts[task] == 0


@pytest.mark.parametrize(
    ("algorithm", "apart", "a_step"), [("grpo", False, 2.0), ("grpo", True, 4.0), ("dpo", False, 8.0)]
)
def test_a_training_has_its_prompts_a_step(algorithm: str, apart: bool, a_step: float, tmp_path: Path) -> None:
    validation = [{"step": step, "mean_reward": 0.5, "by_task": {"push": 0.5, "churn": 0.5}} for step in (0, 4)]
    training = {"validation": validation, "steps": 4, "stopped_early": False, "audit": {"raters": {"ana": "human"}}}
    (tmp_path / "training.json").write_text(json.dumps(training), encoding="utf-8")
    counts = {name: {"push": 9} for name in ("asked", "made", "minorities")}
    summary = {"source": "simulated", "seed": 1, "store": dict.fromkeys(("orders", "reviews", "products"), 1), **counts}
    summary |= {"minority_floor": 0, "warnings": []}
    (tmp_path / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    recipe = {"prompts_per_step": 4, "generations": 8, "iterations": 2, "algorithm": algorithm}
    recipe["adapter_per_task"] = apart
    found = read_trained(tmp_path, {"train": recipe}, tmp_path)
    assert found is not None
    assert (found.prompts_a_step, found.asked, found.scored_by_people) == (a_step, {"push": 9}, True)
    assert read_trained(tmp_path, {}, tmp_path) is None
