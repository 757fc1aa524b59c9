"""Generation of rollouts with our engine, transformers or vLLM: prompts in, scored groups of completions out."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

from schemas.config.train import TrainConfig
from schemas.documents import ScoredRollout
from schemas.tables.prompts import PromptRow
from tasks.commerce.registry import score_beside
from tasks.policy.engine import Engine
from tasks.policy.generate import Completion, StopReason, as_messages, read_completion
from tasks.policy.guidance import Sampled, keys_of
from tasks.policy.unpacked import engine_draws
from tasks.train.grpo.rewards import ComponentRewards
from tasks.train.grpo.rollouts import RolloutGroups, SampledRollout


class RolloutGenerator:
    """Samples and scores groups of completions with a trainer's policy."""

    guided = True
    """Whether completions are guided where the recipe says so; the preflight's longest ones are not."""

    def __init__(self, trainer: Any, recipe: TrainConfig, rewards: ComponentRewards) -> None:
        self._trainer = trainer
        self._tokenizer = trainer.processing_class
        self._recipe = recipe
        self._rewards = rewards
        self.seconds = {"generation": 0.0, "reward": 0.0}
        """Seconds spent in each phase since the trainer last logged them."""
        self.sampled_tokens = 0
        """Completion tokens since the trainer last logged them."""
        self.draws = (0, 0)
        """The step, and how often was sampled in it: with the seed, what decides the engine's noise."""

    def sample(self, prompts: Sequence[PromptRow]) -> RolloutGroups:
        """Sample and score a group of completions for every prompt."""
        generations = self._recipe.generations
        rows = [row for row in prompts for _ in range(generations)]
        with self._timed("generation"):
            messages = [as_messages(row.system, row.prompt) for row in rows]
            prompt_ids, *others = self._trainer._tokenize_prompts(messages)  # noqa: SLF001 - TRL's only way
            step, sampled = self._trainer.state.global_step, self.draws
            self.draws = (step, sampled[1] + 1 if sampled[0] == step else 1)
            completion_ids, log_probabilities = self.draw(rows, prompt_ids, others, generations)
        self.sampled_tokens += sum(map(len, completion_ids))
        with self._timed("reward"):
            completions = [self.read(ids) for ids in completion_ids]
            scored = self._score(rows, completions)
        truncated = [completion.stop_reason is StopReason.TOKEN_LIMIT for completion in completions]
        told: Sequence[list[float] | None] = log_probabilities or [None] * len(rows)
        parts = zip(
            rows, prompt_ids, completion_ids, told, scored, self._rewards.components(scored), truncated, strict=True
        )
        rollouts = [SampledRollout(*each) for each in parts]
        groups = [rollouts[start : start + generations] for start in range(0, len(rows), generations)]
        return RolloutGroups(groups, self._rewards.weights)

    def correct(self, sampled: RolloutGroups, answers: Mapping[int, str]) -> RolloutGroups:
        """Replace the completions at some places, counted over all groups, by texts that the policy could write.

        They are short enough, and allowed by its grammar.
        """
        tokenizer, guidance = self._tokenizer, self._trainer.guidance
        with self._timed("reward"):
            rollouts, given = sampled.rollouts, dict[int, list[int]]()
            for place, answer in answers.items():
                tokens = [*tokenizer.encode(answer, add_special_tokens=False), tokenizer.eos_token_id]
                allowed = guidance is None or guidance.writes(rollouts[place].row, tokens)
                if allowed and len(tokens) <= self._recipe.max_completion_tokens:
                    given[place] = tokens
            completions = [
                Completion(answers[place], len(tokens), StopReason.END_OF_TURN) for place, tokens in given.items()
            ]
            scored = self._score([rollouts[place].row for place in given], completions)
            for (place, ids), each, components in zip(
                given.items(), scored, self._rewards.components(scored), strict=True
            ):
                rollouts[place] = rollouts[place].with_answer(ids, each, components)
            left = iter(rollouts)
            return replace(sampled, groups=[[next(left) for _ in group] for group in sampled.groups])

    def read(self, ids: list[int]) -> Completion:
        """Read a completion's tokens; as in TRL, padding at the end counts as an end too."""
        return read_completion(ids, self._tokenizer, (*self._trainer.eos_token_ids, self._tokenizer.pad_token_id))

    @property
    def engine(self) -> Literal["ours", "transformers", "vllm"]:
        """Return what draws the completions."""
        if self._trainer.use_vllm:
            return "vllm"
        ours = engine_draws(self._trainer.model, stock=self._recipe.stock_generation)
        return "ours" if ours else "transformers"

    def draw(
        self, rows: Sequence[PromptRow], prompt_ids: list[list[int]], others: Sequence[Any], generations: int
    ) -> tuple[list[list[int]], list[list[float]] | None]:
        """Complete prompts, each as often in a row as it has generations, under their grammars.

        `others` is what TRL's tokenizer returns beside the prompts' tokens.
        """
        trainer = self._trainer
        with trainer.constrained(trainer.numbers_of(rows) if self.guided else None):
            if self.engine == "ours":
                return self._drawn(prompt_ids), None
            sample = trainer._generate_single_turn  # noqa: SLF001 - TRL's only way
            return sample(prompt_ids, *others, generations)  # type: ignore[no-any-return]

    def _drawn(self, prompt_ids: list[list[int]]) -> list[list[int]]:
        """Draw completions with our own engine, by the settings that TRL's would follow."""
        trainer, decoding = self._trainer, self._trainer.generation_config
        keys = keys_of(prompt_ids, trainer.args.seed, *self.draws)
        return Engine(trainer.accelerator.unwrap_model(trainer.model)).draw(
            prompt_ids,
            Sampled(keys, temperature=decoding.temperature, guide=trainer.guide()),
            most=decoding.max_new_tokens,
            least=decoding.min_new_tokens or 0,
            ends=trainer.eos_token_ids,
        )

    def _score(self, rows: Sequence[PromptRow], completions: Sequence[Completion]) -> list[ScoredRollout]:
        return score_beside(self._rewards.score(rows, completions), self._rewards.spec)

    @contextmanager
    def _timed(self, phase: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self.seconds[phase] += time.perf_counter() - started
