import json
from pathlib import Path

import numpy as np
import pytest

from schemas.errors import InputError
from tasks.evaluate.compare import write_report
from tasks.evaluate.stats.variance import Components, Need, components, plan, read_comparison
from tests.tasks.evaluate.small_comparison import comparison

NO_SAMPLES = np.full((1, 1), np.nan)
NO_BASE = np.zeros(1)


def test_a_worked_example_by_hand() -> None:
    # Means by prompt .1 and .3, by seed .1 and .3, no rest: mean squares .04, .04 and 0.
    found = components(np.array([[0.0, 0.2], [0.2, 0.4]]), NO_SAMPLES, NO_BASE, 1)
    assert (found.prompt, found.seed, found.interaction, found.sample) == pytest.approx((0.02, 0.02, 0, 0), abs=1e-12)


def test_unidentified_variance_is_part_of_the_prompts() -> None:
    differences = np.array([[0.1], [0.3], [-0.2], [0.0]])
    one_sample = components(differences, NO_SAMPLES, NO_BASE, 1)
    assert one_sample.prompt == pytest.approx(float(np.var(differences, ddof=1)))
    assert (one_sample.seed, one_sample.interaction, one_sample.sample) == (0, 0, 0)
    four_samples = components(differences, np.full((4, 1), 0.08), NO_BASE, 4)
    assert four_samples.sample == pytest.approx(0.08)
    assert four_samples.prompt == pytest.approx(one_sample.prompt - 0.02)
    assert components(np.array([[0.1, 0.5]]), NO_SAMPLES, NO_BASE, 1) == Components(0.0, 0.0, 0.0, 0.0, 0.0)


def test_a_base_that_was_scored_once_is_no_answer_of_each_seed() -> None:
    """Planned for as many seeds and samples as were run, the variance of the mean is what the runs themselves show."""
    rng = np.random.default_rng(5)
    base_noise, tuned_noise, n_seeds, n_samples = 0.3, 0.2, 5, 4
    found = []
    for _ in range(200):
        base = rng.normal(0, base_noise, (40, 1, n_samples))
        tuned = rng.normal(0.1, 0.1, (40, 1, 1)) + rng.normal(0, tuned_noise, (40, n_seeds, n_samples))
        differences = tuned.mean(axis=2) - base.mean(axis=2)
        own, of_the_base = tuned.var(axis=2, ddof=1), base.var(axis=2, ddof=1)[:, 0]
        found.append(components(differences, own, of_the_base, n_samples))
    assert np.mean([each.base_sample for each in found]) == pytest.approx(base_noise**2, rel=0.05)
    assert np.mean([each.sample for each in found]) == pytest.approx(tuned_noise**2, rel=0.05)
    assert np.mean([each.prompt for each in found]) == pytest.approx(0.01, rel=0.15)
    assert np.mean([each.interaction for each in found]) < 0.002


THIRTY = Components(prompt=0.09, seed=0.0, interaction=0.0, sample=0.0, base_sample=0.0)


def test_a_plan_for_one_seed_is_the_textbook_number() -> None:
    # (1.645 + 0.842)^2 .30^2 / .05^2 = 222.6
    assert plan(THIRTY, 0.05, seeds=(1,), samples=(1,)) == (Need(1, 1, 223),)


def test_seeds_that_spread_too_widely_are_not_made_good_by_prompts() -> None:
    needs = {need.seeds: need.prompts for need in plan(Components(0.09, 0.01, 0.0, 0.0, 0.0), 0.1, samples=(1,))}
    assert needs[1] is None
    assert needs[5] is None
    assert needs[10] is not None


@pytest.mark.parametrize("effect", [0.0, -0.1, 1.5, float("nan")])
def test_an_effect_that_no_score_can_have_is_refused(effect: float) -> None:
    with pytest.raises(InputError, match="the effect is"):
        plan(THIRTY, effect)


def test_every_report_of_a_comparison_can_be_planned_by_and_nothing_else(tmp_path: Path) -> None:
    compared = comparison(seeds=(7, 8))
    file = write_report(compared.report(), tmp_path)
    found = read_comparison(file)
    assert (found.components, found.margin, found.n_seeds) == (compared.variance, 0.05, 2)
    for lacking in ("overall", "tasks", "variance", "margin"):
        others: tuple[object, ...] = ({**compared.report(), lacking: "x"}, [], "x")
        for other in others:
            file.write_text(json.dumps(other), encoding="utf-8")
            with pytest.raises(InputError, match="is no report of a comparison"):
                read_comparison(file)
    with pytest.raises(InputError, match=r"absent\.json is no report"):
        read_comparison(tmp_path / "absent.json")
