"""Version with the engine that has its weights, and the golden prompts that it must answer before it serves.

Golden prompts are a version's own, with its answers at its evaluation. Otherwise a wrong template, a wrong tokenizer or
damaged weights would serve: every request would be answered, badly.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Final

from schemas.documents import Rollout
from schemas.errors import GateRefused
from schemas.tables.prompts import PromptRow
from tasks.commerce.registry import SERVED, TASKS, grammar_of, score_rollout
from tasks.commerce.served import Served
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.policy.generate import as_messages
from tasks.serve.engine_client import EngineAnswer, EngineClient, EngineQuestion, EngineRefused, EngineUnavailable
from tasks.serve.local_engine import LocalEngine
from tasks.serve.served_model import CHAMPION, ServedModel

SECONDS_TO_ANSWER: Final = 600.0
"""Time for all golden prompts; an engine that hangs would keep a champion from being tried again."""


class DeployedVersion:
    """A version that answers requests."""

    def __init__(self, model: ServedModel, client: EngineClient | LocalEngine) -> None:
        """Describe a version and its engine, which is taken to heed grammars until `try_guidance` shows otherwise."""
        self.model, self.client, self.guides = model, client, True
        self.beside: dict[str, DeployedVersion] = {}
        """What can answer the same questions, for people to compare, by name."""
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()
        # Queries run in a thread of their own, to which the store's copies belong.
        self._queries = ThreadPoolExecutor(1, thread_name_prefix="queries")

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Count a request in the block: until it ends the engine stays."""
        self._under_way += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._under_way -= 1
            if not self._under_way:
                self._idle.set()

    def question(self, row: PromptRow) -> EngineQuestion:
        """Return a prompt as its engine is asked, drawn and guided as at the evaluation."""
        model = self.model
        return EngineQuestion(
            model=model.name_of(row.task),
            messages=as_messages(row.system, row.prompt),
            temperature=model.decoding.temperature,
            max_tokens=model.decoding.max_tokens,
            seed=model.seed if self.client.takes_seed else None,
            grammar=grammar_of(row.task, row.prompt, SERVED) if self.guides and row.task not in model.bags else "",
        )

    async def try_guidance(self) -> str | None:
        """Ask for a word by a grammar of our kind; where the engine cannot guide, return why, and ask on without."""
        asked = EngineQuestion(CHAMPION, as_messages("Diga.", "sim"), 1.0, 8, None, "start: A\nA: /sim/ & ~/não/")
        try:
            answer = await asyncio.wait_for(self.client.complete(asked), SECONDS_TO_ANSWER)
            why = None if answer.text.strip() == "sim" else "it does not heed a grammar"
        except EngineRefused as error:
            why = str(error)
        except (EngineUnavailable, TimeoutError):
            return None  # The golden prompts, or the first request, will show it.
        for each in (self, *self.beside.values()):
            each.guides = why is None
        return why

    async def complete(self, row: PromptRow, asked: EngineQuestion) -> EngineAnswer:
        """Return the engine's answer, or that of the task's bag of words where it has one."""
        bag = self.model.bags.get(row.task)
        return await self.client.complete(asked) if bag is None else EngineAnswer(bag.answer(row.prompt), 0, 0, "stop")

    async def serve(self, row: PromptRow, completion: str) -> Served:
        """Check an answer to a prompt, and return what may be given away."""
        if row.task != "sql_qa":
            return TASKS[row.task].serve(completion, row.prompt, None)
        run = asyncio.get_running_loop().run_in_executor
        return await run(self._queries, lambda: TASKS[row.task].serve(completion, row.prompt, self._databases))

    @cached_property
    def _databases(self) -> Databases | None:
        return None if self.model.store is None else Databases.open(self.model.store)

    async def retire(self) -> None:
        """Wait for the requests that it answers, and end its engine."""
        await self._idle.wait()
        for other in self.beside.values():
            await other.retire()
        await self.client.close()
        self._queries.shutdown(wait=False)


GoldenPrompt = tuple[PromptRow, Rollout]
"""A prompt with the version's answer at its evaluation."""


@dataclass(frozen=True)
class GoldenCheck:
    """Answers of an engine compared with those of the evaluation."""

    prompts: int
    equal: int
    """Answers that are the same text."""
    promised: float
    found: float
    """Mean rewards of the evaluation's answers, and of the engine's."""

    def __str__(self) -> str:
        return (
            f"{self.prompts} prompts of its evaluation asked again, mean reward {self.found:.3f} after "
            f"{self.promised:.3f}, {self.equal} answers word for word the same"
        )


def chosen(rows: Sequence[PromptRow], rollouts: Mapping[str, Rollout], count: int) -> list[GoldenPrompt]:
    """Return golden prompts, of each task as many as of any other, by the version's answers to the test split."""
    by_task: dict[str, list[PromptRow]] = {}
    for row in rows:
        if row.prompt_id in rollouts:
            by_task.setdefault(row.task, []).append(row)
    # The tasks take turns until there are enough.
    turns = [row for place in range(count) for of_task in by_task.values() for row in of_task[place : place + 1]]
    return [(row, rollouts[row.prompt_id]) for row in turns[:count]]


async def check_golden(
    deployment: DeployedVersion, golden: Sequence[GoldenPrompt], *, tolerance: float
) -> GoldenCheck | None:
    """Let a version's engine answer golden prompts; None without any. Without its store, queries are left out.

    Refused are an engine that is silent, and a mean reward below the promised one by more than the tolerance.
    """
    model = deployment.model
    known = ((row, rollout) for row, rollout in golden if row.task not in model.bags)
    asked = [(row, rollout) for row, rollout in known if model.store is not None or row.task != "sql_qa"]
    if not asked:
        return None
    try:
        async with asyncio.timeout(SECONDS_TO_ANSWER):
            answers = await asyncio.gather(*(deployment.client.complete(deployment.question(row)) for row, _ in asked))
    except TimeoutError:
        raise GateRefused(f"{model.name} does not answer its golden prompts in {SECONDS_TO_ANSWER:g} seconds") from None
    except (EngineUnavailable, EngineRefused) as error:
        raise GateRefused(f"{model.name} does not answer its golden prompts: {error}") from None
    # Not in the event loop, which answers requests meanwhile.
    check = await asyncio.to_thread(_compare, asked, [answer.text for answer in answers], model)
    if check.found < check.promised - tolerance:
        raise GateRefused(f"{model.name} does not answer as it was evaluated: {check}")
    return check


def _compare(asked: Sequence[GoldenPrompt], texts: Sequence[str], model: ServedModel) -> GoldenCheck:
    databases = Databases.open(model.store) if model.store is not None else None
    promised = [score_rollout(rollout, databases, model.spec).reward for _, rollout in asked]
    answered = [row.answered(text) for (row, _), text in zip(asked, texts, strict=True)]
    found = [score_rollout(each, databases, model.spec).reward for each in answered]
    equal = sum(rollout.completion == text for (_, rollout), text in zip(asked, texts, strict=True))
    return GoldenCheck(len(asked), equal, fmean(promised), fmean(found))
