"""A real training at a size for tests: a tiny policy, a few prompts, the real rewards with a little for any text."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from schemas.config.train import TrainConfig
from schemas.documents import ScoredRollout
from schemas.tables.prompts import PromptRow, content_id
from schemas.tasks import TaskName
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.policy.generate import Completion
from tasks.stand_in.model import StandInShape
from tasks.train.backend.trainable import lora_config
from tasks.train.children.dpo import PreferencePair
from tasks.train.grpo.rewards import ComponentRewards
from tasks.train.grpo.rollouts import RolloutGroups, SampledRollout

SMALL = StandInShape(vocabulary_size=512, hidden_size=32, layers=1, heads=2, key_value_heads=1, feed_forward_size=64)
RECIPE: dict[str, Any] = {
    "load_in_4bit": False,
    "lora": {"rank": 4, "alpha": 8},
    "max_steps": 4,
    "prompts_per_step": 2,
    "generations": 4,
    "max_completion_tokens": 16,
    "learning_rate": 1e-2,
    "warmup_share": 0.0,
    "save_every": 2,
    "evaluate_every": 2,
}
PRODUCTS = ("livro", "tênis", "celular", "fone", "mochila", "relógio")
WORDS = ("livro", "tênis", "celular", "fone", "mochila", "frete grátis")
PAIRS = [
    PreferencePair(f"p{number}", "push", "Responda.", f"Pedido {number}", WORDS[number], "Pedido " * (number + 1), 0.5)
    for number in range(6)
]


class SpreadRewards(ComponentRewards):
    """The real rewards, and a little for short text: a policy that knows nothing would earn nothing, and never move."""

    def score(self, rows: Sequence[PromptRow], completions: Sequence[Completion]) -> list[ScoredRollout]:
        """Score each completion of a prompt."""
        paid = []
        for scored in super().score(rows, completions):
            least = 1 / (11 + len(scored.completion))
            components = {name: max(earned, least) for name, earned in scored.components.items()}
            paid.append(scored.model_copy(update={"components": components, "reward": max(scored.reward, least)}))
        return paid


def prompt_rows(*tasks: TaskName, each: int = 6) -> list[PromptRow]:
    return [_row(task, number) for number in range(each) for task in tasks or ("push", "sentiment")]


def _row(task: TaskName, number: int) -> PromptRow:
    product = PRODUCTS[number % len(PRODUCTS)]
    prompt = f"Pedido {number}: {product}."
    if task == "push":
        prompt += f"\nProduto: {product}\nOferta: frete grátis"
    references: dict[str, dict[str, Any]] = {
        "push": {"product": product, "offer": "frete grátis"},
        "sentiment": {"polarity": "positive", "score": 5},
        "sql_qa": {"sql": "SELECT 1"},
    }
    reference = references[task]
    identity = content_id(task, "Responda.", prompt, reference)
    return PromptRow(identity, task, "Responda.", prompt, reference, "simulated", f"c{number}", None, None)


def scored_rollout(row: PromptRow, reward: float, **changes: Any) -> ScoredRollout:
    """Return a rollout of a prompt that earned a reward, with changes of its other fields."""
    values: dict[str, Any] = {
        "prompt_id": row.prompt_id,
        "task": row.task,
        "prompt": row.prompt,
        "completion": "",
        "reference": dict(row.reference) or None,
        "reward": reward,
        "components": {},
        "parsed": None,
        "spec": "grounded",
        "reward_version": "test",
    }
    return ScoredRollout.model_validate(values | changes)


def rollout_groups(
    scored: Sequence[ScoredRollout],
    components: Sequence[Sequence[float]],
    weights: Sequence[float],
    rows: Sequence[PromptRow],
    each: int,
) -> RolloutGroups:
    """Return groups of so many completions, of one token each, with their components of rewards."""
    rollouts = [
        SampledRollout(row, [1], [number], None, one, list(earned), truncated=False)
        for number, (row, one, earned) in enumerate(zip(rows, scored, components, strict=True))
    ]
    return RolloutGroups([rollouts[start : start + each] for start in range(0, len(rows), each)], weights)


def tiny_policy(seed: int = 3) -> tuple[Any, Any]:
    from tasks.stand_in.model import build_model, build_tokenizer

    texts = [f"Pedido {number}: {product}. frete grátis positive" for number, product in enumerate(PRODUCTS)]
    tokenizer = build_tokenizer(texts * 20, SMALL.vocabulary_size)
    return build_model(SMALL, tokenizer, seed), tokenizer


def quantized_policy(folder: Path) -> tuple[Any, Any]:
    """Return the tiny policy as the child reads it from its folder: in NF4."""
    from tasks.policy.load import load_base

    model, tokenizer = tiny_policy()
    model.save_pretrained(folder / "base")
    tokenizer.save_pretrained(folder / "base")
    return load_base(folder / "base", four_bit=True), tokenizer


def small_trainer(folder: Path, rows: list[PromptRow] | None = None, **recipe: Any) -> Any:
    """Return our trainer; extra settings are those of `TrainConfig`, or `on_rollouts`, `callbacks` and `policy`."""
    from trl import GRPOConfig

    from tasks.train.grpo.recipe import grpo_arguments
    from tasks.train.grpo.trainer import CommerceGRPOTrainer

    named = {name: recipe.pop(name) for name in ("on_rollouts", "callbacks") if name in recipe}
    seed, policy = recipe.pop("seed", 5), recipe.pop("policy", None)
    config = TrainConfig.model_validate({**RECIPE, **recipe})
    rows = rows or prompt_rows()
    rewards = SpreadRewards(Databases(()), "grounded")
    model, tokenizer = policy or (quantized_policy(folder) if config.load_in_4bit else tiny_policy())
    arguments = grpo_arguments(
        config, weights=rewards.weights, prompts=len(rows), max_prompt_tokens=200, seed=seed, work=folder, on_gpu=False
    )
    return CommerceGRPOTrainer(
        config,
        rows,
        rewards,
        model=model,
        args=GRPOConfig(**arguments),
        processing_class=tokenizer,
        peft_config=lora_config(config.lora),
        **named,
    )


def small_preference_trainer(folder: Path, **recipe: Any) -> Any:
    """Return a DPO trainer on `PAIRS`; extra settings are those of `TrainConfig`."""
    from trl import DPOConfig

    from tasks.train.backend.dpo import CpuDPOTrainer
    from tasks.train.children.dpo import as_training_set
    from tasks.train.grpo.recipe import dpo_arguments

    config = TrainConfig.model_validate({**RECIPE, **recipe})
    model, tokenizer = tiny_policy()
    return CpuDPOTrainer(
        model=model,
        args=DPOConfig(**dpo_arguments(config, prompts=len(PAIRS), seed=5, work=folder, on_gpu=False)),
        train_dataset=as_training_set(PAIRS),
        processing_class=tokenizer,
        peft_config=lora_config(config.lora),
    )


def adapter_weights(trainer: Any) -> dict[str, Any]:
    return {
        name: parameter.detach().clone()
        for name, parameter in trainer.model.named_parameters()
        if parameter.requires_grad
    }
