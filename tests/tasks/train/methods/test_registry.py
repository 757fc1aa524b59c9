"""Methods act in their order, change nothing in place, and add up to the formula that was written out before."""

import math
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from schemas.config.train import TrainConfig
from schemas.documents import ScoredRollout
from schemas.source import REPOSITORY
from schemas.tasks import TaskName
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.train.grpo.rewards import ComponentRewards
from tasks.train.methods import median, registry
from tasks.train.methods.blockwise import blocks_by_token, blocks_of, blockwise_advantages
from tasks.train.methods.conditional import gate_components
from tasks.train.methods.entropy import entropy_scale
from tasks.train.methods.guided_correction import choose_corrections, reference_answer
from tasks.train.methods.median import median_advantages
from tasks.train.methods.method import Advantages, SampledGroups, ScoredBatch
from tasks.train.methods.registry import all_methods, methods_of
from tests.tasks.train.small_training import prompt_rows, tiny_policy

GENERATIONS = 5
ANSWERS = (
    '{"churn": true, "risk_score": 0.8, "reasoning": "atraso"}',
    '{"risk_score": 0,3, "churn": false}',
    '<think>Houve atraso na entrega.</think> {"churn": true}',
    "<think>sem fim",
    "Livro com frete grátis!",
)
REFERENCES: Mapping[TaskName, Any] = {
    "churn": {"churn": True},
    "push": {"product": "livro", "offer": "frete grátis"},
    "sentiment": {"polarity": "positive", "score": 5},
}
SWITCHES = tuple(product((False, True), repeat=4))
"""Median, blocks, weights of tasks in the loss, entropy: also together where no recipe may have them so."""


def _scored(task: TaskName, completion: str, components: Mapping[str, float], reward: float = 0.5) -> ScoredRollout:
    return ScoredRollout(
        prompt_id="p",
        task=task,
        prompt="",
        completion=completion,
        reference=REFERENCES[task],
        reward=reward,
        components=dict(components),
        parsed=None,
        spec="grounded",
        reward_version="test",
    )


def _recipe(**changes: Any) -> TrainConfig:
    """Return a recipe whose switches need not fit together."""
    return TrainConfig().model_copy(update={"generations": GENERATIONS, **changes})


def _batch(recipe: TrainConfig) -> tuple[ScoredBatch, torch.Tensor]:
    """Return three groups of completions, and TRL's advantages of them."""
    _, tokenizer = tiny_policy()
    generator = torch.Generator().manual_seed(11)
    components = {"churn": 1.0, "risk": 0.25, "reasoning": 0.7}
    tasks: tuple[TaskName, ...] = ("churn", "push", "churn")
    scored = [_scored(task, answer, components) for task in tasks for answer in ANSWERS]
    ids = [tokenizer.encode(rollout.completion, add_special_tokens=False) for rollout in scored]
    width = max(map(len, ids))
    batch = ScoredBatch(
        recipe=recipe,
        tokenizer=tokenizer,
        scored=scored,
        rewards=torch.rand(len(scored), generator=generator),
        completion_ids=ids,
        completion_mask=(torch.arange(width) < torch.tensor([len(each) for each in ids]).unsqueeze(1)).long(),
        task_weights={"churn": 1.3, "push": 0.7} if recipe.task_weights.applies_to == "loss" else {},
        entropies=lambda: torch.rand(len(scored), width, generator=torch.Generator().manual_seed(12)) * 5,
        summed=torch.clone,
    )
    return batch, torch.randn(len(scored), generator=generator)


def _written_out(batch: ScoredBatch, advantages: torch.Tensor) -> torch.Tensor:
    """Return the advantages by the one function that there was before there were methods."""
    recipe = batch.recipe
    if recipe.baseline == "median":
        advantages = median_advantages(batch.rewards, recipe.generations)
    if recipe.block_advantages:
        blocks = [blocks_of(rollout) for rollout in batch.scored]
        of_tokens = torch.full((len(blocks), batch.completion_mask.size(1)), -1, dtype=torch.long)
        for row, (ids, found) in enumerate(zip(batch.completion_ids, blocks, strict=True)):
            of_tokens[row, : len(ids)] = of_tokens.new_tensor(blocks_by_token(batch.tokenizer, ids, found))
        advantages = blockwise_advantages(blocks, of_tokens, advantages, recipe.generations)
    factors = torch.ones(len(batch.scored), device=advantages.device)
    if weights := batch.task_weights:
        factors = factors * factors.new_tensor([weights[rollout.task] for rollout in batch.scored])
    if recipe.entropy_advantages:
        factors = factors * entropy_scale(batch.entropies(), batch.completion_mask, batch.summed)
    return advantages * (factors if advantages.dim() == 1 else factors.unsqueeze(1))


