"""Backward pass of packed rows, which is the plain update's where the memory is too small for it.

No gradient is added to a parameter's before all of a pass are computed: what a pass left that failed is dropped, and
what earlier passes of the step have added stays as it is.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from tasks.policy.full_memory import is_of_memory


def with_plain_backward(
    scores: Sequence[Tensor], model: torch.nn.Module, plain: Callable[[], Sequence[Tensor]]
) -> tuple[Tensor, ...]:
    """Return the scores of packed rows, whose gradients are computed plainly where memory is too small for the rows'.

    Args:
        scores: Tensors with gradients, all of one graph.
        model: The model that computed them.
        plain: Computes them again, as the plain update does, from the same weights and without dropout.
    """
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    found: tuple[Tensor, ...] = _Scores.apply(  # type: ignore[no-untyped-call]
        list(scores), plain, parameters, *parameters
    )
    return found


class _Scores(torch.autograd.Function):
    """Scores as a function of a model's parameters."""

    @staticmethod
    def forward(
        context: Any,
        scores: list[Tensor],
        plain: Callable[[], Sequence[Tensor]],
        parameters: list[Tensor],
        *_: Tensor,
    ) -> tuple[Tensor, ...]:
        """Return the scores without their graph, which is kept."""
        context.scores, context.plain, context.parameters = scores, plain, parameters
        # None for scores that the loss does not learn from.
        context.set_materialize_grads(False)
        return tuple(each.detach() for each in scores)

    @staticmethod
    def backward(context: Any, *gradients: Tensor | None) -> tuple[Tensor | None, ...]:
        """Return the gradient of each parameter, from those of the scores."""
        found = None
        try:
            found = _gradients(context.scores, context.parameters, gradients)
        except (RuntimeError, MemoryError) as error:
            if not is_of_memory(error):
                raise
        if found is None:
            # Outside of the handler, whose error holds what was computed, as the graph does.
            context.scores.clear()
            with torch.enable_grad():
                again = context.plain()
            found = _gradients(again, context.parameters, gradients)
        return None, None, None, *found


def _gradients(
    scores: Sequence[Tensor], parameters: Sequence[Tensor], gradients: Sequence[Tensor | None]
) -> tuple[Tensor | None, ...]:
    learned = [(each, gradient) for each, gradient in zip(scores, gradients, strict=True) if gradient is not None]
    found: tuple[Tensor | None, ...] = torch.autograd.grad(
        [each for each, _ in learned], parameters, [gradient for _, gradient in learned], allow_unused=True
    )
    return found
