"""Processes and versions to serve: an engine on a port, `tucano serve` before it, and clients."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import quantiles
from typing import Any, Final

import httpx

from flows.runtime.session import EXPERIMENT, artifacts_folder, mlflow_store
from schemas.artifact import ArtifactKind, ArtifactRecord
from schemas.config.config import Config
from schemas.errors import InputError
from schemas.source import REPOSITORY
from tasks.lineage.mlflow.recorder import Recorder
from tasks.lineage.mlflow.registry import Registry
from tasks.lineage.store.artifacts import ArtifactStore
from tasks.policy.child import end_group
from tasks.policy.load import ADAPTER_FOLDER, load_base
from tasks.policy.published import shipped

GATEWAY_LOG: Final = "gateway.log"
SECONDS_TO_START: Final = 240
SECONDS_TO_END: Final = 20
VERSIONS: Final = ("1", "2")
VLLM_ON_A_CPU: Final = ("--dtype=float32", "--enforce-eager", "--block-size=32")


@dataclass(frozen=True)
class Load:
    """What clients saw."""

    requests: int
    failed: int
    requests_a_second: float
    tokens_a_second: float
    p50: float
    """Milliseconds."""
    p95: float
    p99: float
    valid: float
    """Share of answers that are one JSON object."""


def free_port() -> int:
    """Return a port that nothing uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def vllm_engine(folder: Path, interpreter: Path) -> Iterator[str]:
    """Run vLLM with the stand-in, and yield its base URL."""
    port = free_port()
    command = [str(interpreter), "-m", "vllm.entrypoints.openai.api_server", "--model", str(shipped())]
    command += ["--served-model-name", "champion", "--host", "127.0.0.1", "--port", str(port), *VLLM_ON_A_CPU]
    environment = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    with _running(command, folder / "vllm.log", f"http://127.0.0.1:{port}/health", environment):
        yield f"http://127.0.0.1:{port}/v1"


@contextmanager
def gateway(
    folder: Path, state: Path, *settings: str, variables: dict[str, str] | None = None
) -> Iterator[tuple[str, "subprocess.Popen[bytes]"]]:
    """Run `tucano serve` on a state folder, and yield its base URL and its process."""
    port = free_port()
    given = (f"state.root={state}", f"serve.port={port}", "serve.golden_prompts=0", "serve.answer_all=true", *settings)
    command = [sys.executable, "-m", "flows", "serve", *(part for each in given for part in ("--set", each))]
    with _running(command, folder / GATEWAY_LOG, f"http://127.0.0.1:{port}/readyz", variables) as process:
        yield f"http://127.0.0.1:{port}/v1", process


def load(url: str, bodies: Sequence[dict[str, Any]], *, clients: int, seconds: float) -> Load:
    """Let clients ask for some time, each the next prompt when it is answered."""
    return asyncio.run(_load(url, bodies, clients, seconds))


async def _load(url: str, bodies: Sequence[dict[str, Any]], clients: int, seconds: float) -> Load:
    took, failed, tokens, valid, turn = list[float](), Counter[str](), 0, 0, count()
    began = time.monotonic()
    limits = httpx.Limits(max_connections=clients)

    async def ask(client: httpx.AsyncClient) -> None:
        nonlocal tokens, valid
        while time.monotonic() - began < seconds:
            asked = time.monotonic()
            try:
                answer = await client.post(f"{url}/chat/completions", json=bodies[next(turn) % len(bodies)])
                answer.raise_for_status()
            except httpx.HTTPStatusError as error:
                failed[str(error.response.status_code)] += 1
                continue
            except httpx.HTTPError as error:
                failed[type(error).__name__] += 1
                continue
            took.append(1000 * (time.monotonic() - asked))
            document = answer.json()
            tokens += document["usage"]["completion_tokens"]
            with suppress(ValueError):
                valid += isinstance(json.loads(document["choices"][0]["message"]["content"] or ""), dict)

    async with httpx.AsyncClient(timeout=SECONDS_TO_START, limits=limits) as client:
        await asyncio.gather(*(ask(client) for _ in range(clients)))
    whole = time.monotonic() - began
    if len(took) < 2:
        raise InputError(
            f"{len(took)} requests to {url} were answered in {seconds:g} s, and {dict(failed)} failed; measure longer "
            "with --seconds"
        )
    percentiles = quantiles(took, n=100, method="inclusive")
    return Load(
        requests=len(took) + failed.total(),
        failed=failed.total(),
        requests_a_second=len(took) / whole,
        tokens_a_second=tokens / whole,
        p50=percentiles[49],
        p95=percentiles[94],
        p99=percentiles[98],
        valid=valid / len(took),
    )


