"""Paraphrasing of some prompts' instructions by a language model, with all else unchanged.

Only the sentence with the request is sent to the model: of a sql_qa prompt the question, which names values of the
store's catalogue, and only if it is one of the bank's; of every other prompt the instruction, and only if it is one of
the known wordings of its task. A shopper's texts, and the store's data about one, never leave this machine: the
endpoint may be a third party's, and under Brazil's LGPD the text of a review is personal data.

A paraphrase is used if it keeps the facts (`paraphrase_check`). One that does not is counted by its reason and
requested again, up to a limit, and then dropped. All answers are cached: the second run sends no requests.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from pathlib import Path

from schemas.config.config import ParaphraseConfig
from schemas.tables.prompts import PromptRow, canonical_json, content_id
from schemas.tables.prompts_summary import ParaphraseCounts
from schemas.tasks import TaskName
from tasks.commerce.sql_qa.prompts import read_families
from tasks.commerce.text.lexicons import read_wording
from tasks.policy.endpoint import Endpoint, EndpointError, EndpointQuestion, Reply, ReplyCache, open_cache
from tasks.synthesize.paraphrase_check import Sentence, find_fault, lists, named_values, tidy

FILE = "answers.sqlite3"
"""Cache of answers: they cannot be reproduced, so it is what makes equal inputs give equal bytes."""
BATCH = 64
MAX_TOKENS = 200


@dataclass
class Tally:
    """Counts of the paraphrasing."""

    made: Counter[TaskName] = field(default_factory=Counter)
    dropped: Counter[TaskName] = field(default_factory=Counter)
    """Sentences without any acceptable answer, by task."""
    refused: Counter[str] = field(default_factory=Counter)
    failure: str | None = None
    """Reason for abandoning the endpoint, if the configuration allows that."""

    def counts(self) -> ParaphraseCounts:
        """Return the counts for the summary, independent of the cache's earlier content."""
        return ParaphraseCounts(
            made=dict(sorted(self.made.items())),
            dropped=dict(sorted(self.dropped.items())),
            refused_answers=dict(sorted(self.refused.items())),
            failure=self.failure,
        )


@contextmanager
def open_paraphraser(config: ParaphraseConfig, seed: int, cache_folder: Path) -> Iterator["Paraphraser"]:
    """Open the cache and the endpoint; nothing is sent yet."""
    with (
        open_cache(cache_folder / FILE, "the cache of paraphrases") as cache,
        Endpoint(
            config,
            purpose="paraphrasing",
            section="synthesize.paraphrase",
            otherwise="set synthesize.paraphrase.mandatory=false to go on without",
            temperature=config.temperature,
            max_tokens=MAX_TOKENS,
        ) as endpoint,
    ):
        yield Paraphraser(config, seed, cache, endpoint)


