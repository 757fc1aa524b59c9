"""Proposals of a model at an endpoint for a system prompt, of which none may bring other facts than the task's own.

The endpoint is sent a wording and the means of the components of its reward on validation, after GEPA's reflection
(2507.19457, section 3), and no prompt or answer: both hold what shoppers wrote. What it sends back is hostile text.
"""

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

from schemas.config.endpoint import EndpointSection
from schemas.tasks import TaskName
from tasks.commerce.registry import TASKS
from tasks.commerce.text.lexicons import read_lexicon
from tasks.commerce.text.text_form import FUNCTION_WORDS, chatters, fold, refuses, stem, words
from tasks.evaluate.prompts.race import Runner
from tasks.evaluate.prompts.wordings import PromptCandidate, answering_words, shipped
from tasks.policy.endpoint import Endpoint, EndpointQuestion
from tasks.policy.reply_cache import ReplyCache, open_cache

DATA_FILES: Final = ("data/lexicons/numerals.txt",)
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

# What stays as it is: examples, parentheses with the word that they belong to, braces, quotes, identifiers, capitals,
# numbers with the word that bounds them, and signs of Markdown.
_FACT: Final = re.compile(
    r"^Exemplo\b.*|\w*\s?\([^()]*\)|\{[^{}]*\}|\"[^\"]*\"|\w*_\w+|\b[A-Z]{2,}\b|R\$"
    r"|(?:\b[^\W\d_]+ )?\d+(?:[.,]\d+)*%?|#+|(?<=[^\n\w])-(?!\w)",
    re.MULTILINE,
)
_LISTED: Final = re.compile(r"\(([^()]* ou [^()]*)\)")
_SENTENCE: Final = re.compile(r"[^.;\n]+[.;]")
NUMERALS: Final = frozenset(fold(line.partition(" = ")[0]) for line in read_lexicon("numerals"))
_STATED: Final = "\0"
"""Stands for a fact in the rest of a wording, where no text has it: control characters are refused before."""
_PIECE: Final = re.compile(r"\w+|[.,;:!?\n\0]")
_ENDS: Final = frozenset(".,;:!?\n")
_SIGNS: Final = frozenset(".,;:!?-\0")
_BEFORE_VERBS: Final = frozenset({"nao", "nunca", "jamais"})
_NEGATIONS: Final = re.compile("nao|nunca|jamais|nem|nada|sem|nenhum[a-z]*|evit[a-z]*|exceto")
_TURNS: Final = frozenset({"alem", "fora", "senao"})
"""Words after which a negation asks for what follows: `nada além do JSON`."""
_HARMS: Final = re.compile("(?:alter|invent|mud|omit|troc|troqu)[a-z]*")
"""Verbs that a wording may only forbid, which keeps what they are about: `não omita nenhum campo`."""


def facts(text: str) -> Counter[str]:
    """Return what a wording states of the task: its fields with their values, tables, limits, examples, placeholders.

    A word in capitals, such as JSON, counts once: it says no more when repeated.
    """
    found = Counter(_FACT.findall(text))
    return Counter({fact: 1 if fact.isupper() else count for fact, count in found.items()})


def _rest(text: str) -> str:
    return _FACT.sub(f" {_STATED} ", text)


def find_fault(task: TaskName, text: str) -> str | None:
    """Return a short reason why a proposal may not be a task's system prompt; None if it may.

    Its facts must be those of the task's own wording, and its other words must be of the task's wordings, negated only
    where they are there, or say how to read and answer (`data/prompts/words.toml`): any other word could be a value of
    the proposal's own. What is said of known words alone it cannot judge, such as "o risco é um".

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
    if _states_other_facts(task, text):
        return "other facts"
    return "nothing new" if any(text == each.system for each in shipped(task)) else None


def _numerals(text: str) -> frozenset[str]:
    return NUMERALS.intersection(words(_rest(text)))


def _states_other_facts(task: TaskName, text: str) -> bool:
    own = TASKS[task].system
    if facts(text) != facts(own) or not _numerals(own) <= _numerals(text):
        return True
    if any(not (character.isalpha() or character.isspace() or character in _SIGNS) for character in _rest(text)):
        return True
    known = _known(task)
    for root, word, negated in _senses(_without_shipped(task, text)):
        if root in known:
            # What the wordings only ask for may not be forbidden, and the reverse.
            if negated is not None and negated not in known[root]:
                return True
        elif word in NUMERALS or not _answers(word):
            return True
    return False


def _senses(text: str) -> Iterator[tuple[str, str, bool | None]]:
    """Yield stem and word of each word with meaning outside the facts, and of each fact, and whether it is negated.

    None stands for a verb after `não`: whether it may be negated depends on what it is about.
    """
    negation = ""
    awaited = before_verb = False
    for piece in _PIECE.findall(fold(_rest(text))):
        if piece in _ENDS:
            # No comma ends a negation before what it is about, and no colon one by `não`, of which a list follows.
            if not (piece in ",:" and (awaited or (piece == ":" and negation in _BEFORE_VERBS))):
                negation = ""
        elif _NEGATIONS.fullmatch(piece):
            negation, before_verb = piece, piece in _BEFORE_VERBS
            awaited = before_verb or piece == "sem"
        elif piece in _TURNS or (negation and _HARMS.fullmatch(piece)):
            negation = ""
        elif piece == _STATED or piece not in FUNCTION_WORDS:
            awaited = before_verb and piece != _STATED
            yield stem(piece), piece, None if awaited and negation else bool(negation)
            before_verb = False


@cache
def _known(task: TaskName) -> Mapping[str, frozenset[bool]]:
    """Return the stems of a task's wordings outside its facts, each with whether it is negated there."""
    found: dict[str, set[bool]] = {_STATED: {False}}
    for each in shipped(task):
        for root, word, negated in _senses(each.system):
            # `sem texto` forbids no text elsewhere, but `sem saudação` is never to become `com saudação`.
            both = negated is True and _answers(word)
            found.setdefault(root, set()).update({True, False} if both else {negated is not False})
    return {root: frozenset(senses) for root, senses in found.items() if root not in _values(task)}


@cache
def _values(task: TaskName) -> frozenset[str]:
    """Return the stems of the values that a task's fields may have, such as `neutral`: outside its list one tells."""
    return frozenset(stem(word) for listed in _LISTED.findall(TASKS[task].system) for word in words(listed))


def _without_shipped(task: TaskName, text: str) -> str:
    """Return a text without the shipped sentences that name a value, as in `true ou false vão sem aspas`."""
    for each in shipped(task):
        for sentence in _SENTENCE.findall(_FACT.sub(_STATED, each.system)):
            if _STATED not in sentence and not _values(task).isdisjoint(map(stem, words(sentence))):
                text = text.replace(sentence, "")
    return text


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
