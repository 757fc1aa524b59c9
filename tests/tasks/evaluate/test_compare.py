import json
import random
from pathlib import Path
from typing import Any

import pytest

from schemas.documents import PairedScore
from schemas.errors import InputError
from tasks.evaluate.compare import Comparison, compare, metrics_of_report, write_report
from tests.tasks.evaluate.small_comparison import comparison, scores


def noisy(mean: float, seed: int, count: int = 30) -> list[float]:
    source = random.Random(seed)
    return [min(1.0, max(0.0, source.gauss(mean, 0.05))) for _ in range(count)]


def run(base: list[PairedScore], tuned: list[PairedScore], seed: int = 0) -> Comparison:
    return compare(base, tuned, margin=0.05, resamples=1_000, seed=seed)


BASE = scores("extraction", noisy(0.4, 1)) + scores("push", noisy(0.5, 2))
TUNED = scores("extraction", noisy(0.6, 3)) + scores("push", noisy(0.52, 4))


def test_samples_and_seeds_are_averaged_by_prompt_and_add_no_prompts() -> None:
    base = scores("push", [0.2, 0.4])
    base_twice = base + scores("push", [0.4, 0.0], sample=1)
    tuned = [
        *scores("push", [0.3, 0.5], seed=1),
        *scores("push", [0.5, 0.1], seed=1, sample=1),
        *scores("push", [0.7, 0.9], seed=2),
        *scores("push", [0.1, 0.3], seed=2, sample=1),
    ]
    comparison = run(base_twice, tuned)
    assert comparison.overall.n_prompts == 2
    assert comparison.overall.n_seeds == 2
    assert [prompt.base for prompt in comparison.prompts] == pytest.approx([0.3, 0.2])
    assert [prompt.tuned for prompt in comparison.prompts] == pytest.approx([0.4, 0.45])
    assert comparison.seed_differences == pytest.approx({1: 0.1, 2: 0.25})
    assert comparison.task_seed_differences == {"push": pytest.approx({1: 0.1, 2: 0.25})}


def test_numbers_depend_on_the_seed_but_not_on_the_order_or_on_other_tasks() -> None:
    comparison = run(BASE, TUNED)
    shuffled_base, shuffled_tuned = random.Random(1).sample(BASE, 60), random.Random(2).sample(TUNED, 60)
    assert run(shuffled_base, shuffled_tuned).report() == comparison.report()
    assert run(BASE, TUNED, seed=1).overall.ci_low != comparison.overall.ci_low
    alone = run(scores("push", noisy(0.5, 2)), scores("push", noisy(0.52, 4))).tasks["push"]
    assert alone.ci_low == comparison.tasks["push"].ci_low


def test_report_has_exactly_the_fields_of_the_design(tmp_path: Path) -> None:
    report = json.loads(write_report(run(BASE, TUNED).report(), tmp_path / "new").read_text(encoding="utf-8"))
    block = (
        "n_prompts n_seeds n_nonzero mean_base mean_tuned mean_difference ci_low ci_high "
        "p_win p_tie p_loss p_signflip p_wilcoxon p_harm p_holm noninferiority_low mde n_for_margin verdict"
    )
    assert list(report["gate"]) == ["verdict", "reasons", "for", "against", "good_to_know"]
    assert all(" ".join(each) == block for each in (report["overall"], *report["tasks"].values()))


@pytest.mark.parametrize("settings", [{"margin": 0}, {"margin": 1}, {"seed": -1}, {"resamples": 999}], ids=str)
def test_refuses_settings_that_make_no_comparison(settings: dict[str, Any]) -> None:
    ((name, value),) = settings.items()
    with pytest.raises(InputError, match=f"{name} is {value}"):
        compare(BASE, TUNED, **{"margin": 0.05, "resamples": 1_000, "seed": 0, **settings})


def test_ground_truth_has_the_same_statistics_and_a_say_in_the_gate() -> None:
    right = [1.0] * 30
    base = scores("extraction", noisy(0.4, 1), truth=right) + scores("push", noisy(0.5, 2))
    tuned = scores("extraction", noisy(0.6, 3), truth=[0.0] * 20 + right[20:]) + scores("push", noisy(0.52, 4))
    comparison = run(base, tuned)
    truth = comparison.ground_truth
    assert truth is not None
    assert list(truth.tasks) == ["extraction"]
    assert truth.overall.n_prompts == 30
    assert truth.overall.mean_difference == pytest.approx(-2 / 3)
    assert comparison.gate.verdict == "hold"
    assert any("the ground truth of extraction is worse" in reason for reason in comparison.gate.reasons)
    assert comparison.report()["ground_truth"]["overall"]["mean_tuned"] == pytest.approx(1 / 3)
    unknown = run(BASE, TUNED)
    assert unknown.gate.verdict == "promote"
    assert list(unknown.tasks) == ["extraction", "push"]
    assert (unknown.tasks["extraction"].verdict, unknown.overall.n_prompts) == ("better", 60)
    assert comparison.overall == unknown.overall


FIGURES = {"mean_base", "mean_tuned", "mean_difference", "ci_low", "ci_high", "p_signflip", "p_holm", "p_harm"}


def test_each_scope_has_its_numbers_and_the_ground_truth_its_difference() -> None:
    compared = comparison(with_truth=True)
    metrics = metrics_of_report({**compared.report(), "others": {"large": comparison(0.1).report()}})
    others = {name.removeprefix("against.large.") for name in metrics if name.startswith("against.")}
    assert others == FIGURES
    metrics = {name: value for name, value in metrics.items() if not name.startswith("against.")}
    assert compared.ground_truth is not None
    assert metrics.pop("ground_truth.mean_difference") == compared.ground_truth.overall.mean_difference
    assert metrics["overall.ci_low"] == compared.overall.ci_low
    assert set(metrics) == {f"{scope}.{figure}" for scope in ("overall", *compared.tasks) for figure in FIGURES}
