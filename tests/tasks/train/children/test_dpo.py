"""DPO: the loss of the paper on a CPU, every argument set, pairs and weights the same after a resume."""

import dataclasses
import io
import json
import math
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas.audit_record import AUDIT_RECORD_FILE, AuditedTask, AuditRecord
from schemas.config.train import TrainConfig
from schemas.errors import GateRefused
from tasks.commerce import registry
from tasks.commerce.registry import joint_version, reward_versions
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.policy.child import Channel
from tasks.train.children import dpo
from tasks.train.children.dpo import require_pairs
from tasks.train.dpo.pairs import dpo_arguments, pairs_per_pass
from tasks.train.request import TrainRequest
from tasks.train.stage import train
from tests.tasks.train.small_training import (
    RECIPE,
    adapter_weights,
    paid_by_length,
    prompt_rows,
    small_preference_trainer,
    tiny_policy,
)


def _log_probability(model: Any, prompt: list[int], completion: list[int]) -> float:
    """Compute the log-probability of a completion, one token after another."""
    import torch

    total = 0.0
    for place, token in enumerate(completion):
        logits = model(torch.tensor([prompt + completion[:place]])).logits[0, -1]
        total += torch.log_softmax(logits, dim=-1)[token].item()
    return total


def test_the_loss_is_that_of_the_paper(tmp_path: Path) -> None:
    """Eq. 7 of 2305.18290: -log sigmoid(beta (log-ratio of the chosen - log-ratio of the rejected)), by the token."""
    import torch

    trainer = small_preference_trainer(tmp_path, preferences={"beta": 0.3})
    generator = torch.Generator().manual_seed(1)
    for weights in adapter_weights(trainer):
        parameter = trainer.model.get_parameter(weights)
        parameter.data = torch.randn(parameter.shape, generator=generator) / 4
    trainer.model.eval()
    rows = [trainer.train_dataset[place] for place in (0, 3, 5)]
    with torch.no_grad():
        found = trainer.compute_loss(trainer.model, trainer.data_collator(rows)).item()
        losses, margins = [], []
        for row in rows:
            prompt, chosen, rejected = row["prompt_ids"], row["chosen_ids"], row["rejected_ids"]
            better = _log_probability(trainer.model, prompt, chosen)
            worse = _log_probability(trainer.model, prompt, rejected)
            with trainer.model.disable_adapter():
                better -= _log_probability(trainer.model, prompt, chosen)
                worse -= _log_probability(trainer.model, prompt, rejected)
            margins.append(0.3 * (better - worse))
            losses.append(math.log1p(math.exp(-margins[-1])))
    assert max(losses) - min(losses) > 0.01
    assert found == pytest.approx(sum(losses) / 3, abs=1e-4)
    assert trainer._metrics["eval"]["rewards/margins"] == [pytest.approx(sum(margins) / 3, abs=1e-4)]


def test_the_figures_of_the_plain_head_are_those_of_the_softmax(tmp_path: Path) -> None:
    import torch

    trainer = small_preference_trainer(tmp_path)
    batch = trainer.data_collator([trainer.train_dataset[0], trainer.train_dataset[5]])
    labels = batch["input_ids"].masked_fill(batch["completion_mask"] == 0, -100)
    with torch.no_grad():
        inputs = {"input_ids": batch["input_ids"], "attention_mask": batch["attention_mask"]}
        found = trainer.model(**inputs, labels=labels, fused_lm_head=True)
        logits = trainer.model(**inputs).logits
    assert found.log_probs.shape == labels[:, 1:].shape
    for row, place in (labels[:, 1:] != -100).nonzero().tolist():
        by_token = torch.softmax(logits[row, place], dim=-1)
        token = labels[row, place + 1]
        assert found.log_probs[row, place].item() == pytest.approx(by_token[token].log().item(), abs=1e-5)
        assert found.entropy[row, place].item() == pytest.approx(-(by_token * by_token.log()).sum().item(), abs=1e-4)
        assert found.mean_logits[row, place].item() == pytest.approx(logits[row, place].mean().item(), abs=1e-5)
        assert found.is_top1[row, place].item() == (by_token.argmax() == token).item()
    assert not found.log_probs[labels[:, 1:] == -100].any()


