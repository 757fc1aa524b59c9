"""Preflight checks of the policy's answers: variety, thoughts, endings and reward differences."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Any, Final, TypeVar

from schemas.config.train import TrainConfig
from schemas.tables.prompts import PromptRow
from tasks.commerce.registry import score_beside
from tasks.policy.control_tokens import THINK
from tasks.policy.generate import Completion, StopReason, as_messages, generate
from tasks.train.grpo.rewards import ComponentRewards
from tasks.train.preflight.check import COMPLETIONS_A_PROMPT, Check, checked

SILENT: Final = frozenset(
    {"pad_token_id", "bos_token_id", "eos_token_id", "decoder_start_token_id", "transformers_version"}
    | {"_from_model_config", "max_length", "max_new_tokens", "do_sample", "use_cache", "disable_compile"}
    | {"cache_implementation"}
)
"""Generation settings that do not change which token is drawn."""
NEUTRAL: Final = {
    **dict.fromkeys(("temperature", "top_p", "typical_p", "repetition_penalty", "length_penalty"), 1.0),
    "encoder_repetition_penalty": 1.0,
    "num_beams": 1,
    "num_return_sequences": 1,
}
"""Values without effect; for all other settings, 0 and None."""

Value = TypeVar("Value")


@dataclass(frozen=True)
class Answers:
    """Completions of some prompts, `COMPLETIONS_A_PROMPT` of each in a row."""

    rows: list[PromptRow]
    """The prompt of each completion."""
    completions: list[Completion]
    raw: list[str]
    """Their texts, with special tokens where the trainer shows them."""


def check_generation_settings(trainer: Any, recipe: TrainConfig) -> Check:
    """Check that the recipe alone decides how completions are sampled.

    TRL leaves some settings, `min_p` and `typical_p` among them, to the model's own generation configuration.
    """
    wanted = {"temperature": recipe.temperature, "top_p": 1.0, "top_k": 0}
    found = {f"the model's {setting}" for setting in _settings(trainer.model.generation_config, {})}
    if (own := getattr(trainer, "generation_config", None)) is not None:
        found |= {f"the trainer's {setting}" for setting in _settings(own, wanted)}
    return checked("generation_settings", not found, ", ".join(sorted(found)) or "none but the recipe's")


def _settings(config: Any, wanted: dict[str, Any]) -> list[str]:
    """Return the settings of a generation configuration that change which token is drawn, as `name=value`."""
    neutral = NEUTRAL | wanted
    found = config.to_diff_dict() | {name: getattr(config, name) for name in wanted}
    return [
        f"{name}={value}"
        for name, value in found.items()
        if name not in SILENT and value != neutral.get(name) and (name in wanted or value not in (None, 0, False))
    ]


def answer(trainer: Any, tokenizer: Any, rows: Sequence[PromptRow], recipe: TrainConfig, seed: int) -> Answers:
    """Let the policy answer each prompt `COMPLETIONS_A_PROMPT` times, with the recipe's sampling.

    A GRPO trainer samples in its own way, so that its faults show; DPO's samples nothing while it trains.
    """
    import torch
    from trl.models.utils import disable_gradient_checkpointing

    each = [row for row in rows for _ in range(COMPLETIONS_A_PROMPT)]
    conversations = [as_messages(row.system, row.prompt) for row in each]
    if hasattr(trainer, "_generate_single_turn"):
        # TRL has no public method to sample as in training.
        torch.manual_seed(seed)
        prompts, *others = trainer._tokenize_prompts(conversations)  # noqa: SLF001
        generator = trainer.rollout_generator
        ids, _ = generator.draw(each, prompts, others, COMPLETIONS_A_PROMPT)
        return Answers(each, [generator.read(each_ids) for each_ids in ids], tokenizer.batch_decode(ids))
    # Layers with gradient checkpointing use no cache, and would see the last token alone.
    with disable_gradient_checkpointing(trainer.model, trainer.args.gradient_checkpointing_kwargs):
        completions = generate(
            trainer.model,
            tokenizer,
            conversations,
            temperature=recipe.temperature,
            max_tokens=recipe.max_completion_tokens,
            batch_size=recipe.completions_per_step,
            seed=seed,
        )
    return Answers(each, completions, [completion.text for completion in completions])


def check_answers(answers: Answers, rewards: ComponentRewards, recipe: TrainConfig) -> list[Check]:
    """Check the answers and their rewards."""
    limits = recipe.preflight
    # A confident policy repeats a short answer; a leaking setting makes it repeat all of them.
    distinct = max(len(set(group)) for group in _groups(answers.raw))
    begun = sum(raw.lstrip().startswith(THINK) for raw in answers.raw)
    cut = fmean(completion.stop_reason is StopReason.TOKEN_LIMIT for completion in answers.completions)
    scored = score_beside(rewards.score(answers.rows, answers.completions), rewards.spec)
    spreads = [pstdev(group) for group in _groups([rollout.reward for rollout in scored])]
    flat = fmean(spread < recipe.dynamic_sampling.min_spread for spread in spreads)
    mean, count = fmean(spreads), COMPLETIONS_A_PROMPT
    return [
        checked(
            "distinct_completions",
            distinct >= limits.min_distinct,
            f"{distinct} of {count} at best",
            least=limits.min_distinct,
            count=count,
        ),
        checked("thinking", begun == 0, f"{begun} of {len(answers.raw)} completions begin with {THINK}"),
        checked(
            "ceiling",
            cut <= limits.max_ceiling_share,
            f"{cut:.0%} of {len(answers.completions)} completions were cut off",
            most=limits.max_ceiling_share,
            tokens=recipe.max_completion_tokens,
        ),
        checked(
            "reward_spread",
            mean >= limits.min_spread,
            f"{mean:.4f} on average, at temperature {recipe.temperature}",
            least=limits.min_spread,
        ),
        checked(
            "zero_variance",
            flat <= limits.max_zero_variance,
            f"{flat:.0%} of {len(spreads)} groups earned the same throughout",
            most=limits.max_zero_variance,
        ),
    ]


def _groups(values: Sequence[Value]) -> list[Sequence[Value]]:
    return [values[start : start + COMPLETIONS_A_PROMPT] for start in range(0, len(values), COMPLETIONS_A_PROMPT)]
