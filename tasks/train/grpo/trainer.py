"""TRL's GRPO trainer extended with chosen rollouts, other advantages and CPU support.

A step's rollouts are sampled, scored and chosen here, before TRL sees them; TRL then receives the chosen ones where it
would sample, and builds its usual batch and loss. `_compute_loss` is left alone: Unsloth replaces it. Import this
module after `unsloth` if that is the backend.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from statistics import fmean
from typing import Any, Final, NamedTuple

import torch
from torch import Tensor
from transformers import LogitsProcessorList, set_seed
from trl.trainer.utils import split_tensor_dict

from schemas.config.train import TrainConfig
from schemas.tables.prompts import PromptRow
from tasks.policy.generate import as_messages
from tasks.policy.guidance import GuidedLogits
from tasks.train.backend.cpu import CpuGRPOTrainer
from tasks.train.backend.packed import PackedUpdate
from tasks.train.backend.trainable import without_drift
from tasks.train.grpo.generator import RolloutGenerator, RolloutGuidance
from tasks.train.grpo.rewards import ComponentRewards
from tasks.train.grpo.rollouts import RolloutGroups, SampledRollout, before_shuffle, whole_batch
from tasks.train.grpo.sampling import RolloutSampler
from tasks.train.resume.resumable import copied_to_cpu

TOKEN_MEANS: Final = ("entropy", "clip_ratio/low_mean", "clip_ratio/high_mean", "clip_ratio/region_mean", "kl")
"""TRL's log entries that are token means of each forward pass."""
GRAMMARS: Final = "grammars"
"""Entry of a batch with the number of each completion's grammar, where rollouts are guided."""

OnRollouts = Callable[[int, Sequence[SampledRollout], Tensor | None], None]
"""Called with the step, its rollouts, and the advantage of each; None for rollouts that are not trained on."""


class _DivergenceSample(NamedTuple):
    """A few completions of one of the loss's passes."""

    ids: Tensor
    mask: Tensor
    learned: Tensor
    """1 for the tokens that the loss is of."""
    log_probabilities: Tensor
    grammars: Tensor | None


