"""Proposals of a model at an endpoint for a system prompt, of which none may bring other facts than the task's own.

The endpoint is sent a wording and the means of the components of its reward on validation, after GEPA's reflection
(2507.19457, section 3), and no prompt or answer: both hold what shoppers wrote. What it sends back is hostile text.
"""

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

from schemas.config.endpoint import EndpointSection
from schemas.tasks import TaskName
from tasks.commerce.registry import TASKS
from tasks.commerce.text.text_form import chatters, content_words, refuses, stem
from tasks.commerce.text.wordings import read_wording
from tasks.evaluate.prompts.race import Runner
from tasks.evaluate.prompts.wordings import PromptCandidate, answering_words, shipped
from tasks.policy.endpoint import Endpoint, EndpointQuestion
from tasks.policy.reply_cache import ReplyCache, open_cache

PROPOSALS: Final = 2
"""Wordings that are asked for after a round, for each task."""
MAX_TOKENS: Final = 800
TEMPERATURE: Final = 1.0
MOST_LENGTH: Final = 2
"""Longest proposal, as a multiple of the task's own wording."""
SYSTEM: Final = """\
Você melhora instruções para um modelo de linguagem pequeno. Reescreva a instrução para que as respostas dele melhorem \
nos critérios de nota mais baixa. Mantenha sem mudança tudo o que está entre parênteses, os nomes de campos, tabelas e \
colunas, os números e os exemplos, e não acrescente nenhum fato, número ou nome. Responda só com a nova instrução, em \
português."""
FILE: Final = "proposals.sqlite"

# What stays as it is: parentheses with the word that they belong to, braces, quotes, identifiers, capitals, numbers.
_FACT: Final = re.compile(r"\w*\s?\([^()]*\)|\{[^{}]*\}|\"[^\"]*\"|\w*_\w+|\b[A-Z]{2,}\b|R\$|\d+(?:[.,]\d+)*%?|#+")


def facts(text: str) -> frozenset[str]:
    """Return what a wording states of the task: its fields with their values, tables, limits and placeholders."""
    return frozenset(_FACT.findall(text))


def find_fault(task: TaskName, text: str) -> str | None:
    """Return a short reason why a proposal may not be a task's system prompt; None if it may.

    Its facts must be those of the task's own wording, and its other words must be of the task's wordings or say how to
    read and answer (`data/prompts/words.toml`): any other word could be a value of the proposal's own.

    Args:
        task: The task.
        text: The proposal: hostile text.
    """
    own = TASKS[task].system
    if not text:
        return "empty"
    if len(text) > MOST_LENGTH * len(own):
        return "too long"
    if any(unicodedata.category(character).startswith("C") and character != "\n" for character in text):
        return "control characters"
    if chatters(text) or refuses(text):
        return "chatter"
    if facts(text) != facts(own) or any(stem(word) not in _known(task) and not _answers(word) for word in _named(text)):
        return "other facts"
    return "nothing new" if any(text == each.system for each in shipped(task)) else None


def _named(text: str) -> list[str]:
    return [word for word in content_words(text) if word.isalpha()]


@cache
def _known(task: TaskName) -> frozenset[str]:
    """Return the stems of the words of a task's wordings."""
    texts = [*read_wording(task).instructions, *(each.system for each in shipped(task))]
    return frozenset(stem(word) for text in texts for word in _named(text))


def _answers(word: str) -> bool:
    return _answering().fullmatch(word) is not None


@cache
def _answering() -> re.Pattern[str]:
    return re.compile("|".join(word.replace("*", "[a-z]*") for word in answering_words()))


class Proposer:
    """Proposals of an endpoint, each asked for once."""

    def __init__(self, endpoint: Endpoint, cache: ReplyCache, model: str, seed: int) -> None:
        """Use `open_proposer` instead."""
        self._endpoint = endpoint
        self._cache = cache
        self._model = model
        self._seed = seed
        self.refused: Counter[str] = Counter()
        """Proposals that were refused, by reason."""
        self.failure: str | None = None
        """Why the endpoint was given up; the search goes on with the wordings that it has."""

    def propose(self, task: TaskName, best: Runner, number: int) -> Sequence[PromptCandidate]:
        """Return the wordings that are proposed in place of the best one and may be used.

        Args:
            task: The task.
            best: The best candidate of a round, which shows no examples.
            number: Proposals for the task so far, refused ones included.
        """
        scores = "\n".join(f"{name}: {value:.2f}" for name, value in best.components().items())
        text = f"Instrução:\n{best.candidate.system}\n\nMédia de cada critério, de 0 a 1:\n{scores}"
        questions = [self._question(text, number + each) for each in range(PROPOSALS)]
        missing = [each for each in questions if self._cache.get(each.key) is None]
        if missing and self.failure is None:
            self.failure = self._endpoint.ask_all(missing, lambda key, reply: self._cache.put(key, reply.text))
        found: list[PromptCandidate] = []
        for place, question in enumerate(questions, number + 1):
            answer = self._cache.get(question.key)
            if answer is None:
                continue
            proposed = unicodedata.normalize("NFC", answer).strip()
            fault = find_fault(task, proposed)
            if fault is None and proposed in {each.system for each in found}:
                fault = "nothing new"
            if fault is None:
                found.append(PromptCandidate(f"proposed-{place}", 0, proposed))
            else:
                self.refused[fault] += 1
        return found

    def _question(self, text: str, number: int) -> EndpointQuestion:
        content = json.dumps([self._model, SYSTEM, text, self._seed, number])
        return EndpointQuestion(hashlib.sha256(content.encode()).hexdigest(), SYSTEM, text, self._seed + number)


@contextmanager
def open_proposer(config: EndpointSection, seed: int, folder: Path) -> Iterator[Proposer]:
    """Open the endpoint and the cache of its replies; nothing is sent yet.

    Raises:
        InputError: The key's environment variable is not set, or the cache cannot be used.
    """
    with (
        open_cache(folder / FILE, "the cache of proposed prompts") as cache,
        Endpoint(
            config,
            purpose="proposing",
            section="evaluate.prompt_search.endpoint",
            otherwise="leave evaluate.prompt_search.endpoint out",
            temperature=TEMPERATURE,
            max_tokens=MAX_TOKENS,
        ) as endpoint,
    ):
        yield Proposer(endpoint, cache, config.model, seed)
