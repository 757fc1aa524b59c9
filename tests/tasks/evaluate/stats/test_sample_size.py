import json
from dataclasses import asdict
from pathlib import Path

import pytest

from schemas.errors import InputError
from tasks.evaluate.compare import REPORT_FILE, write_report
from tasks.evaluate.stats.sample_size import (
    Need,
    plan,
    read_comparison,
)
from tasks.evaluate.stats.variance import Components
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


def document(**variance: object) -> dict[str, object]:
    block = {"n_seeds": 2}
    return {"overall": block, "tasks": dict.fromkeys(list(variance)[1:], block), "margin": 0.04, "variance": variance}


def write(folder: Path, content: object) -> Path:
    path = folder / "report.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def test_every_report_of_a_comparison_can_be_planned_by(tmp_path: Path) -> None:
    compared = comparison(seeds=(7, 8))
    write_report(compared.report(), tmp_path)
    found = read_comparison(tmp_path / REPORT_FILE)
    assert (found.components, found.margin, found.n_seeds) == (compared.variance, 0.05, 2)


@pytest.mark.parametrize("lacking", ["overall", "tasks", "variance", "margin"])
def test_a_document_that_is_no_report_is_refused(tmp_path: Path, lacking: str) -> None:
    content = document(overall=asdict(THIRTY), push=asdict(THIRTY))
    del content[lacking]
    others: list[object] = [content, {**content, lacking: "x"}, [], "x"]
    for other in others:
        with pytest.raises(InputError, match="is no report of a comparison"):
            read_comparison(write(tmp_path, other))
    with pytest.raises(InputError, match=r"absent\.json is no report"):
        read_comparison(tmp_path / "absent.json")
