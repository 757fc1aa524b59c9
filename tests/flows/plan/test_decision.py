"""A plan decides which tasks are trained only where that was asked for, and a person's no trains nothing."""

import io
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flows.plan import decision
from flows.plan.decision import decided, narrowed, ways
from flows.plan.prices import asking, price_of
from flows.stages.runner import Session
from flows.stages.train import key_inputs
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.errors import GateRefused, InputError
from schemas.tables.prompts import TRAIN_FILE
from schemas.tasks import TaskName
from tasks.plan.plan import Terms, plan_training
from tasks.plan.scores import joined
from tasks.plan.training_plan import TrainingPlan
from tests.flows.cli.test_training import at_a_terminal
from tests.prompt_tables import write_prompts
from tests.tasks.curate.prompt_rows import prompt_row
from tests.tasks.plan.scored import scored

BOTH: tuple[TaskName, ...] = ("push", "churn")


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """One of four training prompts is of push."""
    rows = [prompt_row("push" if number % 4 == 0 else "churn", f"Pedido {number}") for number in range(40)]
    write_prompts(rows, tmp_path / TRAIN_FILE)
    return tmp_path


def plan_of(*, with_room: bool) -> TrainingPlan:
    served = {"base": [0.2, 0.3] * 3, "sft": [0.5, 0.6] * 3}
    push = scored("push", served, {"sft": [(0.2, 0.6, 1.0) if with_room else (0.5,) * 3] * 6})
    scores = joined([push, scored("churn", served, {"sft": [(0.5,) * 3] * 6})])
    return plan_training(scores, Terms("sft", dict.fromkeys(BOTH, 4_000)))


def decide(config: Config, dataset: Path, plan: TrainingPlan | None) -> Config:
    given: Any = {"dataset": SimpleNamespace(path=dataset)}
    return decided(Session(config), given, plan).config


def test_only_tasks_with_room_are_trained_in_as_many_steps_as_keep_the_epochs(dataset: Path) -> None:
    config = load_config("local", ["train.tasks=worth", "train.max_steps=40"])
    trained = decide(config, dataset, plan_of(with_room=True)).train
    assert (trained.tasks, trained.max_steps) == (BOTH[:1], 10)
    without_room = plan_of(with_room=False)
    after_sft = decide(config, dataset, without_room).train
    assert (after_sft.tasks, after_sft.max_steps) == ("all", 0)
    with pytest.raises(GateRefused, match="no task has room for GRPO"):
        decide(load_config("l4", ["train.tasks=worth"]), dataset, without_room)


def test_a_plan_changes_nothing_of_a_training_of_all_tasks(dataset: Path) -> None:
    config = load_config("local", ["train.max_steps=10"])
    assert decide(config, dataset, plan_of(with_room=True)) == config
    assert decide(config, dataset, None) == config
    every = narrowed(load_config("local", ["train.tasks=worth", "train.max_steps=10"]), dataset, BOTH)
    assert key_inputs(every, 42) == key_inputs(config, 42)
    assert key_inputs(narrowed(config, dataset, BOTH[:1]), 42) != key_inputs(config, 42)


def test_a_person_who_says_no_trains_nothing(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decision, "is_recorded", lambda: True)
    monkeypatch.setattr(decision, "show_plan", lambda _: None)
    monkeypatch.setattr(decision, "_is_trained", lambda *_: False)
    trains = "train.max_steps=10"
    priced, free = load_config("local", [trains, "train.price_per_hour=0.8"]), load_config("local", [trains])
    plan = replace(plan_of(with_room=False), commands=("what to do",))
    at_a_terminal(monkeypatch, "n\n")
    with asking(True), pytest.raises(InputError, match=r"nothing was trained.*what to do"):
        decide(priced, dataset, plan)
    at_a_terminal(monkeypatch, "n\n")
    with asking(True):
        assert decide(free, dataset, plan) == free
    with asking(False):
        assert decide(priced, dataset, plan) == priced
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with asking(True):
        assert decide(priced, dataset, plan) == priced


def test_a_price_is_of_the_trainings_alone_in_reais_too(dataset: Path) -> None:
    config = load_config("l4", ["train.seeds=[1]"])
    price = price_of(config)
    assert price.hours == pytest.approx(22.7, abs=0.1)
    assert (price.dollars, price.spot_dollars) == pytest.approx(((price.hours or 0) * 0.74, (price.hours or 0) * 0.26))
    reais = (config.workers.reais_per_dollar or 0) * (price.dollars or 0)
    assert str(price).startswith(f"{price.hours:.1f} h, ${price.dollars:.2f} (R$ {reais:.2f})")
    assert (price_of(narrowed(config, dataset, BOTH[:1])).dollars or 0) < 0.3 * (price.dollars or 0)
    assert "a CPU trains it" in str(price_of(load_config("local")))


@pytest.mark.parametrize(
    ("settings", "with_room", "said"),
    [
        (["train.max_steps=10"], True, ("`--set train.tasks=worth` trains those alone",)),
        (["train.max_steps=10"], False, ("`--set train.max_steps=0` ends with SFT",)),
        # It ends with SFT already.
        ([], False, ()),
    ],
)
def test_a_plan_says_how_to_have_what_it_recommends(
    settings: list[str], with_room: bool, said: tuple[str, ...], dataset: Path
) -> None:
    assert ways(load_config("local", settings), dataset, plan_of(with_room=with_room)) == said
