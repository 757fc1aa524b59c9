"""Supervised fine-tuning of the stand-in on a CPU."""

from typing import Any

import torch
from trl import SFTTrainer

from tasks.train.backend.plain_head import IGNORED_LABEL


class WarmStartTrainer(SFTTrainer):  # type: ignore[misc]
    """Supervised fine-tuning of the stand-in: the mean negative log-likelihood of the completion tokens."""

    def compute_loss(
        self,
        model: Any,
        inputs: dict[str, torch.Tensor],
        return_outputs: bool = False,
        num_items_in_batch: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Project to the vocabulary only where there is a loss; prompts are most of the tokens."""
        states = model.model(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).last_hidden_state
        wanted = inputs["labels"][:, 1:]
        learned = wanted != IGNORED_LABEL
        logits = model.lm_head(states[:, :-1][learned])
        loss = torch.nn.functional.cross_entropy(logits, wanted[learned])
        # The Trainer sums the parts of a step as they are, each a share of all its tokens.
        return loss if num_items_in_batch is None else loss * (learned.sum() / num_items_in_batch)
