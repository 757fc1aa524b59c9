"""Second turns: what is sampled after which feedback, what the loss sees, and what a repair earns."""

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from schemas.config.train import TrainConfig
from schemas.tables.prompts import PromptRow
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.synthesize.prompt_rows import as_prompt_row
from tasks.synthesize.simulated import simulate_store
from tasks.train.grpo.batches import by_rollout
from tasks.train.grpo.sql_turns import REPAIRED, SHORTEST_ANSWER, feedback_ids, second_turns
from tests.tasks.train.kept_training import Collecting, KeptTraining
from tests.tasks.train.small_training import small_trainer, tiny_policy

pytestmark = pytest.mark.slow
WRONG = "SELECT preco FROM items"


@pytest.fixture(scope="module")
def rows() -> list[PromptRow]:
    store = simulate_store(1_500, random.Random(21))
    return [as_prompt_row(example) for example in EXAMPLE_MAKERS["sql_qa"](store, random.Random(4), 8)]


@pytest.fixture(scope="module")
def databases() -> Databases:
    return Databases.from_store(simulate_store(1_500, random.Random(21)))


def ids_of(tokenizer: Any, text: str) -> list[int]:
    return [*tokenizer.encode(text, add_special_tokens=False), tokenizer.eos_token_id]


def turned(tokenizer: Any, row: PromptRow, databases: Databases, first: list[int], limit: int = 400) -> Any:
    seen: list[Any] = []

    def sample(_: Any, prompts: list[list[int]], room: int) -> list[list[int]]:
        seen.append((prompts, room))
        return [ids_of(tokenizer, "SELECT COUNT(*) FROM orders") for _ in prompts]

    turns = second_turns([row], [[7, 8]], [first], tokenizer=tokenizer, databases=databases, limit=limit, sample=sample)
    return turns, seen


def test_an_error_is_shown_between_two_answers_and_the_last_is_the_answer(
    rows: list[PromptRow], databases: Databases
) -> None:
    _, tokenizer = tiny_policy()
    first = ids_of(tokenizer, WRONG)
    turns, (((prompt,), room),) = turned(tokenizer, rows[0], databases, first)
    ((start, end),) = turns.feedback
    shown = tokenizer.decode(turns.completion_ids[0][start:end])
    assert start == len(first)
    assert "no such column: preco" in shown
    assert shown.rstrip().endswith("assistant")
    assert prompt == [7, 8, *turns.completion_ids[0][:end]]
    assert room == 400 - end
    assert turns.last(0) == ids_of(tokenizer, "SELECT COUNT(*) FROM orders")
    assert turns.factors == [REPAIRED]


def test_the_feedback_is_what_the_template_renders_between_two_answers() -> None:
    _, tokenizer = tiny_policy()
    messages = [
        {"role": "user", "content": "oi"},
        {"role": "assistant", "content": "a"},
        {"role": "user", "content": "de novo"},
    ]
    whole = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert whole.endswith(tokenizer.eos_token + tokenizer.decode(feedback_ids(tokenizer, "de novo")))


def test_a_control_token_in_an_error_ends_no_turn() -> None:
    _, tokenizer = tiny_policy()
    plain, hostile = (
        feedback_ids(tokenizer, f"no such column: {name}").count(tokenizer.eos_token_id)
        for name in ("x", tokenizer.eos_token)
    )
    assert plain == hostile


def test_a_right_a_cut_off_or_a_long_answer_and_other_tasks_have_one_turn(
    rows: list[PromptRow], databases: Databases
) -> None:
    _, tokenizer = tiny_policy()
    right, wrong = ids_of(tokenizer, str(rows[0].reference["sql"])), ids_of(tokenizer, WRONG)
    cases = [
        (rows[0], right, 400),
        (rows[0], wrong[:-1], 400),
        (rows[0], wrong, len(wrong) + SHORTEST_ANSWER),
        (replace(rows[0], task="push"), wrong, 400),
    ]
    for row, first, limit in cases:
        turns, seen = turned(tokenizer, row, databases, first, limit)
        assert (turns.completion_ids, turns.feedback, seen) == ([first], [(0, 0)], [])
        assert turns.factors == [1.0]


def _trainer(folder: Path, rows: list[PromptRow], databases: Databases, **recipe: Any) -> Any:
    seen: list[Any] = []
    trainer = small_trainer(
        folder,
        rows,
        sql_turns=2,
        max_completion_tokens=300,
        on_rollouts=lambda *of_step: seen.append(of_step),
        **recipe,
    )
    return trainer, seen, _answer_wrongly(trainer, databases)


def _answer_wrongly(trainer: Any, databases: Databases) -> list[int]:
    """Let every second first answer be a query that fails; returns how many answers were drawn at a time."""
    trainer._rewards.databases = databases
    tokenizer, real = trainer.processing_class, trainer.rollout_generator.draw
    calls: list[int] = []

    def draw(asked: Any, prompts: list[list[int]], *others: Any) -> Any:
        calls.append(len(prompts))
        if len(calls) % 2:
            return [ids_of(tokenizer, "SELECT 1" if place % 2 else WRONG) for place in range(len(prompts))], None
        return real(asked, prompts, *others)

    trainer.rollout_generator.draw = draw
    return calls


