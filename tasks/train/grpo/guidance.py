"""Guidance of rollouts: the policy that samples them, and that the loss is of, writes only what grammars allow.

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

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from schemas.tables.prompts import PromptRow
from schemas.tasks import Guided
from tasks.commerce.registry import grammar_of, grammars
from tasks.policy.guidance import GuidedLogits, grammars_of

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


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
