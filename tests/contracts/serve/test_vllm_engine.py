"""The pinned vLLM on a CPU behind the gateway's own client: adapters by name, cached prefixes, grammars, a kill.

`make test-serve` makes the environment of vLLM's build for CPUs and runs this.
"""

import asyncio
import os
import re
import signal
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import httpx
import psutil
import pytest

from schemas.source import REPOSITORY
from schemas.tasks import TaskName
from tasks.commerce.registry import TASKS
from tasks.policy.generate import as_messages, generate
from tasks.policy.load import load_policy, load_tokenizer
from tasks.policy.stand_in import shipped
from tasks.serve.engines.client import EngineClient, EngineQuestion
from tasks.serve.engines.vllm import EngineProcess, run_vllm, vllm_command
from tasks.serve.questions import question_of
from tasks.serve.served_model import CHAMPION
from tests.tasks.policy.test_adapters import save_adapter

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(1200)]

INTERPRETER: Final = REPOSITORY / ".venv-vllm" / "bin" / "python"
# A prefix is kept in whole blocks, and a system prompt of the stand-in has fewer tokens than a CPU's block of 128.
ON_A_CPU: Final = (
    "--dtype=float32",
    "--enforce-eager",
    "--enable-prefix-caching",
    "--max-num-seqs=16",
    "--block-size=32",
)
REVIEWS: Final = ("Chegou quebrado", "Amei, recomendo", "Demorou, mas veio certo", "Não é o que pedi")
TOKENS: Final = 24
HITS: Final = re.compile(r"^vllm:prefix_cache_hits_total\{.*\} ([0-9.e+]+)$", re.MULTILINE)
COLD: Final = 1e-4
"""Temperature at which both always draw the most likely token."""
ADAPTERS: Final[tuple[TaskName, ...]] = ("sentiment", "extraction")


def _question(task: TaskName, review: str, model: str = CHAMPION, *, guided: bool = False) -> EngineQuestion:
    row = question_of(task, {"review": review})
    return EngineQuestion(
        model, as_messages(row.system, row.prompt), COLD, TOKENS, None, TASKS[task].grammar if guided else ""
    )


@pytest.fixture(scope="module")
def base() -> Path:
    return shipped()


@pytest.fixture(scope="module")
def adapters(base: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("adapters")
    return {task: save_adapter(base, folder / task, seed) for seed, task in enumerate(ADAPTERS)}


def _in_vllm(
    base: Path, adapters: dict[str, Path], folder: Path, test: Callable[[EngineClient, EngineProcess], Awaitable[None]]
) -> None:
    async def run() -> None:
        socket = folder / "engine"
        client = EngineClient("http://engine/v1", socket=socket, connections=8)
        command = vllm_command(INTERPRETER, base, adapters, socket, ON_A_CPU)
        run = partial(run_vllm, command, socket, folder / "vllm.log")
        process = EngineProcess("version 1", run, client, seconds_to_load=600)
        await process.start()
        try:
            await test(client, process)
        finally:
            await process.stop()
            await client.close()

    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    asyncio.run(run())


def _by_transformers(base: Path, adapter: Path | None, task: TaskName) -> list[str]:
    tokenizer = load_tokenizer(base)
    rows = [question_of(task, {"review": review}) for review in REVIEWS]
    answers = generate(
        load_policy(base, adapter, four_bit=False),
        tokenizer,
        [as_messages(row.system, row.prompt) for row in rows],
        temperature=COLD,
        max_tokens=TOKENS,
        batch_size=1,
        seed=0,
    )
    return [answer.text for answer in answers]


def test_adapters_are_asked_by_name_prefixes_are_kept_and_grammars_guide(
    base: Path, adapters: dict[str, Path], tmp_path: Path
) -> None:
    async def test(client: EngineClient, process: EngineProcess) -> None:
        for task in ADAPTERS:
            for model, adapter in ((CHAMPION, None), (task, adapters[task])):
                answers = [await client.complete(_question(task, review, model)) for review in REVIEWS]
                assert [answer.text for answer in answers] == _by_transformers(base, adapter, task)
        async with httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(uds=str(tmp_path / "engine"))) as http:
            hits = HITS.findall((await http.get("http://engine/metrics")).text)
        print("tokens of prompts that were found in the cache:", hits)
        assert sum(map(float, hits)) > 0
        # Long enough for the whole object.
        guided = replace(_question("sentiment", REVIEWS[0], guided=True), max_tokens=64)
        assert TASKS["sentiment"].serve((await client.complete(guided)).text, "", None).checked

    _in_vllm(base, adapters, tmp_path, test)


def test_a_killed_vllm_comes_back_and_leaves_no_process(base: Path, tmp_path: Path) -> None:
    async def test(client: EngineClient, process: EngineProcess) -> None:
        question = _question("sentiment", REVIEWS[0])
        before = (await client.complete(question)).text
        assert process.pid is not None
        workers = psutil.Process(process.pid).children(recursive=True)
        os.kill(process.pid, signal.SIGKILL)
        async with asyncio.timeout(300):
            while process.ready.is_set():
                await asyncio.sleep(0.05)
            await process.ready.wait()
        assert (await client.complete(question)).text == before
        _, alive = psutil.wait_procs(workers, 30)
        assert not alive

    _in_vllm(base, {}, tmp_path, test)