def test_training_prefers_the_chosen_and_moves_the_adapter_alone(tmp_path: Path) -> None:
    trainer = small_preference_trainer(tmp_path, max_steps=8, save_every=100)
    frozen = {
        name: weights.detach().clone()
        for name, weights in trainer.model.named_parameters()
        if not weights.requires_grad
    }
    trainer.train()
    log = [entry for entry in trainer.state.log_history if "loss" in entry]
    assert log[0]["loss"] == pytest.approx(math.log(2), abs=1e-5)
    assert log[-1]["loss"] < 0.6
    assert log[-1]["rewards/accuracies"] == 1.0
    for name, weights in frozen.items():
        assert weights.equal(trainer.model.get_parameter(name))


def test_every_field_of_trls_own_is_set() -> None:
    """A default of the library must not decide; a field that a later release adds is found here."""
    from trl import DPOConfig
    from trl.trainer.base_config import _BaseConfig

    own = {field.name for field in dataclasses.fields(DPOConfig)} - {
        field.name for field in dataclasses.fields(_BaseConfig)
    }
    arguments = dpo_arguments(TrainConfig(), prompts=9, seed=1, work=Path("work"), on_gpu=False)
    assert own <= arguments.keys()


def test_the_recipe_reaches_trl() -> None:
    config = TrainConfig.model_validate(
        {"preferences": {"beta": 0.7}, "learning_rate": 3e-4, "max_steps": 9, "prompts_per_step": 4, "accumulation": 2}
    )
    arguments = dpo_arguments(config, prompts=9, seed=11, work=Path("work"), on_gpu=True)
    assert (arguments["beta"], arguments["learning_rate"], arguments["max_steps"]) == (0.7, 3e-4, 9)
    assert (arguments["seed"], arguments["data_seed"], arguments["bf16"]) == (11, 11, True)
    # 4 prompts x 8 completions in 2 passes are 16 completions a pass: 8 pairs.
    assert (arguments["per_device_train_batch_size"], arguments["gradient_accumulation_steps"]) == (8, 2)


def test_too_few_pairs_for_a_step_are_refused() -> None:
    config = TrainConfig(prompts_per_step=2, generations=4)
    assert pairs_per_pass(config) == 4
    require_pairs(4, config)
    with pytest.raises(
        GateRefused, match=r"too few pairs \(3, one step needs 4\) .* differ by train.preferences.min_gap 0.1; raise"
    ):
        require_pairs(3, config)


class _Stopped(BaseException):
    """The machine is taken away."""


class _FragileChannel(Channel):
    """Ends the process, so to speak, when a step is reported and an earlier one is in the mirror."""

    def __init__(self, at: int, mirror: Path) -> None:
        super().__init__(io.StringIO())
        self._at = at
        self._mirror = mirror

    def metrics(self, step: int, values: dict[str, float]) -> None:
        if step == self._at:
            # The two threads that write and mirror may be slower than a step of this model.
            deadline = time.monotonic() + 60
            while not any(self._mirror.rglob("manifests/*.json")):
                assert time.monotonic() < deadline, "no checkpoint was mirrored"
                time.sleep(0.01)
            raise _Stopped
        super().metrics(step, values)


