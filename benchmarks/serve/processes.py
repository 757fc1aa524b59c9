"""Processes and versions to serve: an engine on a port, `tucano serve` before it, and locust's clients."""

import csv
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
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
from tasks.policy.adapters import ADAPTER_FOLDER
from tasks.policy.child import end_group
from tasks.policy.load import load_base
from tasks.policy.stand_in import shipped

LOCUST: Final = "locust==2.47.0"
LOAD: Final = Path(__file__).with_name("load.py")
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
    """Let clients ask for some time, each the next when it is answered."""
    with tempfile.TemporaryDirectory(prefix="load-") as name:
        folder = Path(name)
        (folder / "bodies.json").write_text(json.dumps(list(bodies)), encoding="utf-8")
        base, _, path = url.partition("/v1")
        command = [*_locust(), "-f", str(LOAD), "--headless", "--host", base, "--users", str(clients)]
        command += ["--spawn-rate", str(clients), "--run-time", f"{seconds:g}s", "--stop-timeout", "60"]
        command += ["--csv", str(folder / "load"), "--only-summary", "--exit-code-on-error", "0"]
        environment = {
            **os.environ,
            "BODIES": str(folder / "bodies.json"),
            "FOUND": str(folder / "found.json"),
            "ASKED_PATH": f"/v1{path}/chat/completions",
        }
        ended = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
        if ended.returncode or not (folder / "found.json").is_file():
            raise InputError(f"locust failed: {ended.stderr[-1500:]}; install it, or see that the index has {LOCUST}")
        found = json.loads((folder / "found.json").read_text(encoding="utf-8"))
        with (folder / "load_stats.csv").open(encoding="utf-8") as file:
            (total,) = [row for row in csv.DictReader(file) if row["Name"] == "Aggregated"]
        rate = float(total["Requests/s"])
        requests = int(total["Request Count"])
        if not requests:
            raise InputError(f"no request to {url} was answered in {seconds:g} s; measure longer with --seconds")
        return Load(
            requests=requests,
            failed=int(total["Failure Count"]),
            requests_a_second=rate,
            tokens_a_second=rate * found["tokens"] / max(requests, 1),
            p50=float(total["50%"]),
            p95=float(total["95%"]),
            p99=float(total["99%"]),
            valid=found["valid"] / max(found["answers"], 1),
        )


def _locust() -> list[str]:
    """Return the command of locust, which uv installs once in an environment of its own."""
    return [str(Path(sys.executable).with_name("uv")), "tool", "run", "--quiet", "--from", LOCUST, "locust"]


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
