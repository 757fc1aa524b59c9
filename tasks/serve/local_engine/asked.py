"""Answer that somebody asked for, ready to be drawn."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jinja2 import TemplateError

from schemas.errors import InputError
from tasks.policy.continuous import DrawnRow
from tasks.policy.control_tokens import without_control_tokens
from tasks.policy.generate import Completion, Message
from tasks.policy.guidance import GuidedLogits, Sampled, grammars_of, keys_of
from tasks.serve.local_engine.chat import ChatRequest
from tasks.serve.local_engine.loaded import LoadedModel, LoadedModels
from tasks.serve.local_engine.refusal import RefusedRequest


@dataclass(frozen=True)
class Heard:
    """End of an answer."""

    completion: Completion | None = None
    refused: RefusedRequest | None = None
    """Why there is none."""


@dataclass(eq=False)
class AskedAnswer:
    """Answer to be drawn."""

    model: LoadedModel
    conversation: list[Message]
    row: DrawnRow
    temperature: float
    seed: int
    grammar: str
    tell: Callable[[Heard], object]
    """Called in the thread that draws."""
    gone: bool = False
    """Whether nobody waits for it any more."""


def ready(chat: ChatRequest, loaded: LoadedModels, tell: Callable[[Heard], object]) -> AskedAnswer:
    """Read a request's prompt and grammar.

    Args:
        chat: The request.
        loaded: The models.
        tell: Hears of the answer.

    Raises:
        RefusedRequest: The model is unknown, the prompt too long, or the grammar cannot be satisfied.
    """
    model = loaded.named(chat.model)
    if model is None:
        known = ", ".join(each.name for each in loaded.models)
        raise RefusedRequest(f"the model that was asked is unknown; known are {known}", 404)
    most = chat.max_tokens or loaded.request.max_tokens
    if most > loaded.request.max_tokens:
        raise RefusedRequest(
            f"max_tokens is {most}, and this engine draws {loaded.request.max_tokens} at most; ask fewer"
        )
    conversation = [{"role": turn.role, "content": without_control_tokens(turn.content)} for turn in chat.messages]
    prompt = _read_prompt(conversation, loaded, most)
    seed = loaded.request.seed if chat.seed is None else chat.seed
    grammar = chat.structured_outputs.grammar if chat.structured_outputs else ""
    guide = _guide(grammar, loaded, model)
    choice = Sampled(keys_of([prompt], seed), temperature=chat.temperature, guide=guide)
    row = DrawnRow(prompt, choice, most)
    return AskedAnswer(model, conversation, row, chat.temperature, seed, grammar, tell)


def _read_prompt(conversation: list[Message], loaded: LoadedModels, most: int) -> tuple[int, ...]:
    tokenizer: Any = loaded.tokenizer
    try:
        text = tokenizer.apply_chat_template(conversation, tokenize=False, add_generation_prompt=True)
    except TemplateError as error:
        reason = (str(error).splitlines() or [""])[0]
        raise RefusedRequest(f"the model's chat template takes no such conversation: {reason}") from None
    prompt = tuple(tokenizer.encode(text, add_special_tokens=False, verbose=False))
    room = loaded.longest - most
    if len(prompt) > room:
        raise RefusedRequest(
            f"the prompt has {len(prompt)} tokens, and the model reads {room} before an answer of {most}; shorten it"
        )
    return prompt


def _guide(grammar: str, loaded: LoadedModels, model: LoadedModel) -> GuidedLogits | None:
    if not grammar:
        return None
    try:
        return GuidedLogits(grammars_of(loaded.tokenizer, model.vocabulary), [grammar])
    except InputError as error:
        raise RefusedRequest(str(error)) from None
