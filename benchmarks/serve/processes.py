"""A champion, `tucano serve` of it, and clients."""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from statistics import quantiles
from typing import Any, Final

import httpx

from benchmarks.serve.attacks import MODEL
from schemas.artifact import ArtifactRecord
from schemas.errors import InputError
from schemas.source import REPOSITORY
from tasks.policy.child import end_group
from tasks.policy.load import ADAPTER_FOLDER, load_base
from tasks.policy.published import shipped
from tests.flows.promotable import Promotable, commit, make_promotable

GATEWAY_LOG: Final = "gateway.log"
SECONDS_TO_START: Final = 240


@dataclass(frozen=True)
class Load:
    """What clients saw."""

    requests: int
    failed: int
    requests_a_second: float
    tokens_a_second: float
    milliseconds: tuple[float, float, float]
    """Of an answer: the median, and what 95 % and 99 % are within."""


def free_port() -> int:
    """Return a port that nothing uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def gateway(
    folder: Path, state: Path, *settings: str, variables: Mapping[str, str] | None = None
) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """Run `tucano serve` on a state folder, and yield its base URL and its process."""
    port = free_port()
    given = (f"state.root={state}", f"serve.port={port}", "serve.golden_prompts=0", "serve.answer_all=true", *settings)
    command = [sys.executable, "-m", "flows", "serve", *(part for each in given for part in ("--set", each))]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), **(variables or {})}
    with (folder / GATEWAY_LOG).open("ab") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment, start_new_session=True
        )
    try:
        deadline = time.monotonic() + SECONDS_TO_START
        while not _is_healthy(f"http://127.0.0.1:{port}/readyz"):
            if process.poll() is not None or time.monotonic() > deadline:
                raise InputError(f"tucano serve did not start; its log is {folder / GATEWAY_LOG}")
            time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1", process
    finally:
        end_group(process, 20)


def load(url: str, bodies: Sequence[dict[str, Any]], *, clients: int, seconds: float) -> Load:
    """Let clients ask for some time, each the next prompt when it is answered."""
    return asyncio.run(_load(url, bodies, clients, seconds))


async def _load(url: str, bodies: Sequence[dict[str, Any]], clients: int, seconds: float) -> Load:
    took, failed, tokens, turn = list[float](), 0, 0, count()
    began = time.monotonic()
    limits = httpx.Limits(max_connections=clients)

    async def ask(client: httpx.AsyncClient) -> None:
        nonlocal failed, tokens
        while time.monotonic() - began < seconds:
            asked = time.monotonic()
            try:
                answer = await client.post(f"{url}/chat/completions", json=bodies[next(turn) % len(bodies)])
                answer.raise_for_status()
            except httpx.HTTPError:
                failed += 1
                continue
            took.append(1000 * (time.monotonic() - asked))
            tokens += answer.json()["usage"]["completion_tokens"]

    async with httpx.AsyncClient(timeout=SECONDS_TO_START, limits=limits) as client:
        await asyncio.gather(*(ask(client) for _ in range(clients)))
    whole = time.monotonic() - began
    if len(took) < 2:
        raise InputError(
            f"{len(took)} requests were answered and {failed} failed in {seconds:g} s; give more --seconds"
        )
    percentiles = quantiles(took, n=100, method="inclusive")
    return Load(
        requests=len(took) + failed,
        failed=failed,
        requests_a_second=len(took) / whole,
        tokens_a_second=tokens / whole,
        milliseconds=(percentiles[49], percentiles[94], percentiles[98]),
    )


def _is_healthy(url: str) -> bool:
    try:
        return httpx.get(url, timeout=2).is_success
    except httpx.HTTPError:
        return False


def promote_stand_in(root: Path) -> None:
    """Make a policy of the stand-in, whose adapter changes nothing, the champion."""
    world = replace(
        make_promotable(root),
        base=commit(root, "base", lambda folder: shutil.copytree(shipped(), folder, dirs_exist_ok=True)),
    )

    def fill(folder: Path) -> None:
        from peft import LoraConfig, get_peft_model

        # As PEFT begins, an adapter changes nothing.
        adapter = LoraConfig(r=2, target_modules="all-linear", task_type="CAUSAL_LM")
        get_peft_model(load_base(shipped(), four_bit=False), adapter).save_pretrained(folder / ADAPTER_FOLDER)

    promote(world, commit(root, "policy", fill, {"base": world.base.sha256, "dataset": world.dataset.sha256}))


def promote(world: Promotable, policy: ArtifactRecord) -> None:
    """Register a policy, and make it the champion."""
    version = world.register(policy, world.evaluation("promote"), "promote", MODEL)
    world.registry.promote(MODEL, "champion", "previous", version, promotion="0" * 64)


def logged(state: Path) -> dict[str, str]:
    """Return the model's version of each request in the log."""
    lines = (line for file in (state / "logs").glob("*.jsonl") for line in file.read_text().splitlines())
    return {line["request_id"]: line["model_version"] for line in map(json.loads, lines)}
