"""Batched generation: prompts in, completions out, each with its stop reason."""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from schemas.documents import Rollout
from schemas.progress import Progress, silent
from tasks.policy.batch import sequences_at_once
from tasks.policy.control_tokens import without_control_tokens
from tasks.policy.unpacked import engine_draws

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

    from schemas.tables.prompts import PromptRow
    from tasks.policy.guidance import GuidedLogits

Message = dict[str, str]
COLD: Final = 1e-4
"""Temperature that is as good as always the most likely token."""


class StopReason(StrEnum):
    """Reason of a completion's end: recorded, never guessed from its text."""

    END_OF_TURN = "end_of_turn"
    TOKEN_LIMIT = "token_limit"  # noqa: S105 - no password
    OTHER = "other"
    """An endpoint ended it for another reason, such as a filter, or reported none."""


@dataclass(frozen=True)
class Completion:
    """Answer of a policy to one prompt."""

    text: str
    tokens: int
    """Generated tokens, including the end-of-turn token."""
    stop_reason: StopReason

    def as_rollout(self, row: "PromptRow") -> Rollout:
        """Return the rollout document that rewards read, with the prompt's reference."""
        return row.answered(self.text, tokens=self.tokens, stop_reason=self.stop_reason.value)


def as_messages(system: str, prompt: str) -> list[Message]:
    """Return a prompt row as the conversation that the chat template renders.

    Every prompt that is rendered comes through here, so that no text of a shopper or a shop can end its turn.
    """
    return [
        {"role": "system", "content": without_control_tokens(system)},
        {"role": "user", "content": without_control_tokens(prompt)},
    ]


def render(tokenizer: "PreTrainedTokenizerBase", messages: Sequence[Message], *, to_answer: bool = True) -> str:
    """Return a conversation as the chat template writes it; `to_answer` ends it where an answer begins."""
    return str(tokenizer.apply_chat_template(list(messages), tokenize=False, add_generation_prompt=to_answer))


def tokens_of(tokenizer: "PreTrainedTokenizerBase", question: Sequence[Message]) -> list[int]:
    """Return a conversation up to its answer as all stages read it: what a tokenizer would add is not."""
    return list(tokenizer.encode(render(tokenizer, question), add_special_tokens=False, verbose=False))


def as_answer(text: str) -> Message:
    """Return a text to learn from as the assistant's turn, which a quoted control token must not end."""
    return {"role": "assistant", "content": without_control_tokens(text)}


def generate(
    model: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerBase",
    conversations: Sequence[list[Message]],
    *,
    seed: int,
    **settings: Any,
) -> list[Completion]:
    """Answer every conversation, in the given order; the settings are those of `generate_samples`, of one seed."""
    (completions,) = generate_samples(model, tokenizer, conversations, seeds=[seed], **settings)
    return completions


def generate_samples(
    model: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerBase",
    conversations: Sequence[list[Message]],
    *,
    temperature: float,
    max_tokens: int,
    batch_size: int,
    seeds: Sequence[int],
    progress: Progress = silent,
    grammars: Sequence[str] = (),
    stock: bool = False,
) -> list[list[Completion]]:
    """Answer every conversation once by each seed; return each seed's answers, in the given order.

    Prompts are batched by length, which minimizes padding; the global random state stays unchanged. On a CPU our own
    engine draws (`tasks.policy.engine`): it computes each prompt once for all seeds, and an answer depends on its seed,
    its prompt, and how often that prompt was given before; not on the batch, nor on the other seeds. For a policy that
    the engine does not know, and on a GPU, transformers' `generate` draws, seed by seed, and an answer depends on its
    whole batch.
    """
    rendered = [render(tokenizer, messages) for messages in conversations]
    by_length = sorted(range(len(rendered)), key=lambda index: (len(rendered[index]), index))
    asked = Rendered(rendered, temperature, max_tokens, seeds, _guide(model, tokenizer, grammars))
    ours = engine_draws(model, stock=stock)
    together = len(seeds) if ours else 1
    batches = list(_split_by_memory(model, tokenizer, rendered, by_length, batch_size, max_tokens, together))
    completions: list[dict[int, Completion]] = [{} for _ in seeds]
    for number, batch, tokens in (draw_by_engine if ours else draw_by_transformers)(model, tokenizer, asked, batches):
        for index, drawn in zip(batch, tokens, strict=True):
            completions[number][index] = read_completion(drawn, tokenizer)
        progress(sum(map(len, completions)), len(seeds) * len(rendered), "completions")
    return [[of_seed[index] for index in range(len(rendered))] for of_seed in completions]


Guide = Callable[[Sequence[int]], "GuidedLogits | None"]
Drawn = Iterator[tuple[int, Sequence[int], list[list[int]]]]
"""Number of the seed, prompts answered together, as indices, and the tokens that were drawn for them."""


