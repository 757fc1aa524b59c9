"""TRL's own switches do what their papers say, with our log-probabilities and entropies on a CPU."""

import math
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from types import MethodType, SimpleNamespace
from typing import Any

import pytest
import torch
from trl import GRPOConfig, GRPOTrainer

from tasks.train.backend.cpu import CpuGRPOTrainer

VOCABULARY = 32
END, PAD = 1, 0
LIMIT = 8
"""The most tokens of a completion."""

MakeTrainer = Callable[..., Any]


@pytest.fixture
def make_trainer(tmp_path: Path) -> MakeTrainer:
    """Return a maker of what `_compute_loss` and `_generate_and_score_completions` need of a trainer.

    It has TRL's configuration, a small real model, and our way to its log-probabilities.
    """
    from transformers import Qwen2Config, Qwen2ForCausalLM

    def make(accumulation: int = 1, **switches: Any) -> Any:
        config = GRPOConfig(
            output_dir=str(tmp_path),
            use_cpu=True,
            bf16=False,
            report_to="none",
            per_device_train_batch_size=2,
            num_generations=2,
            gradient_accumulation_steps=accumulation,
            max_completion_length=LIMIT,
            **switches,
        )
        torch.manual_seed(0)
        shape = Qwen2Config(
            vocab_size=VOCABULARY,
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
        )
        trainer = SimpleNamespace(
            args=config,
            model=Qwen2ForCausalLM(shape).train(),
            accelerator=SimpleNamespace(
                device=torch.device("cpu"),
                num_processes=1,
                process_index=0,
                sync_gradients=True,
                gather=lambda values: values,
                reduce=lambda values, reduction: values,
            ),
            _tokenizer=SimpleNamespace(pad_token_id=PAD),
            eos_token_ids=[END],
            current_gradient_accumulation_steps=accumulation,
            # As TRL's constructor reads its configuration.
            temperature=config.temperature,
            beta=config.beta,
            loss_type=config.loss_type,
            epsilon_low=config.epsilon,
            epsilon_high=config.epsilon if config.epsilon_high is None else config.epsilon_high,
            importance_sampling_level=config.importance_sampling_level,
            max_completion_length=config.max_completion_length,
            num_generations=config.num_generations,
            num_iterations=config.num_iterations,
            mask_truncated_completions=config.mask_truncated_completions,
            multi_objective_aggregation=config.multi_objective_aggregation,
            scale_rewards=config.scale_rewards,
            top_entropy_quantile=config.top_entropy_quantile,
            off_policy_mask_threshold=config.off_policy_mask_threshold,
            entropy_coef=config.entropy_coef,
            use_adaptive_entropy=config.use_adaptive_entropy,
            _entropy_bonus_enabled=config.entropy_coef != 0.0 or config.use_adaptive_entropy,
            _last_world_entropy=math.inf,
            _entropy_window_stats=None,
            aux_loss_enabled=False,
            use_vllm=False,
            vllm_importance_sampling_correction=False,
            environment_factories=None,
            environments=None,
            tools=[],
            pad_to_multiple_of=None,
            log_multimodal=False,
            reward_funcs=["format", "content"],
            reward_func_names=["format", "content"],
            reward_weights=torch.ones(2),
            _metrics={"train": defaultdict(list), "eval": defaultdict(list)},
            _logs={
                "prompt": [],
                "completion": [],
                "advantages": [],
                "rewards": defaultdict(list),
                "extra": defaultdict(list),
            },
            _pending_extra_logs={},
            _pending_metrics={},
        )
        trainer._get_per_token_logps_and_entropies = MethodType(CpuGRPOTrainer._by_whole_logits, trainer)
        return trainer

    return make


def _batch(lengths: list[int], advantages: list[float], **others: Any) -> dict[str, Any]:
    """Return completions of these lengths, as TRL keeps them."""
    width = max(lengths)
    rows = len(lengths)
    generator = torch.Generator().manual_seed(5)
    return {
        "prompt_ids": torch.randint(2, VOCABULARY, (rows, 3), generator=generator),
        "prompt_mask": torch.ones(rows, 3, dtype=torch.long),
        "completion_ids": torch.randint(2, VOCABULARY, (rows, width), generator=generator),
        "completion_mask": (torch.arange(width) < torch.tensor(lengths).unsqueeze(1)).long(),
        "advantages": torch.tensor(advantages),
        "num_items_in_batch": torch.tensor(sum(lengths)),
        **others,
    }


def _loss(trainer: Any, batch: dict[str, Any]) -> torch.Tensor:
    return CpuGRPOTrainer._compute_loss(trainer, trainer.model, batch)  # type: ignore[no-any-return]


