"""The evaluation of several training seeds: all are compared, and the chosen one is shown."""

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.config import AUDIT_FOLDER
from schemas.evaluate_config import EvaluateConfig
from tasks.evaluate import stage
from tasks.evaluate.answer import BASE_FILE, tuned_file

RIGHT = '{"polarity": "positive", "score": 5}'
WRONG = "gostei"
PROMPTS = ("a", "b", "c", "d")
TRAINING: dict[str, Any] = {
    "validation": [{"step": 0, "mean_reward": 0.25}, {"step": 10, "mean_reward": 0.75}],
    "chosen_step": 10,
}


def write_rollouts(file: Path, right: str) -> None:
    """Write an answer to each prompt: right for those named, wrong for the others."""
    rollouts = [
        {
            "prompt_id": prompt,
            "task": "sentiment",
            "prompt": f"Avaliação {prompt}",
            "completion": RIGHT if prompt in right else WRONG,
            "reference": {"polarity": "positive", "score": 5},
        }
        for prompt in PROMPTS
    ]
    file.write_text("".join(json.dumps(rollout) + "\n" for rollout in rollouts), encoding="utf-8")


def run(output: Path, right: dict[int, str], chosen: int) -> Any:
    write_rollouts(output / BASE_FILE, "a")
    for seed, prompts in right.items():
        write_rollouts(output / tuned_file(seed, right), prompts)
    stage.run(
        EvaluateConfig(resamples=1000),
        "grounded",
        99,
        store=AUDIT_FOLDER / "store",
        training_seeds=tuple(right),
        chosen_seed=chosen,
        training=TRAINING,
        identities={},
        output=output,
    )
    return json.loads((output / "report.json").read_text(encoding="utf-8"))


def scores(output: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (output / name).read_text(encoding="utf-8").splitlines()]


def test_several_seeds_are_averaged_by_prompt_against_the_bases_only_answers(tmp_path: Path) -> None:
    report = run(tmp_path, {42: "ab", 123: "abcd"}, chosen=123)
    base = {score["prompt_id"]: score["score"] for score in scores(tmp_path, stage.BASE_SCORES_FILE)}
    right, wrong = base["a"], base["b"]
    assert right > wrong
    block = report["tasks"]["sentiment"]
    assert (block["n_prompts"], block["n_seeds"]) == (4, 2)
    assert block["mean_base"] == pytest.approx((right + 3 * wrong) / 4)
    # Of seed 42 two prompts are right, of seed 123 all four.
    assert block["mean_tuned"] == pytest.approx((6 * right + 2 * wrong) / 8)


def test_each_score_carries_the_seed_that_trained_its_policy(tmp_path: Path) -> None:
    run(tmp_path, {42: "ab", 123: "abcd"}, chosen=123)
    tuned = scores(tmp_path, stage.TUNED_SCORES_FILE)
    assert [(score["seed"], score["prompt_id"]) for score in tuned] == [(s, p) for s in (42, 123) for p in PROMPTS]
    assert {score["seed"] for score in scores(tmp_path, stage.BASE_SCORES_FILE)} == {99}


@pytest.mark.parametrize(("chosen", "accuracy"), [(42, 0.5), (123, 1.0)])
def test_the_ground_truth_is_of_the_chosen_policy(chosen: int, accuracy: float, tmp_path: Path) -> None:
    run(tmp_path, {42: "ab", 123: "abcd"}, chosen=chosen)
    ground_truth = json.loads((tmp_path / stage.METRICS_FILE).read_text(encoding="utf-8"))
    assert ground_truth["sentiment"]["accuracy"] == [0.25, accuracy]


def test_a_seed_that_lost_is_an_objection_though_the_mean_gained(tmp_path: Path) -> None:
    report = run(tmp_path, {42: "", 123: "abcd"}, chosen=123)
    assert report["overall"]["mean_difference"] > 0
    assert any(reason.startswith("seed 42 did not gain") for reason in report["gate"]["reasons"])
