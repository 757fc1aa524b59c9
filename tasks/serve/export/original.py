"""A version as it answers here: the prompts, greedy answers and rewards that an export of it is compared with."""

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

if TYPE_CHECKING:
    import torch
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
class Thought:
    """A model's view of an answer's tokens, each after those before it."""

    log_probabilities: list[float]
    gaps: list[float]
    """Log-probability of the most likely token above the second one: a smaller difference cannot change the choice."""


@dataclass(frozen=True)
class Original:
    """A version's own prompts, answers and rewards."""

    weights: Path
    """Folder of the model; of an adapter's base."""
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
        return draw(model, self.prompts, end=_end(self.tokenizer), most=self.longest, progress=progress)

    def thoughts_of(self, model: Any) -> list[Thought]:
        """Return what a model thinks of the version's own answers."""
        return think(model, self.prompts, self.answers)

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
    answers = draw(model, prompts, end=_end(tokenizer), most=longest, progress=progress)
    thoughts = think(model, prompts, answers)
    return Original(weights, rows, tokenizer, conversations, texts, prompts, answers, thoughts, databases, longest)


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


def draw(
    model: Any,
    prompts: Sequence[Sequence[int]],
    *,
    end: int,
    most: int,
    progress: Progress,
    batch_size: int = ANSWERED_AT_ONCE,
) -> list[list[int]]:
    """Return each prompt's most likely continuation token by token, its end included.

    Args:
        model: The model.
        prompts: Tokens of the prompts.
        end: Token that ends an answer.
        most: Longest answer, in tokens.
        progress: Called with the prompts that are answered.
        batch_size: Prompts answered at once.
    """
    import torch
    from transformers import GenerationConfig

    greedy = GenerationConfig(do_sample=False, max_new_tokens=most, pad_token_id=end, eos_token_id=end)
    answers: dict[int, list[int]] = {}
    for batch in _batches([len(prompt) for prompt in prompts], batch_size):
        ids, mask = _padded([prompts[number] for number in batch], model.device)
        with torch.inference_mode():
            drawn = model.generate(input_ids=ids, attention_mask=mask, generation_config=greedy)
        for number, tokens in zip(batch, drawn[:, ids.shape[1] :].tolist(), strict=True):
            answers[number] = tokens[: tokens.index(end) + 1] if end in tokens else tokens
        progress(len(answers), len(prompts), "greedy answers")
    return [answers[number] for number in range(len(prompts))]


def think(
    model: Any, prompts: Sequence[Sequence[int]], answers: Sequence[Sequence[int]], *, batch_size: int = READ_AT_ONCE
) -> list[Thought]:
    """Return a model's view of the prompts' answers.

    Args:
        model: The model.
        prompts: Tokens of the prompts.
        answers: Tokens of each prompt's answer, one or more.
        batch_size: Prompts read at once.
    """
    import torch

    thoughts: dict[int, Thought] = {}
    for batch in _batches([len(prompts[n]) + len(answers[n]) for n in range(len(prompts))], batch_size):
        ids, mask = _padded([[*prompts[number], *answers[number]] for number in batch], model.device)
        longest = max(len(answers[number]) for number in batch)
        positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
        with torch.inference_mode():
            logits = model(
                input_ids=ids, attention_mask=mask, position_ids=positions, logits_to_keep=longest + 1
            ).logits[:, :-1]
            # Padded on the left, so that the answers end together.
            likely = torch.log_softmax(logits.float(), dim=-1)
            chosen = likely.gather(-1, ids[:, -longest:].unsqueeze(-1)).squeeze(-1)
            best = likely.topk(2, dim=-1).values
        for row, number in enumerate(batch):
            count = len(answers[number])
            gaps = best[row, -count:, 0] - best[row, -count:, 1]
            thoughts[number] = Thought(chosen[row, -count:].tolist(), gaps.tolist())
    return [thoughts[number] for number in range(len(prompts))]


def _end(tokenizer: Any) -> int:
    return int(tokenizer.eos_token_id)


def _batches(lengths: Sequence[int], size: int) -> list[list[int]]:
    """Return the numbers of what is read together, of similar length."""
    by_length = sorted(range(len(lengths)), key=lambda number: (lengths[number], number))
    return [by_length[start : start + size] for start in range(0, len(by_length), size)]


def _padded(sequences: Sequence[Sequence[int]], device: Any) -> "tuple[torch.Tensor, torch.Tensor]":
    """Return sequences, padded on the left, and their mask: (sequences, tokens)."""
    import torch

    longest = max(map(len, sequences))
    ids = [[0] * (longest - len(tokens)) + list(tokens) for tokens in sequences]
    mask = [[0] * (longest - len(tokens)) + [1] * len(tokens) for tokens in sequences]
    return torch.tensor(ids, device=device), torch.tensor(mask, device=device)
