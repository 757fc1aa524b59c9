"""TRL's trainers, made to train on a CPU too, which lacks the Triton of their kernels."""

from collections.abc import Callable
from typing import Any, Final

import torch
from torch import Tensor
from trl import GRPOTrainer

from tasks.train.resume.resumable import ResumableTrainer

IGNORED_LABEL: Final = -100  # Label of a token without loss, in all of transformers.


def keep_adapter_in_float32(model: torch.nn.Module) -> None:
    """Undo TRL's cast of a quantized model's adapter to bfloat16, in which most small updates round away.

    With 8 bits of mantissa a weight near 0.02 has steps of 6e-5 to 1e-4, and AdamW at a learning rate of 5e-6 moves it
    by 5e-6: nearly every update would be lost.
    """
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.float()


def checkpoint_gradients(trainer: Any) -> None:
    """Enable gradient checkpointing if the arguments ask for it; a Trainer does so only when its training begins.

    Without this the preflight would run, and measure the memory of, a step without it.
    """
    if trainer.args.gradient_checkpointing:
        trainer.model.gradient_checkpointing_enable(trainer.args.gradient_checkpointing_kwargs)


class CpuGRPOTrainer(ResumableTrainer, GRPOTrainer):  # type: ignore[misc]
    """TRL's GRPO on any device: its fused kernel for log-probabilities needs Triton, and so a GPU."""

    def __init__(self, **named: Any) -> None:
        super().__init__(**named)
        keep_adapter_in_float32(self.model)
        checkpoint_gradients(self)

    def _get_per_token_logps_and_entropies(
        self, model: torch.nn.Module, input_ids: Tensor, *others: Any, **named: Any
    ) -> tuple[Any, ...]:
        """Compute log-probabilities of the completion tokens, (rows, logits_to_keep).

        Unsloth's version has more arguments than TRL's, and may leave the results to its loss.
        """
        if input_ids.device.type != "cpu":
            compute = super()._get_per_token_logps_and_entropies
            return compute(model, input_ids, *others, **named)  # type: ignore[no-any-return]
        return self._by_whole_logits(model, input_ids, *others, **named)

    def _by_whole_logits(
        self,
        model: torch.nn.Module,
        input_ids: Tensor,
        attention_mask: Tensor,
        logits_to_keep: int,
        batch_size: int | None = None,
        compute_entropy: bool = False,
        allowed: Callable[[slice], Tensor] | None = None,
        **_: Any,
    ) -> tuple[Tensor, Tensor | None, None]:
        """Compute the same in plain torch, from logits that are whole in memory.

        `allowed` returns the tokens that may stand at each place of some rows' completions, (rows, logits_to_keep,
        vocabulary); all others have no probability. All may where it is not given.
        """
        log_probabilities, entropies = [], []
        size = batch_size or input_ids.shape[0]
        for start in range(0, input_ids.shape[0], size):
            rows = slice(start, start + size)
            ids, mask = input_ids[rows], attention_mask[rows]
            logits = model(input_ids=ids, attention_mask=mask, logits_to_keep=logits_to_keep + 1).logits[:, :-1]
            found, entropy = token_scores(
                logits,
                ids[:, -logits_to_keep:],
                self.temperature,
                forbidden=None if allowed is None else ~allowed(rows),
                compute_entropy=compute_entropy,
                learn_entropy=self._entropy_bonus_enabled,
            )
            log_probabilities.append(found)
            if entropy is not None:
                entropies.append(entropy)
        return torch.cat(log_probabilities), torch.cat(entropies) if entropies else None, None


def token_scores(
    logits: Tensor,
    tokens: Tensor,
    temperature: float,
    *,
    forbidden: Tensor | None = None,
    compute_entropy: bool = False,
    learn_entropy: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Return the log-probability of each token, (...), and the entropy of its distribution if wanted.

    Logits and forbidden tokens are (..., vocabulary). An entropy that is only logged needs no gradient, which would be
    most of its work.
    """
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    if temperature != 1:
        logits = logits / temperature
    if forbidden is not None:
        logits = logits.masked_fill(forbidden, float("-inf"))
    by_token = torch.log_softmax(logits, dim=-1)
    found = by_token.gather(-1, tokens.unsqueeze(-1)).squeeze(-1)
    if not compute_entropy:
        return found, None
    with torch.set_grad_enabled(torch.is_grad_enabled() and learn_entropy):
        # 0 x log 0 is 0 here, and its gradient too.
        factor = by_token if forbidden is None else by_token.masked_fill(forbidden, 0.0)
        return found, -(by_token.exp() * factor).sum(-1)