def _gradient(trainer: Any, batch: dict[str, Any]) -> torch.Tensor:
    trainer.model.zero_grad()
    loss = _loss(trainer, batch)
    if loss.requires_grad:
        loss.backward()  # type: ignore[no-untyped-call]
    gradients = [parameter.grad for parameter in trainer.model.parameters() if parameter.grad is not None]
    return torch.cat([gradient.flatten() for gradient in gradients]) if gradients else torch.zeros(1)


def _log_probabilities(trainer: Any, batch: dict[str, Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the log-probabilities of the completion's tokens and the entropies of what they were drawn from."""
    ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], dim=1)
    mask = torch.cat([batch["prompt_mask"], batch["completion_mask"]], dim=1)
    width = batch["completion_ids"].size(1)
    logits = trainer.model(input_ids=ids, attention_mask=mask).logits[:, -width - 1 : -1]
    by_token = torch.log_softmax(logits, dim=-1)
    chosen = by_token.gather(-1, ids[:, -width:].unsqueeze(-1)).squeeze(-1).detach()
    return chosen, -(by_token.exp() * by_token).sum(-1).detach()


def _score(trainer: Any, rewards: list[list[float]], completions: list[list[int]]) -> dict[str, Any]:
    """Let TRL make its batch of completions that earned these components."""
    prompts = [[4, 5]] * len(completions)
    trainer._generate = lambda _: (prompts, completions, None, [""] * len(completions), None, {}, None, None)
    trainer._calculate_rewards = lambda *_: torch.tensor(rewards)
    inputs = [{"prompt": ""} for _ in completions]
    return GRPOTrainer._generate_and_score_completions(trainer, inputs)  # type: ignore[no-any-return]


ENDED = [[7, 8, END]] * 4
NOTHING = math.nan


