"""TRL's trainers with what they lack on a CPU, where there is no Triton for their fused kernels, and on resume."""

from collections.abc import Iterator
from typing import Any

import torch
from torch.utils.data import Sampler
from trl import GRPOTrainer, SFTTrainer
from trl.trainer.utils import RepeatSampler

IGNORED_LABEL = -100


class EpochSampler(RepeatSampler):  # type: ignore[misc]
    """TRL's sampler, with each epoch's order drawn from (seed, epoch).

    TRL's own continues one generator, which a resumed run starts anew: it would replay epoch 0's order.
    """

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch whose order is drawn next; the Trainer calls this before each epoch."""
        self.generator.manual_seed(self.seed + epoch)

    def __iter__(self) -> Iterator[int]:
        return super().__iter__()  # type: ignore[no-any-return]


class PolicyTrainer(GRPOTrainer):  # type: ignore[misc]
    """GRPO that trains on a CPU as on a GPU and resumes in any epoch."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        if self.accelerator.device.type == "cpu":
            # TRL keeps the adapter of a quantized model in bfloat16, which a CPU only emulates.
            for parameter in self.model.parameters():
                if parameter.requires_grad:
                    parameter.data = parameter.data.float()

    def _get_train_sampler(self, dataset: Any = None) -> "Sampler[int]":
        sampler = super()._get_train_sampler(dataset)
        return EpochSampler(
            data_source=sampler.data_source,
            mini_repeat_count=sampler.mini_repeat_count,
            batch_size=sampler.batch_size,
            repeat_count=sampler.repeat_count,
            shuffle=sampler.shuffle,
            seed=sampler.seed,
        )

    def _get_per_token_logps_and_entropies(
        self,
        model: torch.nn.Module,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        logits_to_keep: int,
        batch_size: int | None = None,
        compute_entropy: bool = False,
        **others: Any,
    ) -> tuple[torch.Tensor, torch.Tensor | None, torch.Tensor | None]:
        """Compute log-probabilities of the completion tokens; shapes (rows, logits_to_keep).

        TRL's own calls a fused kernel that needs Triton, which there is only on a GPU.
        """
        if input_ids.device.type != "cpu":
            return super()._get_per_token_logps_and_entropies(  # type: ignore[no-any-return]
                model, input_ids, attention_mask, logits_to_keep, batch_size, compute_entropy, **others
            )
        log_probabilities, entropies = [], []
        size = batch_size or input_ids.shape[0]
        for ids, mask in zip(torch.split(input_ids, size), torch.split(attention_mask, size), strict=True):
            logits = model(input_ids=ids, attention_mask=mask, logits_to_keep=logits_to_keep + 1).logits
            by_token = torch.log_softmax(logits[:, :-1] / self.temperature, dim=-1)
            chosen = ids[:, -logits_to_keep:].unsqueeze(-1)
            log_probabilities.append(by_token.gather(-1, chosen).squeeze(-1))
            if compute_entropy:
                with torch.no_grad():
                    entropies.append(-(by_token.exp() * by_token).sum(-1))
        return torch.cat(log_probabilities), torch.cat(entropies) if compute_entropy else None, None


class WarmStartTrainer(SFTTrainer):  # type: ignore[misc]
    """Supervised fine-tuning of the stand-in: the mean negative log-likelihood of the completion tokens."""

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, torch.Tensor],
        return_outputs: bool = False,
        num_items_in_batch: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Project to the vocabulary only where there is something to learn; prompts are most of the tokens."""
        states = model.model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).last_hidden_state
        wanted = inputs["labels"][:, 1:]
        learned = wanted != IGNORED_LABEL
        logits = model.lm_head(states[:, :-1][learned])
        return torch.nn.functional.cross_entropy(logits, wanted[learned])
