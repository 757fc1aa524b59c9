"""Version of the model with the engine that has its weights, and the requests that it answers now."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from schemas.tables.prompts import PromptRow
from tasks.commerce.registry import TASKS
from tasks.commerce.served import Served
from tasks.commerce.sql_qa.open_databases import open_databases
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.serve.engines.client import EngineClient
from tasks.serve.engines.process import EngineProcess
from tasks.serve.served_model import ServedModel


class DeployedVersion:
    """A version that answers requests."""

    def __init__(self, model: ServedModel, client: EngineClient, process: EngineProcess | None) -> None:
        """Describe a deployment; its engine is started by the caller.

        Args:
            model: The version.
            client: Reaches its engine.
            process: The engine's process; None where somebody else runs it.
        """
        self.model, self.client, self.process = model, client, process
        self.under_way = 0
        """Requests that it answers now."""
        self._idle = asyncio.Event()
        self._idle.set()
        self._checks = AnswerChecks(model)

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
        return await self._checks.serve(row, completion)

    async def retire(self) -> None:
        """Wait for the requests that it answers, and end its engine."""
        await self._idle.wait()
        if self.process is not None:
            await self.process.stop()
        await self.client.close()
        self._checks.close()


class AnswerChecks:
    """Checks of a version's answers; queries run in a thread of their own, to which the store's copies belong."""

    def __init__(self, model: ServedModel) -> None:
        """Prepare the checks; the store is read at the first query.

        Args:
            model: The version, which has the store that queries run on.
        """
        self._store = model.store
        self._databases: Databases | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="queries")

    async def serve(self, row: PromptRow, completion: str) -> Served:
        """Check an answer to a prompt."""
        if row.task != "sql_qa" or self._store is None:
            return TASKS[row.task].serve(completion, row.prompt, None)
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._run, self._store, row, completion)

    def close(self) -> None:
        """End the thread once its last query ended."""
        self._thread.shutdown(wait=False)

    def _run(self, store: Path, row: PromptRow, completion: str) -> Served:
        if self._databases is None:
            self._databases = open_databases(store)
        return TASKS[row.task].serve(completion, row.prompt, self._databases)
