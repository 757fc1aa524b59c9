"""Generation of rollouts with our engine, transformers or vLLM: prompts in, scored groups of completions out.

With `train.guided` rollouts are drawn from the constrained policy,

    c(token | before) = p(token | before) / Z(before),    Z(before) = sum of p over the tokens that may follow,

where p is the model at the sampling temperature, and c is 0 for every other token. The loss is of c throughout: the new
and the old log-probabilities and so their ratio, those of the reference policy and so the KL penalty, and the entropy
of the bonus and of EDGE's factors. Forbidden logits are minus infinity before the log-softmax, as in the engine.

The log-probabilities of p would be wrong, since log p = log c + log Z. The gradient of log Z moves mass between allowed
and forbidden tokens: it changes nothing that is ever sampled, and where advantages are positive it may make up most of
the step. And p / c, the ratio to the policy that sampled, is Z, below 1 before the first update.

A token that is the only one allowed has log-probability and entropy 0, and no gradient: the grammar writes it, and the
policy learns nothing of it. Without the grammar the tuned model is another policy: serve it guided.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import torch

from schemas.config.train import TrainConfig
from schemas.documents import ScoredRollout
from schemas.tables.prompts import PromptRow
from schemas.tasks import Guided
from tasks.commerce.registry import grammar_of, grammars, score_beside
from tasks.policy.engine import Engine
from tasks.policy.generate import Completion, StopReason, as_messages, read_completion
from tasks.policy.guidance import GuidedLogits, Sampled, grammars_of, keys_of
from tasks.policy.unpacked import engine_draws
from tasks.train.grpo.rewards import ComponentRewards
from tasks.train.grpo.rollouts import RolloutGroups, SampledRollout

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


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
            parts = self._rewards.components(scored)
            for (place, ids), each, components in zip(given.items(), scored, parts, strict=True):
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
        return "ours" if engine_draws(self._trainer.model, stock=self._recipe.stock_generation) else "transformers"

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


class RolloutGuidance:
    """Grammars of the prompts, by numbers that travel with a batch."""

    def __init__(self, guided: Guided, tokenizer: "PreTrainedTokenizerBase", vocabulary: int) -> None:
        self._guided = guided
        self._grammars = grammars_of(tokenizer, vocabulary)
        # Number -1 allows all.
        self._numbers = {"": -1} | {text: number for number, text in enumerate(grammars(guided).values())}
        self._texts = {number: text for text, number in self._numbers.items()}
        for text in filter(None, self._numbers):
            self._grammars.start(text)

    def numbers(self, rows: Sequence[PromptRow]) -> torch.Tensor:
        """Return the number of the grammar of each prompt, (rows,); a new grammar gets the next one."""
        return self.numbers_of([self._grammar(row) for row in rows])

    def numbers_of(self, texts: Sequence[str]) -> torch.Tensor:
        """Return the number of each grammar, (rows,)."""
        return torch.tensor([self._number(text) for text in texts])

    def texts(self, numbers: torch.Tensor) -> list[str]:
        """Return the grammars of some numbers."""
        return [self._texts[number] for number in numbers.tolist()]

    def _number(self, grammar: str) -> int:
        number = self._numbers.setdefault(grammar, len(self._numbers) - 1)
        self._texts[number] = grammar
        return number

    def _grammar(self, row: PromptRow) -> str:
        return grammar_of(row.task, row.prompt, self._guided)

    def writes(self, row: PromptRow, tokens: Sequence[int]) -> bool:
        """Return whether the constrained policy may write an answer to a prompt, end included."""
        return self._grammars.writes(self._grammar(row), tokens)

    def logits_of(self, numbers: torch.Tensor) -> GuidedLogits:
        """Return what guides the sampling of a batch, one answer for each number."""
        return GuidedLogits(self._grammars, self.texts(numbers))

    def allowed(self, numbers: torch.Tensor, completion_ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Return the tokens that may stand at each place of some completions, (rows, tokens, vocabulary)."""
        lengths = mask.sum(dim=1).tolist()
        rows = zip(numbers.tolist(), completion_ids.tolist(), lengths, strict=True)
        found = self._grammars.of_answers([(self._texts[number], ids[:length]) for number, ids, length in rows])
        return torch.nn.functional.pad(found, (0, 0, 0, mask.size(1) - found.size(1)), value=True).to(mask.device)