class Paraphraser:
    """Paraphraser of prompt rows."""

    def __init__(self, config: ParaphraseConfig, seed: int, cache: ReplyCache, endpoint: Endpoint) -> None:
        """Use `open_paraphraser` instead."""
        self.tally = Tally()
        self._config = config
        self._seed = seed
        self._cache = cache
        self._endpoint = endpoint
        # Some dozen wordings recur in every batch; questions, of which there are many, are not kept.
        self._wordings: dict[Sentence, list[str]] = {}

    def follow(self, rows: Iterable[PromptRow]) -> Iterator[PromptRow]:
        """Yield every row, each followed by its paraphrases."""
        remaining = iter(rows)
        while batch := list(islice(remaining, BATCH)):
            chosen = {row.prompt_id: find_sentence(row) for row in batch if self._is_chosen(row)}
            places = {prompt_id: place for prompt_id, place in chosen.items() if place}
            found = self._paraphrases({sentence: None for sentence, _ in places.values()})
            for row in batch:
                yield row
                if row.prompt_id in places:
                    sentence, start = places[row.prompt_id]
                    yield from self._children(row, start, start + len(sentence.text), found[sentence])

    def _is_chosen(self, row: PromptRow) -> bool:
        draw = hashlib.sha256(f"{self._seed}:{row.prompt_id}".encode()).digest()
        return int.from_bytes(draw[:8]) < self._config.share * 2**64

    def _children(self, row: PromptRow, start: int, end: int, texts: Sequence[str]) -> Iterator[PromptRow]:
        self.tally.made[row.task] += len(texts)
        self.tally.dropped[row.task] += self._config.variants - len(texts)
        for text in texts:
            prompt = row.prompt[:start] + text + row.prompt[end:]
            identity = content_id(row.task, row.system, prompt, row.reference)
            yield replace(row, prompt_id=identity, prompt=prompt, parent_id=row.prompt_id)

    def _paraphrases(self, sentences: Iterable[Sentence]) -> Mapping[Sentence, list[str]]:
        """Return the accepted paraphrases of each sentence, without duplicates, after as many rounds as needed."""
        found = {sentence: self._wordings.get(sentence) for sentence in sentences}
        new: dict[Sentence, list[str]] = {sentence: [] for sentence, known in found.items() if known is None}
        wanting = [(sentence, variant) for sentence in new for variant in range(self._config.variants)]
        for ask in range(self._config.max_asks):
            answers = self._answers(wanting, ask)
            # In the order of the questions, whatever order the answers came in.
            refused = [
                wanted for wanted in wanting if wanted in answers and not self._take(wanted[0], answers[wanted], new)
            ]
            wanting = refused
        self._wordings |= {sentence: texts for sentence, texts in new.items() if sentence.pool}
        return {sentence: new[sentence] if known is None else known for sentence, known in found.items()}

    def _take(self, sentence: Sentence, answer: str, accepted: Mapping[Sentence, list[str]]) -> bool:
        text = tidy(answer)
        fault = find_fault(sentence, text)
        if fault is None and text in accepted[sentence]:
            fault = "nothing new"
        if fault is None:
            accepted[sentence].append(text)
        else:
            self.tally.refused[fault] += 1
        return fault is None

    def _answers(self, wanting: Sequence[tuple[Sentence, int]], ask: int) -> dict[tuple[Sentence, int], str]:
        """Return the answers to a round of questions; some are missing only if the endpoint was abandoned."""
        instruction = lists()["instruction"]
        keys = {
            (sentence, variant): self._key(instruction, sentence.text, variant, ask) for sentence, variant in wanting
        }
        known = {wanted: self._cache.get(key) for wanted, key in keys.items()}
        unknown = {keys[wanted]: wanted[0].text for wanted, answer in known.items() if answer is None}
        # A key is a digest in hexadecimal, whose first seven digits are the seed.
        questions = [EndpointQuestion(key, instruction, text, int(key[:7], 16)) for key, text in unknown.items()]
        asked = self._ask(questions) if self.tally.failure is None else {}
        answers = {wanted: asked.get(keys[wanted]) if answer is None else answer for wanted, answer in known.items()}
        return {wanted: answer for wanted, answer in answers.items() if answer is not None}

    def _key(self, instruction: str, text: str, variant: int, ask: int) -> str:
        """Return the sha256 of everything that decides an answer: `ask` counts those that were rejected before."""
        question = {
            "model": self._config.model,
            "temperature": self._config.temperature,
            "instruction": instruction,
            "text": text,
            "variant": variant,
            "ask": ask,
        }
        return hashlib.sha256(canonical_json(question).encode()).hexdigest()

    def _ask(self, questions: Sequence[EndpointQuestion]) -> dict[str, str]:
        """Ask the endpoint, and save every answer on arrival."""
        answers: dict[str, str] = {}

        def keep(key: str, reply: Reply) -> None:
            answers[key] = reply.text
            self._cache.put(key, reply.text)

        if questions and (failure := self._endpoint.ask_all(questions, keep)):
            if self._config.mandatory:
                raise EndpointError(failure)
            self.tally.failure = failure
        return answers


def find_sentence(row: PromptRow) -> tuple[Sentence, int] | None:
    """Return the sentence of a prompt that may be paraphrased and sent away, and its position; None without one."""
    if row.task == "sql_qa":
        question = _question(row.prompt.partition("\n")[0])
        if not question:
            return None
        return Sentence(row.task, question, named_values(question, row.reference)), row.prompt.index(question)
    wordings = read_wording(row.task).instructions
    start = 0
    for line in row.prompt.split("\n"):
        if line in wordings:
            return Sentence(row.task, line, pool=wordings), start
        start += len(line) + 1
    return None


def _question(line: str) -> str | None:
    """Strip the sql_qa wording around a question of the bank; None if there is no such question."""
    frames = [wording.partition("{question}") for wording in read_wording("sql_qa").instructions]
    inner = [
        line[len(before) : len(line) - len(after)].strip()
        for before, _, after in frames
        if line.startswith(before) and line.endswith(after)
    ]
    return next((text for text in sorted(inner, key=len) if _bank().fullmatch(text)), None)


@cache
def _bank() -> re.Pattern[str]:
    """Return a pattern of the bank's questions, with any store value in the place of a parameter."""
    value = r"[\\w-]+(?:[ .,][\\w-]+){0,5}"
    texts = [text for family in read_families() for text in family.texts]
    return re.compile("|".join(re.sub(r"\\\{\w+(?::\w+)?\\\}", value, re.escape(text)) for text in texts))