@contextmanager
def _running(
    command: Sequence[str], log_file: Path, health: str, environment: dict[str, str] | None = None
) -> Iterator["subprocess.Popen[bytes]"]:
    with log_file.open("ab") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            cwd=REPOSITORY,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY), **(environment or {})},
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + SECONDS_TO_START
        while not is_healthy(health):
            if process.poll() is not None or time.monotonic() > deadline:
                raise InputError(f"{' '.join(command[:4])} did not start; its log is {log_file}")
            time.sleep(0.2)
        yield process
    finally:
        end_group(process, SECONDS_TO_END)


def is_healthy(url: str) -> bool:
    """Return whether something answers there."""
    try:
        return httpx.get(url, timeout=2).is_success
    except httpx.HTTPError:
        return False


def make_versions(config: Config) -> Registry:
    """Make the artifacts of both versions, register them, and make the first the champion."""
    store = ArtifactStore(artifacts_folder(config))
    name = config.promote.model_name
    base = _commit(store, "base", _copy_stand_in, {})
    dataset = _commit(store, "dataset", _note("dataset"), {})
    recorder = Recorder(*mlflow_store(config.state), EXPERIMENT)
    registry = Registry(mlflow_store(config.state)[0])
    for version in VERSIONS:
        inputs = {"base": base.sha256, "dataset": dataset.sha256}
        policy = _commit(store, "policy", _adapter(changes=version != VERSIONS[0]), inputs)
        evaluation = _commit(store, "evaluation", _note(version), {})
        with recorder.pipeline("serve", {}) as run, recorder.stage(run, "promote", {}, {}) as stage:
            registry.register(
                stage.run_id,
                name,
                policy=policy,
                evaluation=evaluation,
                verdict="promote",
                metrics={},
                base_model=None,
                load_in_4bit=False,
            )
    promote(registry, config, VERSIONS[0])
    return registry


def promote(registry: Registry, config: Config, version: str) -> None:
    """Make a version the champion."""
    names = config.promote
    registry.promote(names.model_name, names.alias, names.previous_alias, version, promotion="0" * 64)


def _commit(
    store: ArtifactStore, kind: ArtifactKind, fill: Callable[[Path], None], inputs: dict[str, str]
) -> ArtifactRecord:
    with store.draft() as draft:
        fill(draft)
        return store.commit(draft, kind=kind, stage=kind, code_version="bench", config_digest="bench", inputs=inputs)


def _copy_stand_in(folder: Path) -> None:
    for file in shipped().iterdir():
        (folder / file.name).write_bytes(file.read_bytes())


def _adapter(*, changes: bool) -> Callable[[Path], None]:
    def fill(folder: Path) -> None:
        import torch
        from peft import LoraConfig, get_peft_model

        torch.manual_seed(1)
        # As PEFT begins, an adapter changes nothing.
        adapter = LoraConfig(r=2, target_modules="all-linear", init_lora_weights=not changes, task_type="CAUSAL_LM")
        get_peft_model(load_base(shipped(), four_bit=False), adapter).save_pretrained(folder / ADAPTER_FOLDER)

    return fill


def _note(what: str) -> Callable[[Path], None]:
    def fill(folder: Path) -> None:
        (folder / "note.json").write_text(json.dumps({"note": what}), encoding="utf-8")

    return fill