@pytest.mark.parametrize("switches", SWITCHES, ids=str)
def test_advantages_are_those_of_the_formula_written_out_bit_for_bit(switches: tuple[bool, ...]) -> None:
    of_median, of_blocks, of_tasks, of_entropy = switches
    weights = TrainConfig.model_validate({"task_weights": {"applies_to": "loss" if of_tasks else "sampler"}})
    recipe = _recipe(
        baseline="median" if of_median else "mean",
        block_advantages=of_blocks,
        entropy_advantages=of_entropy,
        task_weights=weights.task_weights,
    )
    batch, values = _batch(recipe)
    tensors = (batch.rewards, batch.completion_mask, values)
    versions = [tensor._version for tensor in tensors]
    advantages = Advantages(values, torch.ones(len(values)))
    methods = methods_of(recipe)
    assert len(methods) == sum(switches)
    for method in methods:
        advantages = method.advantages(batch, advantages)
    found, expected = advantages.product(), _written_out(batch, values)
    assert found.dtype == expected.dtype
    assert torch.equal(found, expected)
    assert [tensor._version for tensor in tensors] == versions
    # Where it is on, a method changes something: else the comparison would show nothing.
    assert torch.equal(found, values) is not any(switches)


@pytest.mark.parametrize("threshold", [0.0, 0.5, 0.9])
def test_components_are_those_of_the_gate_alone(threshold: float) -> None:
    components = {"json": 1.0, "types": 0.5, "polarity": 1.0, "score": 0.1}
    rewards = ComponentRewards(Databases(()), "grounded", _recipe(content_threshold=threshold))
    (found,) = rewards.components([_scored("sentiment", "", components)])
    gated = gate_components("sentiment", "grounded", components, threshold)
    assert [value for value in found if not math.isnan(value)] == list(gated.values())


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_answers_replace_the_completions_that_guided_correction_chooses(share: float) -> None:
    correction = TrainConfig.model_validate({"guided_correction": {"share": share}}).guided_correction
    recipe = _recipe(guided_correction=correction)
    prompts = prompt_rows(each=4)
    rewards = [[0.1, 0.0, 0.2, 0.0, 0.3]] * len(prompts)
    sampled = SampledGroups(recipe, prompts, rewards, seed=3, draw=7)
    found = [answer for method in methods_of(recipe) for answer in method.answers(sampled).items()]
    chosen = choose_corrections(rewards, share=share, threshold=correction.threshold, seed=3, draw=7)
    assert found == [(group * 5 + place, reference_answer(prompts[group])) for group, place in chosen]
    assert bool(found) is (share > 0)


def test_methods_act_in_the_order_that_the_page_of_papers_states() -> None:
    page = (REPOSITORY / "docs" / "papers.md").read_text(encoding="utf-8")
    (line,) = [line for line in page.splitlines() if line.startswith("Order: ")]
    assert line.removeprefix("Order: ").rstrip(".").split(", ") == [f"`{name}`" for name in all_methods()]


def test_no_method_is_on_by_default() -> None:
    assert methods_of(TrainConfig()) == ()


def test_two_methods_in_one_place_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    clash = SimpleNamespace(METHOD=replace(median.METHOD, order=40))
    modules = {"median": clash, "blockwise": SimpleNamespace(METHOD=replace(median.METHOD, order=40))}
    monkeypatch.setattr(registry, "iter_modules", lambda _: [SimpleNamespace(name=name) for name in modules])
    monkeypatch.setattr(registry, "import_module", lambda name: modules[name.rpartition(".")[2]])
    with pytest.raises(ValueError, match="two methods have the same order"):
        all_methods()


TOY = """
from dataclasses import replace
from tasks.train.methods.method import Method
METHOD = Method(
    order=35,
    is_on=lambda recipe: recipe.toy_factor != 1,
    advantages=lambda batch, before: replace(before, values=before.values * batch.recipe.toy_factor),
)
"""
FIELD = "toy_factor: float = 1.0"
TRAIN = """
import sys, tempfile
from pathlib import Path
from schemas.source import source_files
from tasks.train.methods.registry import all_methods
from tests.tasks.train.small_training import small_trainer
assert "tasks.train.methods.toy" in source_files("tasks.train.children.grpo"), "a key that does not know of it"
assert list(all_methods()).index("toy") == list(all_methods()).index("median") + 1
found = []
for factor in (1.0, 8.0):
    seen = []
    trainer = small_trainer(
        Path(tempfile.mkdtemp()), on_rollouts=lambda *step: seen.append(step), max_steps=1, toy_factor=factor,
        guided_correction={"share": 1.0}, max_completion_tokens=96,
    )
    trainer.train()
    found += [advantages for *_, advantages in seen if advantages is not None]
assert found[0].any() and (found[1] == found[0] * 8).all()
"""


@pytest.mark.integration
def test_a_new_method_is_one_file_and_its_configuration(tmp_path: Path) -> None:
    """In a copy of the repository: nothing else is edited, it trains, and the key of a training knows it."""
    for name in ("tasks", "schemas", "data", "tests"):
        shutil.copytree(REPOSITORY / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "tasks/train/methods/toy.py").write_text(TOY, encoding="utf-8")
    config = tmp_path / "schemas/config/train.py"
    before = "    mask_truncated: bool = False\n"
    text = config.read_text(encoding="utf-8")
    assert before in text
    config.write_text(text.replace(before, f"    {FIELD}\n{before}"), encoding="utf-8")
    ended = subprocess.run(
        [sys.executable, "-c", TRAIN],
        env={"PYTHONPATH": str(tmp_path), "HF_HUB_OFFLINE": "1", "HOME": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