class CommerceGRPOTrainer(CpuGRPOTrainer):
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
        from datasets import Dataset

        # TRL uses its dataset only to count; the sampler draws the prompts.
        placeholder = Dataset.from_dict({"prompt": [as_messages("", "")] * len(rows)})
        super().__init__(reward_funcs=rewards.functions(), train_dataset=placeholder, **named)
        # Unsloth's constructor sets it to the right, and preflight and validation generate with the same tokenizer.
        self.processing_class.padding_side = "left"
        if self.use_vllm:
            # vLLM, in this process, seeds all of its generators with 0 at start, and draws tokens from them.
            set_seed(self.args.seed + self.accelerator.process_index)
        if self.use_vllm and recipe.backend == "transformers":
            self.vllm_generation.sync_weights = without_drift(self.model, self.vllm_generation.sync_weights)
        ours = recipe.backend == "transformers" and not self.use_vllm and not recipe.stock_update
        self._packed = PackedUpdate(self, wanted=ours)
        self._recipe = recipe
        self._rewards = rewards
        self.guidance: RolloutGuidance | None = None
        if recipe.guided != "none":
            vocabulary = self.model.get_output_embeddings().weight.shape[0]
            self.guidance = RolloutGuidance(recipe.guided, self.processing_class, vocabulary)
        self._grammars: Tensor | None = None
        self.rollout_generator = RolloutGenerator(self, recipe, rewards)
        self._sampler = RolloutSampler(recipe, rows, self.args.seed, self.rollout_generator)
        self._on_rollouts = on_rollouts
        self._chosen: list[SampledRollout] | None = None
        self._divergence_samples: list[_DivergenceSample] = []

    def state_dict(self) -> dict[str, Any]:
        """Return the sampler's state, the batch reused for further steps, and TRL's entropy controller."""
        updates = self._step // self.args.steps_per_generation % self.num_iterations
        batch = copied_to_cpu(self._buffered_inputs) if updates else None
        if batch is not None and self.guidance is not None:
            # In full: their numbers are this process's own.
            batch = [{**part, GRAMMARS: self.guidance.texts(part[GRAMMARS])} for part in batch]
        return {
            "sampler": self._sampler.state_dict(),
            "updates": updates,
            "batch": batch,
            "entropy": {"coefficient": self.entropy_coef, "last": self._last_world_entropy},
            # A resumed training goes on as it was: a packed row rounds otherwise.
            "packed": self._packed.is_on,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state`."""
        self._sampler.load_state_dict(state["sampler"])
        # Counted in passes, whose number per update grows if memory was too small.
        self._step = state["updates"] * self.args.steps_per_generation
        if state["batch"] is not None:
            whole = whole_batch(state["batch"])
            if self.guidance is not None:
                whole[GRAMMARS] = self.guidance.numbers_of(whole[GRAMMARS])
            self._buffered_inputs = split_tensor_dict(self._prepare_input(whole), self.args.steps_per_generation)
        self.entropy_coef = state["entropy"]["coefficient"]
        self._packed.is_on = self._packed.is_on and state.get("packed", True)
        self._last_world_entropy = state["entropy"]["last"]

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        """Choose the step's rollouts, let TRL build its batch from them, and complete their advantages."""
        step = self.state.global_step
        chosen, unused = self._sampler.choose(step)
        if self._on_rollouts is not None:
            self._on_rollouts(step + 1, unused, None)
        rollouts = chosen.rollouts
        self._rewards.set_batch([rollout.components for rollout in rollouts])
        self._chosen = rollouts
        grammars = self.numbers_of([rollout.row for rollout in rollouts])
        with self.constrained(grammars):
            try:
                output: dict[str, Any] = super()._generate_and_score_completions(
                    [{"prompt": as_messages(each.row.system, each.row.prompt)} for each in rollouts]
                )
            finally:
                self._chosen = None
            output["advantages"] = self._advantages(chosen, output)
        if grammars is not None:
            output[GRAMMARS] = grammars
        self._measure(chosen)
        if self._on_rollouts is not None:
            self._on_rollouts(step + 1, rollouts, output["advantages"])
        # TRL shuffles completions among the passes of a step; packed, groups are cheaper whole.
        return before_shuffle(output) if self._packed.is_on and self._recipe.accumulation > 1 else output

    def numbers_of(self, rows: Sequence[PromptRow]) -> Tensor | None:
        """Return the number of each row's grammar; None if nothing is guided."""
        return None if self.guidance is None else self.guidance.numbers(rows).to(self.accelerator.device)

    @contextmanager
    def constrained(self, grammars: Tensor | None) -> Iterator[None]:
        """Constrain the policy in the block, by the grammar of each completion: its sampling and its probabilities."""
        before, self._grammars = self._grammars, grammars
        try:
            yield
        finally:
            self._grammars = before

    def _generate_single_turn(
        self, prompt_ids: list[list[int]], *others: Any, **named: Any
    ) -> tuple[list[list[int]], list[list[float]] | None]:
        """Return the chosen completions to TRL; sample only if none are chosen yet."""
        if self._chosen is not None:
            ids = [rollout.completion_ids for rollout in self._chosen]
            told = [rollout.log_probabilities for rollout in self._chosen if rollout.log_probabilities is not None]
            return ids, told or None
        with self._guided_sampling():
            return super()._generate_single_turn(prompt_ids, *others, **named)  # type: ignore[no-any-return]

    def guide(self) -> GuidedLogits | None:
        """Return what guides the completions that begin now; None if nothing does."""
        if self.guidance is None or self._grammars is None:
            return None
        return self.guidance.logits_of(self._grammars)

    @contextmanager
    def _guided_sampling(self) -> Iterator[None]:
        """Hand the grammars to the model that TRL samples from; TRL itself has no argument for them."""
        guide = self.guide()
        if guide is None:
            yield
            return
        model = self.accelerator.unwrap_model(self.model_wrapped)
        model.generate = partial(model.generate, logits_processor=LogitsProcessorList([guide]))
        try:
            yield
        finally:
            del model.generate

    def _advantages(self, chosen: RolloutGroups, output: Mapping[str, Any]) -> Tensor:
        """Return the advantages, (completions,), weighed by task where the recipe says so."""
        values: Tensor = output["advantages"]
        if self._recipe.task_weights.applies_to != "loss":
            return values
        weights = self._sampler.loss_weights()
        return values * torch.tensor([weights[each.row.task] for each in chosen.rollouts], device=values.device)

    def _measure(self, chosen: RolloutGroups) -> None:
        """Log metrics of the step's rollouts; rewards are the policy's own."""
        metrics = self._metrics["train"]
        own = chosen.own_rewards()
        for task, reward in own.items():
            metrics[f"reward/{task}"].append(reward)
        # TRL's own metrics include the substituted reference answers.
        mine = [rollout for rollout in chosen.rollouts if not rollout.corrected]
        metrics["reward"][-1] = fmean(rollout.scored.reward for rollout in mine)
        metrics["completions/clipped_ratio"][-1] = fmean(rollout.truncated for rollout in mine)
        # Under GDPO this is of the whole batch, and never 1; `zero_variance` is of groups.
        del metrics["frac_reward_zero_std"]
        flat = [spread < self._recipe.dynamic_sampling.min_spread for spread in chosen.spreads(own=True)]
        metrics["zero_variance"].append(fmean(flat))
        for task in own:
            of_task = [same for same, row in zip(flat, chosen.rows, strict=True) if row.task == task]
            metrics[f"zero_variance/{task}"].append(fmean(of_task))
        metrics["sampling/corrected"].append(fmean(rollout.corrected for rollout in chosen.rollouts))
        for name, value in self._sampler.figures().items():
            metrics[name].append(value)
        generator = self.rollout_generator
        metrics["sampling/tokens_per_second"].append(
            generator.sampled_tokens / max(generator.seconds["generation"], 1e-9)
        )
        generator.sampled_tokens = 0

    def compute_loss(self, model: Any, inputs: dict[str, Any], *others: Any, **named: Any) -> Tensor:
        """Compute TRL's loss; a pass with only masked completions is not measured, where TRL would log zeros."""
        with self.constrained(inputs.get(GRAMMARS)):
            loss: Tensor = super().compute_loss(model, inputs, *others, **named)
        if not self.beta:
            # Without a reference policy Unsloth logs a divergence of 0 that it has not measured.
            self._metrics["train"].pop("kl", None)
        if not inputs["completion_mask"].any():
            for name in TOKEN_MEANS:
                if self._metrics["train"].get(name):
                    self._metrics["train"][name].pop()
        return loss

    def training_step(self, *arguments: Any, **named: Any) -> Tensor:
        """Take TRL's step, and log the time of each phase."""
        loss: Tensor = super().training_step(*arguments, **named)
        if self._current_train_step_time == 0.0:
            self._estimate_divergence()
            whole = self._metrics["train"]["step_time"][-1]
            spent = self.rollout_generator.seconds
            for name, seconds in spent.items():
                self._metrics["train"][f"seconds/{name}"].append(seconds)
            self._metrics["train"]["seconds/update"].append(whole - sum(spent.values()))
            self.rollout_generator.seconds = dict.fromkeys(spent, 0.0)
        return loss

    def _estimate_divergence(self) -> None:
        """Log the policy's divergence from the base where no KL penalty does: Schulman's k3, over a few completions.

        A whole batch would cost a third of the update.
        """
        samples, self._divergence_samples = self._divergence_samples, []
        found = torch.zeros(2, device=self.accelerator.device)
        base = self.accelerator.unwrap_model(self.model)
        for ids, mask, learned, log_probabilities, grammars in samples:
            with torch.no_grad(), base.disable_adapter(), self.constrained(grammars):
                reference = self._get_per_token_logps_and_entropies(self.model, ids, mask, log_probabilities.size(1))[0]
            ratio = reference - log_probabilities
            found += torch.stack([((ratio.exp() - ratio - 1) * learned).sum(), learned.sum()])
        divergence, tokens = found
        if tokens:
            self._metrics["train"]["kl"].append((divergence / tokens).item())

    def _sample_for_divergence(
        self, ids: Tensor, mask: Tensor, log_probabilities: Tensor, grammars: Tensor | None
    ) -> None:
        """Keep a few of a pass's completions, apart from each other: in all of a step as many as it has prompts."""
        wanted, passes = self._recipe.prompts_per_step, self._recipe.accumulation
        learned = mask[:, -log_probabilities.size(1) :]
        written = learned.any(dim=1).nonzero().squeeze(1)
        if not len(written) or self._step % max(passes // wanted, 1):
            return
        count = max(wanted // passes, 1)
        few = written[:: max(len(written) // count, 1)][:count]
        self._divergence_samples.append(
            _DivergenceSample(
                ids[few], mask[few], learned[few], log_probabilities[few], None if grammars is None else grammars[few]
            )
        )

    def _get_per_token_logps_and_entropies(
        self, model: Any, input_ids: Tensor, attention_mask: Tensor, logits_to_keep: int, *others: Any, **named: Any
    ) -> tuple[Any, ...]:
        """Compute log-probabilities of the completion tokens, and keep a few of the loss's for the divergence."""
        guidance, grammars, rows = self.guidance, self._grammars, (input_ids, attention_mask, logits_to_keep)
        if guidance is not None and grammars is not None:
            ids, mask = input_ids[:, -logits_to_keep:], attention_mask[:, -logits_to_keep:]
            named["allowed"] = lambda of: guidance.allowed(grammars[of], ids[of], mask[of])

        found = self._packed.scores(model, *rows, *others, **named)
        if found is None and "allowed" in named:
            # TRL's fused kernel never holds whole logits, of which some could be forbidden.
            with self.accelerator.autocast():
                found = self._by_whole_logits(model, *rows, *others, **named)
        elif found is None:
            found = super()._get_per_token_logps_and_entropies(model, *rows, *others, **named)
        if not self.beta and found[0] is not None and found[0].requires_grad:
            self._sample_for_divergence(input_ids, attention_mask, found[0].detach(), grammars)
        return found
