"""What a policy answers is checked first: that it varies, does not think aloud, ends, and earns different rewards."""

from typing import Any

import pytest

from schemas.config.train import TrainConfig
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.policy.generate import Completion, StopReason
from tasks.train.grpo.rewards import ComponentRewards
from tasks.train.preflight.answers import Answers, answer, check_answers, check_generation_settings
from tasks.train.preflight.check import Check
from tasks.train.preflight.step import unchanged
from tests.tasks.train.small_training import RECIPE, prompt_rows, small_trainer

ROWS = prompt_rows()
SAME = ["a"] * 8


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return small_trainer(tmp_path_factory.mktemp("work"), ROWS)


@pytest.fixture
def trainer(shared: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a trainer whose generation configurations a test may spoil."""
    from transformers import GenerationConfig

    model = shared.model.get_base_model()
    monkeypatch.setattr(model, "generation_config", GenerationConfig.from_dict(model.generation_config.to_dict()))
    monkeypatch.setattr(shared.model, "generation_config", model.generation_config)
    own = shared.generation_config
    monkeypatch.setattr(shared, "generation_config", GenerationConfig.from_dict(own.to_dict()))
    return shared


def _recipe(**limits: Any) -> TrainConfig:
    return TrainConfig.model_validate({**RECIPE, "preflight": limits})


def _checks(answers: Answers, recipe: TrainConfig, rewards: Any = None) -> dict[str, Check]:
    rewards = rewards or ComponentRewards(Databases(()), "grounded")
    return {check.name: check for check in check_answers(answers, rewards, recipe)}


def _asked(trainer: Any, recipe: TrainConfig) -> dict[str, Check]:
    with unchanged(trainer):
        return _checks(answer(trainer, trainer.processing_class, ROWS[:2], recipe, 1), recipe)


def _answers(texts: list[str]) -> Answers:
    return Answers([ROWS[1]] * len(texts), [Completion(text, 3, StopReason.END_OF_TURN) for text in texts], texts)


def _earning(rewards: list[float]) -> Any:
    """Return rewards that are these, whatever was answered and, unlike a push, beside whatever else."""
    fixed = ComponentRewards(Databases(()), "grounded")
    scored = fixed.score([ROWS[1]], [Completion("a", 1, StopReason.END_OF_TURN)])[0]
    fixed.score = lambda rows, completions: [  # type: ignore[method-assign]
        scored.model_copy(update={"reward": reward}) for reward in rewards
    ]
    return fixed


def test_a_trainer_that_samples_as_its_recipe_says_answers_differently_each_time(trainer: Any) -> None:
    assert check_generation_settings(trainer, _recipe()).passed
    assert _asked(trainer, _recipe())["distinct_completions"].passed


@pytest.mark.parametrize(("name", "value"), [("min_p", 1.0), ("typical_p", 1e-6)])
def test_a_leaking_setting_is_named(trainer: Any, name: str, value: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The two that TRL lets through: all completions of a prompt become one. Our own engine reads neither."""
    setattr(trainer.model.generation_config, name, value)
    check = check_generation_settings(trainer, _recipe())
    assert not check.passed
    assert check.measured == f"the model's {name}={value}"
    assert _asked(trainer, _recipe())["distinct_completions"].passed
    monkeypatch.setattr(type(trainer.rollout_generator), "engine", "transformers")
    asked = _asked(trainer, _recipe())
    assert not asked["distinct_completions"].passed
    assert asked["distinct_completions"].measured == "1 of 8 at best"


def test_a_model_that_never_ends_hits_the_ceiling(trainer: Any) -> None:
    trainer.generation_config.min_new_tokens = RECIPE["max_completion_tokens"]
    check = _asked(trainer, _recipe(max_ceiling_share=0.5))["ceiling"]
    assert not check.passed
    assert check.measured == "100% of 16 completions were cut off"


def test_spread_is_within_groups_and_not_between_them() -> None:
    """Groups of 0 and of 1 throughout teach nothing, however they differ; half and half has .5: .1667 on average."""
    earned = [0.0] * 8 + [1.0] * 8 + [0.0, 1.0] * 4
    checks = _checks(_answers(SAME * 3), _recipe(min_spread=0.16, max_zero_variance=0.7), _earning(earned))
    assert checks["reward_spread"].measured.startswith("0.1667")
    assert checks["zero_variance"].measured.startswith("67% of 3")
    assert checks["reward_spread"].passed
    assert checks["zero_variance"].passed