class _Training:
    """One training with everything on disk that it reads."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from tests.prompt_tables import write_prompts

        self.folder = folder
        rows = prompt_rows()
        write_prompts(rows, folder / "dataset" / "data" / "train.parquet")
        write_prompts(rows[:2], folder / "dataset" / "data" / "validation.parquet")
        model, tokenizer = tiny_policy()
        model.save_pretrained(folder / "base")
        tokenizer.save_pretrained(folder / "base")
        record = AuditRecord(
            spec="grounded",
            reward_version=joint_version(),
            reward_versions=reward_versions(),
            sheet_sha256="0" * 64,
            rollouts_sha256="1" * 64,
            raters={},
            verdict="passed",
            reasons=(),
            thresholds={},
            tasks={task: AuditedTask(n=40, rho=0.9, rho_low=0.8, verdict="agrees") for task in ("push", "sentiment")},
        )
        (folder / "audit").mkdir()
        (folder / "audit" / AUDIT_RECORD_FILE).write_text(record.model_dump_json(), encoding="utf-8")
        # No prompt here asks for SQL.
        monkeypatch.setattr("tasks.train.stage.Databases.open", lambda folder: Databases(()))
        # What it checks has tests of its own.
        monkeypatch.setattr("tasks.train.stage._check", lambda *_: None)

    def run(self, name: str, channel: Channel | None = None, mirror: str | None = None, **recipe: Any) -> Path:
        """Train in a folder of its own, and return where the result is."""
        small = {
            **RECIPE,
            "algorithm": "dpo",
            "max_steps": 6,
            "prompts_per_step": 1,
            "generations": 8,
            # A policy that knows nothing ends few of its completions.
            "max_completion_tokens": 48,
            **recipe,
        }
        request = TrainRequest(
            config=TrainConfig.model_validate(small),
            spec="grounded",
            validation_temperature=0.1,
            validation_batch_size=4,
            max_prompt_tokens=200,
            seed=5,
            base=self.folder / "base",
            base_sha256="b" * 64,
            dataset=self.folder / "dataset",
            store=self.folder / "store",
            audit=self.folder / "audit",
            mirror=str(self.folder / "mirror"),
            training=mirror or name,
            output=self.folder / name / "output",
        )
        file = self.folder / name / "dpo.request.json"
        file.parent.mkdir()
        file.write_text(request.model_dump_json(), encoding="utf-8")
        train(file, channel or Channel(io.StringIO()), dpo.start)
        return request.output


@pytest.fixture
def training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[_Training]:
    # A training takes it for a notice of its own process.
    handler = signal.getsignal(signal.SIGTERM)
    yield _Training(tmp_path, monkeypatch)
    signal.signal(signal.SIGTERM, handler)


@pytest.mark.integration
@pytest.mark.parametrize("stop_at", [3, 6])
def test_a_resumed_run_equals_an_uninterrupted_one(
    stop_at: int, training: _Training, monkeypatch: pytest.MonkeyPatch
) -> None:
    score = registry.score_rollout
    monkeypatch.setattr(registry, "score_rollout", lambda *given: paid_by_length(score(*given)))
    preferences = {"min_gap": 0.001, "prompts": 100}
    whole = training.run("whole", preferences=preferences)
    with pytest.raises(_Stopped):
        training.run(
            "stopped",
            _FragileChannel(stop_at, training.folder / "mirror" / "broken"),
            mirror="broken",
            preferences=preferences,
        )

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("a resumed run has its pairs already")

    monkeypatch.setattr(dpo, "preferred", never)
    resumed = training.run("resumed", mirror="broken", preferences=preferences)
    for name in ("training.json", "adapter/adapter_model.safetensors", "adapter/adapter_config.json"):
        assert (resumed / name).read_bytes() == (whole / name).read_bytes(), name
    summary = json.loads((whole / "training.json").read_text(encoding="utf-8"))
    assert summary["steps"] == 6
    assert summary["pairs"].keys() == {"push", "sentiment"}
    # In the second epoch, whose order a resumed run must not draw from the first one's generator.
    assert 4 < sum(summary["pairs"].values()) < 4 * stop_at
    assert [entry["step"] for entry in summary["validation"]] == [0, 2, 4, 6]
    assert len(summary["log"]) == 6


@pytest.mark.integration
def test_rewards_that_tell_nothing_apart_are_refused(training: _Training) -> None:
    with pytest.raises(GateRefused, match="one step needs 4"):
        training.run("dull", preferences={"min_gap": 1.0})
