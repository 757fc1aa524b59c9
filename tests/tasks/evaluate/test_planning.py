import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from schemas.errors import InputError
from tasks.evaluate.planning import Need, detectable_effect, plan, prompts_needed, read_components
from tasks.evaluate.statistics import measure
from tasks.evaluate.variance import Components, MeanVariance

THIRTY = Components(prompt=0.09, seed=0.0, interaction=0.0, sample=0.0)


def test_a_plan_for_one_seed_is_the_textbook_number() -> None:
    # (1.645 + 0.842)^2 .30^2 / .05^2 = 222.6
    assert plan(THIRTY, 0.05, seeds=(1,), samples=(1,)) == (Need(1, 1, 223),)


def test_a_plan_names_every_combination_and_more_seeds_or_samples_never_need_more_prompts() -> None:
    needs = plan(Components(0.05, 0.0004, 0.02, 0.06), 0.1)
    assert [(need.seeds, need.samples) for need in needs] == [(s, k) for s in (1, 2, 3, 5, 10) for k in (1, 4)]
    prompts = {(need.seeds, need.samples): need.prompts or 10**9 for need in needs}
    assert all(prompts[seeds, 4] < prompts[seeds, 1] for seeds in (1, 2, 3, 5, 10))
    assert [prompts[seeds, 1] for seeds in (1, 2, 3, 5, 10)] == sorted(
        (prompts[seeds, 1] for seeds in (1, 2, 3, 5, 10)), reverse=True
    )


def test_seeds_that_spread_too_widely_are_not_made_good_by_prompts() -> None:
    needs = {need.seeds: need.prompts for need in plan(Components(0.09, 0.01, 0.0, 0.0), 0.1, samples=(1,))}
    assert needs[1] is None
    assert needs[5] is None
    assert needs[10] is not None


def test_the_planned_prompts_have_the_power_they_are_planned_for() -> None:
    from scipy import stats

    truth, effect = Components(prompt=0.04, seed=0.0004, interaction=0.02, sample=0.04), 0.1
    (need,) = plan(truth, effect, seeds=(5,), samples=(2,))
    assert need.prompts is not None
    rng, found, n = np.random.default_rng(0), 0, 4_000
    error = np.sqrt((0.04 + (0.02 + 0.04 / 2) / 5) / need.prompts + 0.0004 / 5)
    for _ in range(n):
        mean = (
            effect
            + 0.2 * rng.normal(size=need.prompts).mean()
            + 0.02 * rng.normal(size=5).mean()
            + np.sqrt(0.02 + 0.02) * rng.normal(size=(need.prompts, 5)).mean()
        )
        found += mean / error > stats.norm.ppf(0.95)
    assert found / n == pytest.approx(0.80, abs=0.03)


def test_the_needed_prompts_are_the_fewest_that_detect_the_effect() -> None:
    variance = MeanVariance(per_prompt=0.07, shared=0.0001)
    prompts = prompts_needed(variance, 0.08)
    assert prompts is not None
    assert detectable_effect(variance, prompts) <= 0.08 < detectable_effect(variance, prompts - 1)


@pytest.mark.parametrize("effect", [0.0, -0.1, 1.5, float("nan")])
def test_an_effect_that_no_score_can_have_is_refused(effect: float) -> None:
    with pytest.raises(InputError, match="the effect is"):
        plan(THIRTY, effect)


def document(**more: object) -> dict[str, object]:
    rng = np.random.default_rng(3)
    base, tuned = rng.integers(0, 21, (2, 40, 1)) / 20
    block = asdict(measure(base, tuned, margin=0.05, resamples=1_000, rng=rng))
    single = asdict(measure(base[:1], tuned[:1], margin=0.05, resamples=1_000, rng=rng))
    return {"overall": block, "tasks": {"extraction": block, "push": single}, "gate": {}, **more}


def write(folder: Path, content: object) -> Path:
    path = folder / "report.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_a_report_tells_its_components(tmp_path: Path) -> None:
    known = Components(0.05, 0.001, 0.02, 0.03)
    scopes = {"overall": asdict(known), "extraction": asdict(THIRTY), "push": asdict(Components(0, 0, 0, 0))}
    found = read_components(write(tmp_path, document(variance=scopes)))
    # One prompt tells no spread, so nothing is planned for push.
    assert found == {"overall": known, "extraction": THIRTY}


def test_an_older_report_tells_the_spread_by_its_detectable_effect(tmp_path: Path) -> None:
    content = document()
    found = read_components(write(tmp_path, content))
    rng = np.random.default_rng(3)
    base, tuned = rng.integers(0, 21, (2, 40, 1)) / 20
    assert found["overall"].prompt == pytest.approx(float(np.var(tuned - base, ddof=1)))
    assert set(found) == {"overall", "extraction"}


@pytest.mark.parametrize("content", [[], {}, {"overall": {"mde": 0.1}, "tasks": {}}, {"overall": 3, "tasks": {}}, "x"])
def test_what_is_no_report_is_refused(tmp_path: Path, content: object) -> None:
    with pytest.raises(InputError, match="is no report of a comparison"):
        read_components(write(tmp_path, content))


def test_components_that_are_no_variances_are_refused(tmp_path: Path) -> None:
    for wrong in ({"prompt": -0.1}, {"prompt": "x"}, {"prompt": float("nan")}):
        variance = {"overall": {**asdict(THIRTY), **wrong}}
        with pytest.raises(InputError, match="is no report of a comparison"):
            read_components(write(tmp_path, document(variance=variance)))


def test_a_missing_report_and_one_of_one_prompt_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"report\.json"):
        read_components(tmp_path / "report.json")
    content = document()
    tasks = content["tasks"]
    assert isinstance(tasks, dict)
    with pytest.raises(InputError, match="one prompt"):
        read_components(write(tmp_path, {"overall": tasks["push"], "tasks": {"push": tasks["push"]}}))