def test_gdpo_tells_one_reward_from_two_where_the_sum_does_not(make_trainer: MakeTrainer) -> None:
    """The paper's example (2601.05242, 3.1): groups that earn (0, 1) and (0, 2) have the same advantages under GRPO.

    By component the advantages are -+.7071, and -+.7071 twice: -+1.4142. The deviation of the four is sqrt(5/3).
    """
    rewards = [[0.0, 0.0], [1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]
    summed = _score(make_trainer(scale_rewards="group"), rewards, ENDED)["advantages"]
    half = math.sqrt(0.5)
    assert summed.tolist() == pytest.approx([-half, half, -half, half], abs=1e-3)
    decoupled = _score(make_trainer(multi_objective_aggregation="normalize_then_sum"), rewards, ENDED)["advantages"]
    deviation = math.sqrt(5 / 3)
    expected = [-half / deviation, half / deviation, -2 * half / deviation, 2 * half / deviation]
    assert decoupled.tolist() == pytest.approx(expected, abs=1e-3)


def test_gdpo_weighs_components_after_normalizing_them(make_trainer: MakeTrainer) -> None:
    """A component that spans .1 counts like one that spans 1: weights .25 and .75, and -+.7071 for each."""
    trainer = make_trainer(multi_objective_aggregation="normalize_then_sum")
    trainer.reward_weights = torch.tensor([0.25, 0.75])
    found = _score(trainer, [[0.0, 0.9], [1.0, 1.0], [1.0, 0.9], [0.0, 1.0]], ENDED)["advantages"]
    half = math.sqrt(0.5)
    raw = torch.tensor([-half, half, -half / 2, half / 2])
    assert found.tolist() == pytest.approx((raw / raw.std()).tolist(), abs=2e-3)


def test_gdpo_leaves_out_the_components_of_other_tasks(make_trainer: MakeTrainer) -> None:
    """Counted as 0, a component that abstains would do nothing here either, but NaN must not spread."""
    trainer = make_trainer(multi_objective_aggregation="normalize_then_sum")
    rewards = [[0.0, NOTHING], [1.0, NOTHING], [NOTHING, 0.4], [NOTHING, 0.8]]
    found = _score(trainer, rewards, ENDED)["advantages"]
    one = math.sqrt(3) / 2
    assert found.tolist() == pytest.approx([-one, one, -one, one], abs=1e-3)


@pytest.mark.parametrize(
    ("ratio", "advantage", "counted", "learns"),
    [
        (1.5, 1.0, 1.28, False),
        (1.25, 1.0, 1.25, True),
        (0.5, 1.0, 0.5, True),
        (0.5, -1.0, 0.8, False),
        (0.9, -1.0, 0.9, True),
        (1.5, -1.0, 1.5, True),
    ],
)
def test_clip_higher_gives_good_tokens_more_room_than_bad_ones(
    make_trainer: MakeTrainer, ratio: float, advantage: float, counted: float, learns: bool
) -> None:
    """DAPO's .2 below and .28 above: min(ratio x A, clip(ratio, .8, 1.28) x A), without a gradient where it clips."""
    trainer = make_trainer(epsilon=0.2, epsilon_high=0.28, loss_type="dapo")
    batch = _batch([3, 3], [advantage, advantage])
    batch["old_per_token_logps"] = _log_probabilities(trainer, batch)[0] - math.log(ratio)
    assert _loss(trainer, batch).item() == pytest.approx(-counted * advantage, abs=1e-4)
    assert bool(_gradient(trainer, batch).abs().max() > 1e-6) is learns
    clipped = trainer._metrics["train"]["clip_ratio/region_mean"]
    assert clipped[0] == (0.0 if learns else 1.0)


def test_without_the_higher_bound_a_ratio_of_five_quarters_is_clipped(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(epsilon=0.2, loss_type="dapo")
    batch = _batch([3, 3], [1.0, 1.0])
    batch["old_per_token_logps"] = _log_probabilities(trainer, batch)[0] - math.log(1.25)
    assert _loss(trainer, batch).item() == pytest.approx(-1.2, abs=1e-4)
    assert _gradient(trainer, batch).abs().max() == 0


def test_with_one_update_a_generation_no_bound_of_the_clip_does_anything(make_trainer: MakeTrainer) -> None:
    """The policy that learns is the one that sampled, so that every ratio is 1: why clip_ratio was always 0 (V4.2)."""
    batch = _batch([4, 2], [1.0, -0.5])
    narrow = make_trainer(epsilon=1e-6, epsilon_high=1e-6, loss_type="dapo")
    wide = make_trainer(epsilon=0.2, epsilon_high=0.28, loss_type="dapo")
    assert torch.equal(_gradient(narrow, batch), _gradient(wide, batch))
    assert narrow._metrics["train"]["clip_ratio/region_mean"] == [0.0]


@pytest.mark.parametrize(("iterations", "kept"), [(1, False), (2, True)])
def test_the_sampling_policy_s_probabilities_are_kept_only_where_a_second_update_needs_them(
    make_trainer: MakeTrainer, iterations: int, kept: bool
) -> None:
    output = _score(make_trainer(num_iterations=iterations), [[0.0, 0.0], [1.0, 0.0]], ENDED[:2])
    assert ("old_per_token_logps" in output) is kept


def test_dr_grpo_divides_by_the_most_tokens_there_can_be(make_trainer: MakeTrainer) -> None:
    """4 tokens of advantage 1 and one of -.5, over 2 completions of at most 8 (2503.20783): no length is preferred."""
    trainer = make_trainer(loss_type="dr_grpo")
    assert _loss(trainer, _batch([4, 1], [1.0, -0.5])).item() == pytest.approx(-3.5 / 16)
    accumulated = make_trainer(accumulation=2, loss_type="dr_grpo")
    assert _loss(accumulated, _batch([4, 1], [1.0, -0.5])).item() == pytest.approx(-3.5 / 32)


def test_dapo_s_loss_is_the_mean_over_the_tokens_of_all_passes_of_a_step(make_trainer: MakeTrainer) -> None:
    """Passes of 5 and 9 tokens: 14 in all, each of equal weight, which a mean of two means would not give."""
    trainer = make_trainer(accumulation=2, loss_type="dapo")
    tokens = torch.tensor(14)
    passes = [
        _batch([4, 1], [1.0, -0.5], num_items_in_batch=tokens),
        _batch([3, 6], [0.5, 2.0], num_items_in_batch=tokens),
    ]
    total = sum(_loss(trainer, batch).item() for batch in passes)
    assert total == pytest.approx(-(4 - 0.5 + 1.5 + 12) / 14)


def test_the_entropy_bonus_is_the_mean_entropy_of_the_completion_s_tokens(make_trainer: MakeTrainer) -> None:
    trainer = make_trainer(entropy_coef=0.1, loss_type="dr_grpo")
    batch = _batch([4, 1], [0.0, 0.0])
    entropies = _log_probabilities(trainer, batch)[1]
    mean = entropies[batch["completion_mask"].bool()].mean().item()
    assert _loss(trainer, batch).item() == pytest.approx(-0.1 * mean, abs=1e-5)


def test_a_step_on_the_entropy_bonus_raises_the_entropy(make_trainer: MakeTrainer) -> None:
    """The loss would show the bonus also where the entropies had no gradient, and nothing would be learnt from it."""
    trainer = make_trainer(entropy_coef=1.0, loss_type="dr_grpo")
    # Random weights are near the highest entropy already.
    with torch.no_grad():
        trainer.model.lm_head.weight.mul_(20)
    batch = _batch([4, 3], [0.0, 0.0])
    before = _loss(trainer, batch).item()
    size = _gradient(trainer, batch).norm()
    assert size > 0
    with torch.no_grad():
        for parameter in trainer.model.parameters():
            if parameter.grad is not None:
                parameter.sub_(0.01 * parameter.grad / size)
    # To first order the loss falls by the step's length times the gradient's.
    assert before - _loss(trainer, batch).item() == pytest.approx(0.01 * size.item(), rel=0.1)


def _adaptive(make_trainer: MakeTrainer, target: float, **others: Any) -> Any:
    return make_trainer(
        use_adaptive_entropy=True,
        entropy_target=target,
        entropy_coef=0.0048,
        entropy_coef_min=0.0,
        entropy_coef_max=0.005,
        entropy_coef_delta=1e-4,
        loss_type="dr_grpo",
        **others,
    )


def test_the_adaptive_coefficient_rises_by_its_step_to_its_bound_while_entropy_is_low(
    make_trainer: MakeTrainer,
) -> None:
    """Skywork-OR1 (2505.22312): steps of .0001 within [0, .005]."""
    trainer = _adaptive(make_trainer, target=100.0)
    found = []
    for _ in range(4):
        _loss(trainer, _batch([3, 3], [0.0, 0.0]))
        found.append(trainer.entropy_coef)
    assert found == pytest.approx([0.0049, 0.005, 0.005, 0.005])


def test_the_adaptive_coefficient_falls_while_entropy_is_high(make_trainer: MakeTrainer) -> None:
    trainer = _adaptive(make_trainer, target=0.2)
    trainer.entropy_coef = 0.00015
    found = []
    for _ in range(3):
        _loss(trainer, _batch([3, 3], [0.0, 0.0]))
        found.append(trainer.entropy_coef)
    assert found == pytest.approx([0.00005, 0.0, 0.0])


def test_the_adaptive_bonus_acts_only_after_a_step_of_low_entropy(make_trainer: MakeTrainer) -> None:
    """Nothing is known before the first step; then the coefficient that it left, only while entropy is below target."""
    batch = _batch([3, 3], [0.0, 0.0])
    low = _adaptive(make_trainer, target=100.0)
    mean = _log_probabilities(low, batch)[1].mean().item()
    assert [_loss(low, batch).item() for _ in range(2)] == pytest.approx([0.0, -0.0049 * mean], abs=1e-6)
    high = _adaptive(make_trainer, target=0.2)
    assert [_loss(high, batch).item() for _ in range(2)] == [0.0, 0.0]


def test_the_adaptive_coefficient_moves_once_a_step_and_not_once_a_pass(make_trainer: MakeTrainer) -> None:
    trainer = _adaptive(make_trainer, target=100.0, accumulation=2)
    trainer.accelerator.sync_gradients = False
    _loss(trainer, _batch([3, 3], [0.0, 0.0]))
    assert trainer.entropy_coef == 0.0048
    trainer.accelerator.sync_gradients = True
    _loss(trainer, _batch([3, 3], [0.0, 0.0]))
    assert trainer.entropy_coef == pytest.approx(0.0049)


def test_a_completion_that_was_cut_off_is_compared_but_not_learnt_from(make_trainer: MakeTrainer) -> None:
    """DAPO's overlong filtering: no token of it counts, in the loss or in its divisor."""
    completions = [[7, 8, 9, END], [7] * LIMIT]
    rewards = [[1.0, 0.0], [0.0, 0.0]]
    masked = make_trainer(mask_truncated_completions=True, loss_type="dapo", scale_rewards="none")
    output = _score(masked, rewards, completions)
    assert output["completion_mask"].sum(dim=1).tolist() == [4, 0]
    assert output["num_items_in_batch"].item() == 4
    assert output["advantages"].tolist() == [0.5, -0.5]
    alone = {name: value[:1] if value.dim() else value for name, value in output.items()}
    assert _loss(masked, output).item() == pytest.approx(-0.5)
    assert torch.allclose(_gradient(masked, output), _gradient(masked, alone), atol=1e-6)
    kept = _score(make_trainer(loss_type="dapo", scale_rewards="none"), rewards, completions)
    assert kept["completion_mask"].sum(dim=1).tolist() == [4, LIMIT]


def test_advantages_by_token_weigh_each_token_with_its_own(make_trainer: MakeTrainer) -> None:
    """What blockwise advantages rest on: shape (completions, tokens)."""
    trainer = make_trainer(loss_type="dapo")
    batch = _batch([2, 2], [0.0, 0.0])
    batch["advantages"] = torch.tensor([[1.0, -0.25], [0.5, 0.0]])
    assert _loss(trainer, batch).item() == pytest.approx(-1.25 / 4)
