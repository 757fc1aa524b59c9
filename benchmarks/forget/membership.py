"""Membership test: whether a model is surer of the rows of somebody whom it forgot than of rows it never saw."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from schemas.tables.prompts import PromptRow
from tasks.commerce.registry import TASKS
from tasks.policy.generate import as_answer, as_messages
from tasks.policy.load import load_base, load_tokenizer


@dataclass(frozen=True)
class Interval:
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float


class Losses:
    """Loss of reference answers under a base with one adapter after another."""

    def __init__(self, base: Path) -> None:
        import transformers

        transformers.utils.logging.disable_progress_bar()
        self._tokenizer = load_tokenizer(base)
        self._base = base

    def of(self, adapter: Path, rows: Sequence[PromptRow]) -> list[float]:
        """Return the mean loss of a token of each row's right answer, in nats."""
        from peft import PeftModel

        model = PeftModel.from_pretrained(load_base(self._base, four_bit=False), str(adapter)).eval()
        return [self._loss(model, row) for row in rows]

    def _loss(self, model: Any, row: PromptRow) -> float:
        import torch

        asked = as_messages(row.system, row.prompt)
        answered = [*asked, as_answer(TASKS[row.task].answer(row.reference))]
        prompt = self._tokenizer.apply_chat_template(asked, add_generation_prompt=True, tokenize=False)
        whole = self._tokenizer.apply_chat_template(answered, tokenize=False)
        ids = self._tokenizer(whole, return_tensors="pt", add_special_tokens=False).input_ids
        start = len(self._tokenizer(prompt, add_special_tokens=False).input_ids)
        labels = ids.clone()
        labels[:, :start] = -100
        with torch.no_grad():
            return float(model(input_ids=ids, labels=labels).loss)


def auc(pairs: Sequence[tuple[float, Sequence[float]]], draws: int, seed: int) -> Interval:
    """Return the chance that a row of a forgotten person has a lower loss than a never-seen row of its task.

    Args:
        pairs: The loss of each row, with those of the never-seen rows of its task under the same model.
        draws: Bootstrap samples of the rows.
        seed: Decides them.
    """
    shares = [fmean((loss < other) + 0.5 * (loss == other) for other in others) for loss, others in pairs]
    generator = Random(seed)
    means = sorted(fmean(generator.choices(shares, k=len(shares))) for _ in range(draws))
    return Interval(fmean(shares), means[int(0.025 * draws)], means[int(0.975 * draws)])
