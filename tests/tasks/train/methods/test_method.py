"""Methods act only where a recipe switches them on, in the order that the page of papers states."""

import re
from types import SimpleNamespace
from typing import Any

import torch

from schemas.config.train import TrainConfig
from schemas.source import REPOSITORY
from tasks.train.methods import entropy, guided_correction, task_weights
from tasks.train.methods.method import ScoredBatch, methods_of

EVERY = {"guided_correction": {"share": 0.5}, "task_weights": {"applies_to": "loss"}, "entropy_advantages": True}


def test_no_method_is_on_by_default_and_each_has_its_switch() -> None:
    assert methods_of(TrainConfig()) == ()
    modules = (guided_correction, task_weights, entropy)
    for switch, module in zip(EVERY, modules, strict=True):
        assert methods_of(TrainConfig.model_validate({switch: EVERY[switch]})) == (module.METHOD,)
    assert methods_of(TrainConfig.model_validate(EVERY)) == tuple(module.METHOD for module in modules)


def test_the_page_of_papers_names_the_methods_in_their_order() -> None:
    page = (REPOSITORY / "docs" / "papers.md").read_text(encoding="utf-8")
    stated = re.search(r"^Order: (.*)\.$", page, re.MULTILINE)
    assert stated is not None
    assert stated[1] == "`guided_correction`, `task_weights`, `entropy`"


def test_each_completion_has_the_factor_of_its_task() -> None:
    scored: Any = SimpleNamespace(
        tasks=["push", "churn", "push"], task_weights={"push": 1.5, "churn": 0.5}, completion_mask=torch.ones(3, 2)
    )
    batch: ScoredBatch = scored
    assert task_weights.METHOD.factors is not None
    assert task_weights.METHOD.factors(batch).tolist() == [1.5, 0.5, 1.5]