@dataclass(frozen=True)
class Rendered:
    """Prompts to answer, and how."""

    rendered: Sequence[str]
    temperature: float
    max_tokens: int
    seeds: Sequence[int]
    guide: Guide


def draw_by_engine(model: Any, tokenizer: Any, asked: Rendered, batches: Sequence[Sequence[int]]) -> Drawn:
    """Draw by our own engine, on a CPU."""
    from tasks.policy.engine import Engine
    from tasks.policy.guidance import Sampled, keys_of

    prompts = [tokenizer.encode(text, add_special_tokens=False) for text in asked.rendered]
    keys = [keys_of(prompts, seed) for seed in asked.seeds]
    engine = Engine(model)
    for batch in batches:
        rows = [n for _ in keys for n in batch]
        of_rows = [of_seed[n] for of_seed in keys for n in batch]
        choice = Sampled(of_rows, temperature=asked.temperature, guide=asked.guide(rows))
        ends = {tokenizer.eos_token_id}
        drawn = engine.draw([prompts[n] for n in rows], choice, most=asked.max_tokens, ends=ends)
        for number in range(len(keys)):
            yield number, batch, drawn[number * len(batch) : (number + 1) * len(batch)]


def draw_by_transformers(model: Any, tokenizer: Any, asked: Rendered, batches: Sequence[Sequence[int]]) -> Drawn:
    """Draw by transformers' `generate`."""
    import torch
    from transformers import GenerationConfig, LogitsProcessorList

    decoding = GenerationConfig(
        do_sample=True,
        temperature=asked.temperature,
        top_p=1.0,
        top_k=0,
        max_new_tokens=asked.max_tokens,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    devices = [model.device] if model.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices), torch.inference_mode():
        for number, seed in enumerate(asked.seeds):
            torch.manual_seed(seed)
            for batch in batches:
                # Passed explicitly: Unsloth's trainer sets the tokenizer's own side to the right.
                inputs = tokenizer(
                    [asked.rendered[index] for index in batch],
                    return_tensors="pt",
                    padding=True,
                    padding_side="left",
                    add_special_tokens=False,
                ).to(model.device)
                guide = asked.guide(batch)
                output = model.generate(
                    input_ids=inputs["input_ids"],
                    attention_mask=inputs["attention_mask"],
                    generation_config=decoding,
                    logits_processor=LogitsProcessorList([guide] if guide else ()),
                )
                yield number, batch, output[:, inputs["input_ids"].shape[1] :].tolist()


def _guide(model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", grammars: Sequence[str]) -> Guide:
    """Check the grammars, and return what guides a batch by its own."""
    if not any(grammars):
        return lambda _: None

    from tasks.policy.guidance import GuidedLogits, grammars_of

    known = grammars_of(tokenizer, model.get_output_embeddings().weight.shape[0])
    for grammar in filter(None, set(grammars)):
        known.start(grammar)
    return lambda batch: GuidedLogits(known, [grammars[index] for index in batch])


def _split_by_memory(
    model: "PreTrainedModel",
    tokenizer: "PreTrainedTokenizerBase",
    rendered: Sequence[str],
    by_length: Sequence[int],
    batch_size: int,
    max_tokens: int,
    together: int,
) -> Iterator[Sequence[int]]:
    """Yield the prompts answered together, each so many times, as indices into `rendered`, of similar length."""
    for start in range(0, len(by_length), batch_size):
        batch = by_length[start : start + batch_size]
        longest = len(tokenizer.encode(rendered[batch[-1]], add_special_tokens=False))
        at_once = max(1, sequences_at_once(model, longest, max_tokens, together * len(batch)) // together)
        yield from (batch[part : part + at_once] for part in range(0, len(batch), at_once))


def write_rollouts(path: Path, rows: "Sequence[PromptRow]", completions: Sequence[Completion]) -> None:
    """Write the answers to some prompts as JSON Lines of rollouts, in the prompts' order."""
    with path.open("w", encoding="utf-8") as file:
        for row, completion in zip(rows, completions, strict=True):
            file.write(json.dumps(completion.as_rollout(row).model_dump(), ensure_ascii=False) + "\n")


def read_completion(
    tokens: Sequence[int], tokenizer: "PreTrainedTokenizerBase", ends: Collection[int] = ()
) -> Completion:
    """Read generated tokens up to the first end of turn; without one, the completion was truncated."""
    end = tokenizer.eos_token_id
    read = list(tokens[: tokens.index(end) + 1] if end in tokens else tokens)
    ended = bool(read) and read[-1] in {end, *ends}
    reason = StopReason.END_OF_TURN if ended else StopReason.TOKEN_LIMIT
    return Completion(tokenizer.decode(read, skip_special_tokens=True), len(read), reason)
