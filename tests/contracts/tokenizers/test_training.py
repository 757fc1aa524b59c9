"""A supervised and a reinforced step with the authors' tokenizers: what is read, what is learnt, where a turn ends."""

from pathlib import Path
from typing import Any

import pytest

from schemas.config.train_sections import PolicyConfig, WarmStartConfig
from tasks.commerce.registry import TASKS
from tasks.policy.generate import as_messages
from tasks.policy.load import load_base, load_tokenizer
from tasks.train.sft.warm_start import WarmStartRequest, demonstration, sft_trainer
from tests.contracts.tokenizers.published import END, KINDS, Kind, published_tokenizer, save_policy
from tests.tasks.train.small_training import adapter_weights, prompt_rows, small_trainer

pytestmark = pytest.mark.slow

ENDS = {"chat": f"{END}\n\n", "tools": f"{END}\n", "hybrid": f"{END}\n"}


def _prompt(tokenizer: Any, system: str, prompt: str) -> list[int]:
    text = tokenizer.apply_chat_template(as_messages(system, prompt), tokenize=False, add_generation_prompt=True)
    ids: list[int] = tokenizer.encode(text, add_special_tokens=False)
    return ids


@pytest.mark.parametrize(("kind", "template"), zip(KINDS, ENDS, strict=True))
def test_a_supervised_step_teaches_the_answer_and_its_end_alone(kind: Kind, template: str, tmp_path: Path) -> None:
    folder = save_policy(tmp_path / "base", published_tokenizer(kind, template, begins=True))
    rows = prompt_rows()[:4]
    answers = [TASKS[row.task].answer(row.reference) for row in rows]
    taught = WarmStartConfig.model_validate(
        {"steps": 2, "batch_size": 4, "learning_rate": 2e-2, "lora": {"rank": 2, "alpha": 4}}
    )
    request = WarmStartRequest(
        policy=PolicyConfig(name=str(folder)), warm_start=taught, seed=1, dataset=folder, output=tmp_path / "output"
    )
    tokenizer = load_tokenizer(folder)
    shown = [demonstration(row.system, row.prompt, answer) for row, answer in zip(rows, answers, strict=True)]
    trainer = sft_trainer(request, tokenizer, shown, tmp_path / "work", [], spread=True)
    (batch,) = trainer.get_train_dataloader()
    for row, answer, ids, mask, labels in zip(
        rows, answers, *(batch[name].tolist() for name in ("input_ids", "attention_mask", "labels")), strict=True
    ):
        read = [token for token, real in zip(ids, mask, strict=True) if real]
        learnt = [token for token in labels if token >= 0]
        assert read == [*_prompt(tokenizer, row.system, row.prompt), *learnt]
        assert tokenizer.decode(learnt) == answer + ENDS[template]
        assert learnt.count(tokenizer.eos_token_id) == 1
        assert tokenizer.pad_token_id not in read
    before = adapter_weights(trainer)
    trainer.train()
    assert any(not weights.equal(before[name]) for name, weights in adapter_weights(trainer).items())


@pytest.mark.parametrize("kind", KINDS)
def test_a_reinforced_step_samples_from_the_prompt_and_learns_from_turns_that_end(kind: Kind, tmp_path: Path) -> None:
    folder = save_policy(tmp_path / "base", published_tokenizer(kind, "hybrid", begins=True))
    tokenizer, seen = load_tokenizer(folder), list[Any]()
    trainer = small_trainer(
        tmp_path,
        policy=(load_base(folder, four_bit=False), tokenizer),
        on_rollouts=lambda *of_step: seen.append(of_step),
        guided_correction={"share": 1.0},
        max_completion_tokens=96,
        max_steps=1,
    )
    before = adapter_weights(trainer)
    trainer.train()
    (rollouts,) = [rollouts for _, rollouts, advantages in seen if advantages is not None]
    for rollout in rollouts:
        assert rollout.prompt_ids == _prompt(tokenizer, rollout.row.system, rollout.row.prompt)
        assert rollout.truncated == (tokenizer.eos_token_id not in rollout.completion_ids)
    corrected = [rollout for rollout in rollouts if rollout.corrected]
    assert corrected
    for rollout in corrected:
        assert tokenizer.decode(rollout.completion_ids) == TASKS[rollout.row.task].answer(rollout.row.reference) + END
    assert any(not weights.equal(before[name]) for name, weights in adapter_weights(trainer).items())
