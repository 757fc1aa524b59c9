"""Second turns of SQL: a query without a result is answered once by its error, and the policy answers again.

Both answers are one completion for TRL: first answer, feedback, second answer. The feedback's tokens are masked out of
the loss as a tool's are in TRL's own loop (`tool_mask`); TRL's environments do not fit, because rollouts are sampled,
resampled and chosen here before TRL sees them. The reward is that of the second answer, times `REPAIRED`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import torch

from schemas.errors import InputError
from schemas.tables.prompts import PromptRow
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.sql_qa.task import feedback
from tasks.policy.control_tokens import without_control_tokens

REPAIRED: Final = 0.9
"""Share of its reward that a second answer earns: a query that is right at once earns more."""
SHORTEST_ANSWER: Final = 16
"""Tokens that must be left for a second answer."""

Sample = Callable[[Sequence[PromptRow], list[list[int]], int], list[list[int]]]
"""Samples one completion of each row, whose prompt has these tokens, of at most so many tokens."""


@dataclass(frozen=True)
class Turns:
    """Completions of one or two turns."""

    completion_ids: list[list[int]]
    """All tokens: the first answer, and where there is a second one, the feedback and that."""
    feedback: list[tuple[int, int]]
    """Start and end of each completion's feedback; equal if there is none."""

    def last(self, place: int) -> list[int]:
        """Return the tokens of a completion's last answer."""
        start, end = self.feedback[place]
        return self.completion_ids[place][end if end > start else 0 :]

    @property
    def factors(self) -> list[float]:
        """Return the share of its reward that each completion earns."""
        return [REPAIRED if end > start else 1.0 for start, end in self.feedback]


def one_turn(completion_ids: list[list[int]]) -> Turns:
    """Return completions without feedback."""
    return Turns(completion_ids, [(0, 0)] * len(completion_ids))


def second_turns(
    rows: Sequence[PromptRow],
    prompt_ids: Sequence[list[int]],
    completion_ids: Sequence[list[int]],
    *,
    tokenizer: Any,
    databases: Databases,
    limit: int,
    sample: Sample,
) -> Turns:
    """Let the policy answer again where its query has no result; both turns have `limit` tokens together.

    A first answer that was cut off, or leaves too few tokens, has no second one.

    Args:
        rows: The prompt of each completion.
        prompt_ids: The tokens of each prompt.
        completion_ids: The tokens of each first answer.
        tokenizer: The policy's.
        databases: Copies of the store that the queries are run on.
        limit: Longest completion, in tokens.
        sample: Samples the second answers.
    """
    shown: dict[int, list[int]] = {}
    for place, (row, ids) in enumerate(zip(rows, completion_ids, strict=True)):
        if row.task != "sql_qa" or not ids or ids[-1] != tokenizer.eos_token_id:
            continue
        text = feedback(tokenizer.decode(ids, skip_special_tokens=True), databases)
        if text is None:
            continue
        tokens = feedback_ids(tokenizer, text)
        if len(ids) + len(tokens) + SHORTEST_ANSWER <= limit:
            shown[place] = tokens
    if not shown:
        return one_turn(list(completion_ids))
    rooms = {place: limit - len(completion_ids[place]) - len(tokens) for place, tokens in shown.items()}
    before = [[*prompt_ids[place], *completion_ids[place], *tokens] for place, tokens in shown.items()]
    answers = sample([rows[place] for place in shown], before, max(rooms.values()))
    merged, spans = list(completion_ids), [(0, 0)] * len(completion_ids)
    for (place, tokens), answer in zip(shown.items(), answers, strict=True):
        start = len(completion_ids[place])
        merged[place] = [*completion_ids[place], *tokens, *answer[: rooms[place]]]
        spans[place] = (start, start + len(tokens))
    return Turns(merged, spans)


def feedback_ids(tokenizer: Any, text: str) -> list[int]:
    """Return the tokens between two answers: what the chat template puts after the first one's end.

    Raises:
        InputError: The template renders a first answer otherwise if a second one follows.
    """
    first = [{"role": "user", "content": "."}, {"role": "assistant", "content": "."}]
    asked = [*first, {"role": "user", "content": without_control_tokens(text)}]
    before = tokenizer.apply_chat_template(first, tokenize=False)
    whole = tokenizer.apply_chat_template(asked, tokenize=False, add_generation_prompt=True)
    answered, end, _ = before.rpartition(tokenizer.eos_token)
    if not end or not whole.startswith(answered + end):
        raise InputError(
            "the policy's chat template changes an answer that another turn follows, which train.sql_turns = 2 needs "
            "unchanged; set train.sql_turns=1"
        )
    return list(tokenizer.encode(whole[len(answered + end) :], add_special_tokens=False))


def without_feedback(output: dict[str, Any], spans: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Return TRL's batch with the feedback of each completion masked out of the loss, but not of the context."""
    mask = torch.ones_like(output["completion_mask"])
    for row, (start, end) in enumerate(spans):
        mask[row, start:end] = 0
    return {**output, "tool_mask": mask}
