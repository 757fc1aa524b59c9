"""Version with the engine that has its weights, and the golden prompts that it must answer before it serves.

Golden prompts are a version's own, answered at its evaluation. A wrong template, a wrong tokenizer or damaged weights
would serve otherwise: every request would be answered, badly.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final

from schemas.documents import Rollout
from schemas.errors import GateRefused
from schemas.tables.prompts import PromptRow
from tasks.commerce.registry import SERVED, TASKS, grammar_of, score_rollout
from tasks.commerce.served import Served
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.policy.generate import as_messages
from tasks.serve.engines.client import AnswerEngine, EngineQuestion, EngineRefused, EngineUnavailable
from tasks.serve.engines.vllm import EngineProcess
from tasks.serve.served_model import ServedModel

SECONDS_TO_ANSWER: Final = 600.0
"""Time for all golden prompts; an engine that hangs would keep a champion from being tried again."""


class DeployedVersion:
    """A version that answers requests."""

    def __init__(self, model: ServedModel, client: AnswerEngine, process: EngineProcess | None) -> None:
        """Describe a deployment; its engine is started by the caller.

        Args:
            model: The version.
            client: Its engine.
            process: The engine's process; None where it is this one, or somebody else runs it.
        """
        self.model, self.client, self.process = model, client, process
        self.under_way = 0
        """Requests that it answers now."""
        self._idle = asyncio.Event()
        self._idle.set()
        # Queries run in a thread of their own, to which the store's copies belong.
        self._queries = ThreadPoolExecutor(1, thread_name_prefix="queries")
        self._databases: Databases | None = None

    @property
    def is_ready(self) -> bool:
        """Whether its engine answers, as far as is known."""
        return self.process is None or self.process.ready.is_set()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Count a request in the block: until it ends the engine stays."""
        self.under_way += 1
        self._idle.clear()
        try:
            yield
        finally:
            self.under_way -= 1
            if not self.under_way:
                self._idle.set()

    async def wait_until_ready(self) -> None:
        """Wait until the engine answers."""
        if self.process is not None:
            await self.process.ready.wait()

    async def serve(self, row: PromptRow, completion: str) -> Served:
        """Check an answer to a prompt, and return what may be given away."""
        if row.task != "sql_qa" or self.model.store is None:
            return TASKS[row.task].serve(completion, row.prompt, None)
        run = asyncio.get_running_loop().run_in_executor
        return await run(self._queries, self._serve_query, self.model.store, row, completion)

    def _serve_query(self, store: Path, row: PromptRow, completion: str) -> Served:
        if self._databases is None:
            self._databases = Databases.open(store)
        return TASKS[row.task].serve(completion, row.prompt, self._databases)

    async def retire(self) -> None:
        """Wait for the requests that it answers, and end its engine."""
        await self._idle.wait()
        if self.process is not None:
            await self.process.stop()
        await self.client.close()
        self._queries.shutdown(wait=False)


@dataclass(frozen=True)
class GoldenPrompt:
    """A prompt with the version's answer at its evaluation."""

    row: PromptRow
    rollout: Rollout


@dataclass(frozen=True)
class GoldenCheck:
    """Answers of an engine compared with those of the evaluation."""

    prompts: int
    equal: int
    """Answers that are the same text."""
    promised: float
    """Mean reward of the evaluation's answers."""
    found: float
    """Mean reward of the engine's."""

    def __str__(self) -> str:
        return (
            f"{self.prompts} prompts of its evaluation asked again, mean reward {self.found:.3f} after "
            f"{self.promised:.3f}, {self.equal} answers word for word the same"
        )


def chosen(rows: Sequence[PromptRow], rollouts: Mapping[str, Rollout], count: int) -> list[GoldenPrompt]:
    """Return golden prompts, of each task as many as of any other, in the order of the test split.

    Args:
        rows: Prompts of the test split.
        rollouts: The version's answers, by prompt.
        count: How many.
    """
    by_task: dict[str, list[PromptRow]] = {}
    for row in rows:
        if row.prompt_id in rollouts:
            by_task.setdefault(row.task, []).append(row)
    # The tasks take turns until there are enough.
    turns = [row for place in range(count) for of_task in by_task.values() for row in of_task[place : place + 1]]
    return [GoldenPrompt(row, rollouts[row.prompt_id]) for row in turns[:count]]


async def check_golden(
    deployment: DeployedVersion, golden: Sequence[GoldenPrompt], *, tolerance: float
) -> GoldenCheck | None:
    """Let an engine answer golden prompts; None without any.

    Args:
        deployment: The version, whose engine answers; without its store, queries are not compared.
        golden: The prompts.
        tolerance: Most by which the mean reward may be below the promised one.

    Raises:
        GateRefused: It is below by more, or the engine does not answer.
    """
    model = deployment.model
    asked = [each for each in golden if model.store is not None or each.row.task != "sql_qa"]
    if not asked:
        return None
    questions = [
        EngineQuestion(
            model=model.name_of(each.row.task),
            messages=as_messages(each.row.system, each.row.prompt),
            temperature=model.decoding.temperature,
            max_tokens=model.decoding.max_tokens,
            seed=model.seed if deployment.client.takes_seed else None,
            grammar=grammar_of(each.row.task, each.row.prompt, SERVED),
        )
        for each in asked
    ]
    try:
        async with asyncio.timeout(SECONDS_TO_ANSWER):
            answers = await asyncio.gather(*map(deployment.client.complete, questions))
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
    answered = [each.row.answered(text) for each, text in zip(asked, texts, strict=True)]
    promised = [score_rollout(each.rollout, databases, model.spec).reward for each in asked]
    found = [score_rollout(each, databases, model.spec).reward for each in answered]
    equal = sum(each.rollout.completion == text for each, text in zip(asked, texts, strict=True))
    return GoldenCheck(len(asked), equal, fmean(promised), fmean(found))
