"""TRL's GRPO trainer with what it lacks: rollouts that are chosen, other advantages, a CPU.

A step's rollouts are sampled, scored and chosen here, before TRL sees them; TRL is then handed the chosen ones where it
would sample, and makes of them the batch and the loss that it always makes. `_compute_loss` is left alone: Unsloth
replaces it. Import this module after `unsloth` where that is the backend.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import fmean
from typing import Any, Final

import torch
from accelerate.utils import send_to_device
from trl.trainer.utils import split_tensor_dict

from schemas.prompts import PromptRow
from schemas.train_config import TrainConfig
from tasks.policy.generate import Completion, StopReason, as_messages, read_completion
from tasks.train.advantages import blockwise_advantages, entropy_scale, median_advantages
from tasks.train.backend import without_drift
from tasks.train.blocks import blocks_by_token, blocks_of
from tasks.train.portable import PortableTrainer
from tasks.train.resumable import copied_to_cpu
from tasks.train.rewards import ComponentRewards
from tasks.train.rollouts import Rollouts
from tasks.train.sampling import RolloutSampler

TOKEN_MEANS: Final = ("entropy", "clip_ratio/low_mean", "clip_ratio/high_mean", "clip_ratio/region_mean", "kl")
"""What TRL logs of each forward pass as a mean over its tokens."""

OnRollouts = Callable[[int, Rollouts, torch.Tensor | None], None]
"""Told the step, its rollouts, and the advantage of each: the mean over its tokens where they have their own, and None
of rollouts that were sampled and are not trained on."""


class PolicyTrainer(PortableTrainer):
    """GRPO on commerce prompts."""

    def __init__(
        self,
        recipe: TrainConfig,
        rows: Sequence[PromptRow],
        rewards: ComponentRewards,
        *,
        on_rollouts: OnRollouts | None = None,
        **named: Any,
    ) -> None:
        """Prepare to train.

        Args:
            recipe: The recipe; TRL's own part of it comes as `args`.
            rows: The training prompts.
            rewards: What completions earn.
            on_rollouts: Told about all rollouts, also those that are not trained on.
            **named: TRL's arguments: `model`, `args`, `processing_class`, `peft_config`, `callbacks`.
        """
        from datasets import Dataset

        # TRL only counts with its dataset; the sampler draws the prompts.
        placeholder = Dataset.from_dict({"prompt": [as_messages("", "")] * len(rows)})
        super().__init__(reward_funcs=rewards.functions(), train_dataset=placeholder, **named)
        if self.use_vllm and recipe.backend == "transformers":
            self.vllm_generation.sync_weights = without_drift(self.model, self.vllm_generation.sync_weights)
        self._recipe = recipe
        self._rewards = rewards
        self._sampler = RolloutSampler(recipe, rows, self.args.seed)
        self._on_rollouts = on_rollouts
        self._chosen: Rollouts | None = None
        self._seconds = {"generation": 0.0, "reward": 0.0}
        self._sampled_tokens = 0
        self._divergence_sample: tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None = None

    def state_dict(self) -> dict[str, Any]:
        """Return where the sampling stands, the batch that more steps are taken on, and TRL's entropy controller."""
        updates = self._step // self.args.steps_per_generation % self.num_iterations
        return {
            "sampler": self._sampler.state_dict(),
            "updates": updates,
            "batch": copied_to_cpu(self._buffered_inputs) if updates else None,
            "entropy": {"coefficient": self.entropy_coef, "last": self._last_world_entropy},
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Go on from where `state` was taken."""
        self._sampler.load_state_dict(state["sampler"])
        # Counted in passes, of which the same update may have more now, where memory had been too small.
        self._step = state["updates"] * self.args.steps_per_generation
        if state["batch"] is not None:
            batch = send_to_device(_whole(state["batch"]), self.accelerator.device)
            self._buffered_inputs = split_tensor_dict(batch, self.args.steps_per_generation)
        self.entropy_coef = state["entropy"]["coefficient"]
        self._last_world_entropy = state["entropy"]["last"]

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        """Choose the step's rollouts, let TRL make its batch of them, and finish their advantages."""
        chosen = self._sampler.choose(self.state.global_step, self._sample, self._correct, self._tell_unused)
        self._rewards.deal(chosen.rewards.tolist())
        self._chosen = chosen
        try:
            output: dict[str, Any] = super()._generate_and_score_completions(
                [{"prompt": as_messages(row.system, row.prompt)} for row in chosen.rows]
            )
        finally:
            self._chosen = None
        output["advantages"] = self._advantages(chosen, output)
        self._measure(chosen)
        if self._on_rollouts is not None:
            self._on_rollouts(self.state.global_step + 1, chosen, _by_rollout(output))
        return output

    def _tell_unused(self, rollouts: Rollouts) -> None:
        if self._on_rollouts is not None and rollouts.rows:
            self._on_rollouts(self.state.global_step + 1, rollouts, None)

    def _generate_single_turn(
        self, prompt_ids: list[list[int]], *others: Any, **named: Any
    ) -> tuple[list[list[int]], list[list[float]] | None]:
        """Hand TRL the chosen completions; sample only where none are chosen yet."""
        if self._chosen is None:
            return super()._generate_single_turn(prompt_ids, *others, **named)  # type: ignore[no-any-return]
        return self._chosen.completion_ids, self._chosen.log_probabilities

    def _sample(self, prompts: Sequence[PromptRow], limit: int) -> Rollouts:
        """Sample and score a group of completions, of at most so many tokens each, for every prompt."""
        generations = self._recipe.generations
        rows = [row for row in prompts for _ in range(generations)]
        with self._timed("generation"):
            self._limit_completions(limit)
            prompt_ids, images, fields = self._tokenize_prompts([as_messages(row.system, row.prompt) for row in rows])
            completion_ids, log_probabilities = self._generate_single_turn(prompt_ids, images, fields, generations)
        self._sampled_tokens += sum(map(len, completion_ids))
        with self._timed("reward"):
            completions = [self._read(ids) for ids in completion_ids]
            scored = self._rewards.score(rows, completions)
            rewards = self._components(self._rewards.components(scored))
        return Rollouts(
            rows=rows,
            prompt_ids=prompt_ids,
            completion_ids=completion_ids,
            log_probabilities=log_probabilities,
            scored=scored,
            rewards=rewards,
            weights=self._rewards.weights,
            truncated=[completion.stop_reason is StopReason.TOKEN_LIMIT for completion in completions],
            corrected=[False] * len(rows),
            generations=generations,
        )

    def _correct(self, rollouts: Rollouts, answers: Mapping[int, str], limit: int) -> Rollouts:
        """Put right answers in the place of some completions, as far as they are short enough, and score them."""
        with self._timed("reward"):
            encoded = {
                place: [*self._tokenizer.encode(answer, add_special_tokens=False), self._tokenizer.eos_token_id]
                for place, answer in answers.items()
            }
            places = [place for place, tokens in encoded.items() if len(tokens) <= limit]
            if not places:
                return rollouts
            ids = [encoded[place] for place in places]
            scored = self._rewards.score(
                [rollouts.rows[place] for place in places],
                [Completion(answers[place], len(ids[n]), StopReason.END_OF_TURN) for n, place in enumerate(places)],
            )
            return rollouts.with_answers(places, ids, scored, self._components(self._rewards.components(scored)))

    def _components(self, components: list[list[float]]) -> torch.Tensor:
        return torch.tensor(components, device=self.accelerator.device)

    def _limit_completions(self, limit: int) -> None:
        # The loss keeps the recipe's longest completion as its divisor, whatever the curriculum allows now.
        if self.use_vllm:
            self.vllm_generation.max_completion_length = limit
        else:
            self.generation_config.max_new_tokens = limit

    def _read(self, ids: list[int]) -> Completion:
        # As TRL has it: padding at the end is an end too.
        return read_completion(ids, self._tokenizer, (*self.eos_token_ids, self._tokenizer.pad_token_id))

    def _advantages(self, chosen: Rollouts, output: Mapping[str, Any]) -> torch.Tensor:
        """Return the advantages, (completions,) or (completions, tokens), with all that the recipe has switched on."""
        recipe = self._recipe
        advantages: torch.Tensor = output["advantages"]
        if recipe.baseline == "median":
            advantages = median_advantages(chosen.totals(), recipe.generations)
        if recipe.block_advantages:
            advantages = self._block_advantages(chosen, advantages, output["completion_ids"].size(1))
        factors = torch.ones(len(chosen.rows), device=advantages.device)
        if weights := self._sampler.loss_weights():
            factors = factors * factors.new_tensor([weights[row.task] for row in chosen.rows])
        if recipe.entropy_advantages:
            factors = factors * self._entropy_factors(output)
        return advantages * (factors if advantages.dim() == 1 else factors.unsqueeze(1))

    def _block_advantages(self, chosen: Rollouts, advantages: torch.Tensor, width: int) -> torch.Tensor:
        blocks = [blocks_of(rollout) for rollout in chosen.scored]
        of_tokens = torch.full((len(blocks), width), -1, dtype=torch.long, device=advantages.device)
        for row, (ids, found) in enumerate(zip(chosen.completion_ids, blocks, strict=True)):
            of_tokens[row, : len(ids)] = of_tokens.new_tensor(blocks_by_token(self._tokenizer, ids, found))
        return blockwise_advantages(blocks, of_tokens, advantages, self._recipe.generations)

    def _entropy_factors(self, output: Mapping[str, Any]) -> torch.Tensor:
        ids = torch.cat([output["prompt_ids"], output["completion_ids"]], dim=1)
        mask = torch.cat([output["prompt_mask"], output["completion_mask"]], dim=1)
        with torch.no_grad():
            entropies = self._get_per_token_logps_and_entropies(
                self.model,
                ids,
                mask,
                output["completion_ids"].size(1),
                batch_size=self.args.per_device_train_batch_size,
                compute_entropy=True,
            )[1]
        return entropy_scale(entropies, output["completion_mask"])

    def _measure(self, chosen: Rollouts) -> None:
        """Log what the step's rollouts are like; of rewards, what the policy itself earned."""
        metrics = self._metrics["train"]
        own = chosen.own_rewards()
        for task, reward in own.items():
            metrics[f"reward/{task}"].append(reward)
        # TRL's own figures count the right answers that the policy was given.
        earned, cut = [], []
        for rollout, truncated, given in zip(chosen.scored, chosen.truncated, chosen.corrected, strict=True):
            if not given:
                earned.append(rollout.reward)
                cut.append(truncated)
        metrics["reward"][-1] = fmean(earned)
        metrics["completions/clipped_ratio"][-1] = fmean(cut)
        # Under GDPO this is of the whole batch, and never 1; `zero_variance` is of groups.
        del metrics["frac_reward_zero_std"]
        flat = [spread < self._recipe.dynamic_sampling.min_spread for spread in chosen.group_spreads(own=True)]
        metrics["zero_variance"].append(fmean(flat))
        for task in own:
            of_task = [same for same, row in zip(flat, chosen.group_rows, strict=True) if row.task == task]
            metrics[f"zero_variance/{task}"].append(fmean(of_task))
        metrics["sampling/corrected"].append(fmean(chosen.corrected))
        for name, value in self._sampler.figures().items():
            metrics[name].append(value)
        metrics["sampling/tokens_per_second"].append(self._sampled_tokens / max(self._seconds["generation"], 1e-9))
        self._sampled_tokens = 0

    def compute_loss(self, model: Any, inputs: dict[str, Any], *others: Any, **named: Any) -> torch.Tensor:
        """Compute TRL's loss; a pass whose completions are all masked measures nothing, where TRL would log zeros."""
        loss: torch.Tensor = super().compute_loss(model, inputs, *others, **named)
        if not inputs["completion_mask"].any():
            for name in TOKEN_MEANS:
                if self._metrics["train"].get(name):
                    self._metrics["train"][name].pop()
        return loss

    def training_step(self, *arguments: Any, **named: Any) -> torch.Tensor:
        """Take TRL's step, and tell what of its time went where."""
        loss: torch.Tensor = super().training_step(*arguments, **named)
        if self._current_train_step_time == 0.0:
            self._estimate_divergence()
            whole = self._metrics["train"]["step_time"][-1]
            for name, seconds in self._seconds.items():
                self._metrics["train"][f"seconds/{name}"].append(seconds)
            self._metrics["train"]["seconds/update"].append(whole - sum(self._seconds.values()))
            self._seconds = dict.fromkeys(self._seconds, 0.0)
        return loss

    def _estimate_divergence(self) -> None:
        """Log how far the policy is from the base, where no KL penalty tells: k3 of Schulman, over a few completions.

        A whole batch would cost a third of the update.
        """
        if self._divergence_sample is None:
            return
        ids, mask, log_probabilities = self._divergence_sample
        self._divergence_sample = None
        completion = mask[:, -log_probabilities.size(1) :]
        with torch.no_grad(), self.accelerator.unwrap_model(self.model).disable_adapter():
            reference = self._get_per_token_logps_and_entropies(self.model, ids, mask, log_probabilities.size(1))[0]
        ratio = reference - log_probabilities
        divergence = (ratio.exp() - ratio - 1) * completion
        self._metrics["train"]["kl"].append((divergence.sum() / completion.sum().clamp(min=1)).item())

    @contextmanager
    def _timed(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        yield
        self._seconds[name] += time.perf_counter() - started

    def _get_per_token_logps_and_entropies(
        self,
        model: torch.nn.Module,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        logits_to_keep: int,
        *others: Any,
        **named: Any,
    ) -> tuple[Any, ...]:
        """Compute log-probabilities of the completion tokens, and keep a few of the loss's to look at."""
        found = super()._get_per_token_logps_and_entropies(
            model, input_ids, attention_mask, logits_to_keep, *others, **named
        )
        if not self.beta and found[0] is not None and found[0].requires_grad:
            written = attention_mask[:, -logits_to_keep:].any(dim=1).nonzero().squeeze(1)
            few = written[: self._recipe.prompts_per_step]
            if len(few):
                self._divergence_sample = (input_ids[few], attention_mask[few], found[0][few].detach())
        return found


def _whole(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a batch as it was before TRL split it for its passes."""

    def joined(name: str, value: Any) -> Any:
        if isinstance(value, list):
            return [item for part in parts for item in part[name]]
        return torch.cat([part[name] for part in parts]) if torch.is_tensor(value) and value.dim() else value

    return {name: joined(name, value) for name, value in parts[0].items()}


def _by_rollout(output: Mapping[str, Any]) -> torch.Tensor:
    """Return one advantage for each rollout: the mean over its tokens where they have their own."""
    advantages: torch.Tensor = output["advantages"]
    mask: torch.Tensor = output["completion_mask"]
    if advantages.dim() == 1:
        return advantages
    return (advantages * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)