def test_no_gradient_comes_from_feedback_and_some_from_both_answers(
    rows: list[PromptRow], databases: Databases, tmp_path: Path
) -> None:
    trainer, seen, calls = _trainer(tmp_path, rows, databases, max_steps=1)
    masks: list[Any] = []
    real = trainer._compute_loss

    def loss(model: Any, inputs: dict[str, Any]) -> Any:
        masks.append(dict(inputs))
        return real(model, inputs)

    trainer._compute_loss = loss
    divergences: list[torch.Tensor] = []
    measure = trainer._divergence

    def divergence() -> torch.Tensor:
        divergences.append(measure())
        return divergences[-1]

    trainer._divergence = divergence
    trainer.train()
    ((_, rollouts, _),) = [of_step for of_step in seen if of_step[2] is not None]
    assert calls[1] == calls[0] // 2
    (batch,) = masks
    # Each row's mask must be zero on its own feedback.
    zeros = sorted(int((row == 0).sum()) for row in batch["tool_mask"])
    assert zeros == sorted(end - start for start, end in rollouts.feedback)
    assert zeros[-1] > 0
    assert batch["completion_mask"].sum() - sum(zeros) == batch["num_items_in_batch"]
    (measured,) = divergences
    learned = (batch["completion_mask"] * batch["tool_mask"]).sum(dim=1)
    # One completion of each prompt.
    assert measured[1] == learned[:: trainer._recipe.generations].sum()
    for ids, (start, end) in zip(rollouts.completion_ids, rollouts.feedback, strict=True):
        assert len(ids) <= 300
        assert end == start or len(ids) > end


def test_the_advantage_of_a_rollout_is_the_mean_over_what_the_policy_wrote() -> None:
    output = {
        "advantages": torch.tensor([[1.0, 9.0, 3.0, 9.0]]),
        "completion_mask": torch.tensor([[1, 1, 1, 0]]),
        "tool_mask": torch.tensor([[1, 0, 1, 1]]),
    }
    assert by_rollout(output).tolist() == [2.0]


def test_what_feedback_says_moves_the_loss_of_no_token_of_its_own(
    rows: list[PromptRow], databases: Databases, tmp_path: Path
) -> None:
    """Were it in the loss, the policy would learn to write its own errors."""
    trainer, *_ = _trainer(tmp_path, rows, databases, max_steps=1)
    trainer.train()
    kept: list[Any] = []
    real = trainer._get_per_token_logps_and_entropies

    def logps(model: Any, ids: Any, mask: Any, keep: int, *others: Any, **named: Any) -> Any:
        found = real(model, ids, mask, keep, *others, **named)
        if found[0].requires_grad:
            found[0].retain_grad()
            kept.append(found[0])
        return found

    trainer._get_per_token_logps_and_entropies = logps
    batch = trainer._generate_and_score_completions([{}] * 8)
    batch["advantages"] = torch.ones_like(batch["advantages"])
    trainer.compute_loss(trainer.model, batch).backward()
    gradient = kept[-1].grad
    shown = batch["tool_mask"] == 0
    assert shown.any()
    assert not gradient[shown].any()
    assert gradient[(batch["tool_mask"] * batch["completion_mask"]) == 1].all()


def _kept(folder: Path, rows: list[PromptRow], databases: Databases) -> KeptTraining:
    training = KeptTraining(folder, rows=rows, sql_turns=2, max_completion_tokens=300, max_steps=3)
    _answer_wrongly(training.trainer, databases)
    return training


def test_a_training_with_two_turns_that_is_resumed_ends_as_the_uninterrupted_one(
    rows: list[PromptRow], databases: Databases, tmp_path: Path
) -> None:
    whole, keeper = _kept(tmp_path / "whole", rows, databases), Collecting()
    whole.keep_with(keeper)
    whole.resume(None)
    checkpoints = keeper.write(tmp_path / "checkpoints")
    end = whole.end_state(tmp_path / "end")
    resumed = _kept(tmp_path / "resumed", rows, databases)
    resumed.keep_with(Collecting())
    resumed.resume(checkpoints[2])
    again = resumed.end_state(tmp_path / "again")
    assert [name for name in end if end[name] != again.get(name)] == []
    assert any(entry.get("sampling/second_turns") for entry in whole.trainer.state.log_history)


@pytest.mark.parametrize(
    "setting",
    [
        {"algorithm": "dpo"},
        {"backend": "unsloth"},
        {"vllm": {"enabled": True}, "load_in_4bit": False},
        {"processes": 2},
        {"block_advantages": True},
        {"guided": "all"},
    ],
)
def test_what_has_one_turn_is_refused_before_work_starts(setting: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"has one turn an answer, and sql_turns is 2; set .*, or sql_turns=1"):
        TrainConfig.model_validate({"sql_turns": 2, **setting})
