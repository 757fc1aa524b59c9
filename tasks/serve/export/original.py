"""A version as it answers here: the prompts, answers and rewards that an export of it is compared with."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemas.progress import Progress
from schemas.references import knows_anything
from schemas.tables.prompts import PromptRow
from tasks.commerce.registry import score_rollout
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.policy.generate import Message, as_messages, read_completion
from tasks.policy.load import load_tokenizer
from tasks.serve.export.greedy import Thought, draw, think

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

PROMPTS: Final = 200
"""Test prompts that an export answers, where there are so many."""
ANSWERED_AT_ONCE: Final = 32
READ_AT_ONCE: Final = 8
"""Answers whose logits are in memory together."""
PROBES: Final = (
    "  dois  blanks,\ttabs\n\n\nlinhas \n e um fim \n",
    "R$ 1.234,56 em 12x; nota 4,5/5; pedido nº 00099 às 7h30 (15/03/2017)",
    "Não chegou!!! péssimo... 😡👎🏽 “aspas” — travessão… ÇÃÕ ñ ü ß",
    "d'água, l'art, it's, we'RE, copo-d'água 'aspas'",
    '{"polarity": "negative", "score": 1}\r\nSELECT * FROM orders WHERE a<>b;',
    "日本語 русский العربية \u200b\u00a0fim",
)
"""Texts whose tokens are compared besides the prompts': what shops' texts rarely have, and splits by other rules."""


@dataclass(frozen=True)
class Original:
    """A version's own prompts, answers and rewards."""

    rows: Sequence[PromptRow]
    tokenizer: "PreTrainedTokenizerBase"
    conversations: Sequence[list[Message]]
    """The rows', and the probes'."""
    texts: Sequence[str]
    """The same as they are written."""
    prompts: Sequence[list[int]]
    """Tokens of the rows' prompts."""
    answers: Sequence[list[int]]
    """Tokens of the greedy answers, their end included."""
    thoughts: Sequence[Thought]
    databases: Databases | None
    longest: int
    """Tokens of the longest answer."""

    def answers_of(self, model: Any, progress: Progress) -> list[list[int]]:
        """Return a model's greedy answers to the same prompts."""
        return draw(
            model,
            self.prompts,
            end=_end(self.tokenizer),
            most=self.longest,
            batch_size=ANSWERED_AT_ONCE,
            progress=progress,
        )

    def thoughts_of(self, model: Any) -> list[Thought]:
        """Return what a model thinks of the version's own answers."""
        return think(model, self.prompts, self.answers, batch_size=READ_AT_ONCE)

    def rewards_of(self, answers: Sequence[Sequence[int]]) -> list[float | None]:
        """Return each answer's reward; None where nothing is known of the right one."""
        return [self._reward(row, answer) for row, answer in zip(self.rows, answers, strict=True)]

    def _reward(self, row: PromptRow, answer: Sequence[int]) -> float | None:
        if not knows_anything(row.reference) or (row.task == "sql_qa" and self.databases is None):
            return None
        return score_rollout(read_completion(answer, self.tokenizer).as_rollout(row), self.databases).reward


def ask_original(
    model: Any,
    weights: Path,
    rows: Sequence[PromptRow],
    databases: Databases | None,
    longest: int,
    progress: Progress,
) -> Original:
    """Let a version answer.

    Args:
        model: The version, in float32.
        weights: Folder with its tokenizer.
        rows: Test prompts.
        databases: Copies of the store that sql_qa's questions are about; without them those are not scored.
        longest: Tokens of the longest answer.
        progress: Called with the prompts that are answered.
    """
    tokenizer = load_tokenizer(weights)
    asked = [*((row.system, row.prompt) for row in rows), *(("Responda.", probe) for probe in PROBES)]
    conversations = [as_messages(system, prompt) for system, prompt in asked]
    texts = rendered(tokenizer, conversations)
    prompts = [tokenizer.encode(text, add_special_tokens=False) for text in texts[: len(rows)]]
    end = _end(tokenizer)
    answers = draw(model, prompts, end=end, most=longest, batch_size=ANSWERED_AT_ONCE, progress=progress)
    thoughts = think(model, prompts, answers, batch_size=READ_AT_ONCE)
    return Original(rows, tokenizer, conversations, texts, prompts, answers, thoughts, databases, longest)


def load_exact(folder: Path) -> "PreTrainedModel":
    """Load a model in float32, on the GPU if there is one: rounding by arithmetic would hide faults."""
    import torch
    from transformers import AutoModelForCausalLM

    return placed(AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval())


def placed(model: Any) -> Any:
    """Move a model to the GPU, if there is one."""
    import torch

    return model.to("cuda:0") if torch.cuda.is_available() else model


def rendered(tokenizer: "PreTrainedTokenizerBase", conversations: Sequence[list[Message]]) -> list[str]:
    """Return conversations as the chat template writes them, up to the answer."""
    return [
        str(tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True))
        for messages in conversations
    ]


def some_of(rows: Sequence[PromptRow]) -> Sequence[PromptRow]:
    """Return the prompts that are asked: some of the rows, spread evenly, or all."""
    count = min(PROMPTS, len(rows))
    return [rows[index * len(rows) // count] for index in range(count)]


def _end(tokenizer: Any) -> int:
    return int(tokenizer.eos_token_id)
