import json
from pathlib import Path

import pytest

from schemas.errors import InputError
from tasks.evaluate.compare import write_report
from tasks.evaluate.stats.variance import Components, Need, plan, read_comparison
from tests.tasks.evaluate.small_comparison import comparison

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
