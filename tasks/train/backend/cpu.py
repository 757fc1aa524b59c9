"""TRL's GRPO trainer as it is, but that it trains on a CPU too."""

from typing import Any

import torch
from trl import GRPOTrainer

from tasks.train.resumable import ResumableTrainer


def hold_adapter_in_full_precision(trainer: Any) -> None:
    """Make a trainer's adapter float32 on a CPU: TRL keeps that of a quantized model in bfloat16, emulated there."""
    if trainer.accelerator.device.type == "cpu":
        for parameter in trainer.model.parameters():
            if parameter.requires_grad:
                parameter.data = parameter.data.float()


class PortableTrainer(ResumableTrainer, GRPOTrainer):  # type: ignore[misc]
    """GRPO as TRL has it, on any device: its fused kernel for log-probabilities needs Triton, and so a GPU."""

    def __init__(self, **named: Any) -> None:
        """Prepare to train; the arguments are TRL's."""
        super().__init__(**named)
        hold_adapter_in_full_precision(self)

    def _get_per_token_logps_and_entropies(
        self,
        model: torch.nn.Module,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        logits_to_keep: int,
        *others: Any,
        **named: Any,
    ) -> tuple[Any, ...]:
        """Compute log-probabilities of the completion tokens, (rows, logits_to_keep).

        Unsloth's version has more arguments than TRL's, and may leave its results to its loss.
        """
        if input_ids.device.type != "cpu":
            return super()._get_per_token_logps_and_entropies(  # type: ignore[no-any-return]
                model, input_ids, attention_mask, logits_to_keep, *others, **named
            )
        return self._on_cpu(model, input_ids, attention_mask, logits_to_keep, *others, **named)

    def _on_cpu(
        self,
        model: torch.nn.Module,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        logits_to_keep: int,
        batch_size: int | None = None,
        compute_entropy: bool = False,
        **_: Any,
    ) -> tuple[torch.Tensor, torch.Tensor | None, None]:
        log_probabilities, entropies = [], []
        size = batch_size or input_ids.shape[0]
        # An entropy that is only looked at needs no gradient, and is most of the work of one.
        learns_entropy = torch.is_grad_enabled() and self._entropy_bonus_enabled
        for ids, mask in zip(torch.split(input_ids, size), torch.split(attention_mask, size), strict=True):
            logits = model(input_ids=ids, attention_mask=mask, logits_to_keep=logits_to_keep + 1).logits
            by_token = torch.log_softmax(logits[:, :-1] / self.temperature, dim=-1)
            chosen = ids[:, -logits_to_keep:].unsqueeze(-1)
            log_probabilities.append(by_token.gather(-1, chosen).squeeze(-1))
            if compute_entropy:
                with torch.set_grad_enabled(learns_entropy):
                    entropies.append(-(by_token.exp() * by_token).sum(-1))
        return torch.cat(log_probabilities), torch.cat(entropies) if compute_entropy else None, None
