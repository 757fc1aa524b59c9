"""Load, switches and kills of `tucano serve`, with the stand-in: `python -m benchmarks.serve [--vllm PYTHON]`.

The gateway with the laptop's own engine is asked by locust's clients with prompts of the six tasks. Where its
interpreter is given, vLLM's build for CPUs is asked on a port, first itself and then through the gateway, in turns.
Load comes from the same machine, so that the gateway, the engine and the clients share its cores. The gateway's own
time is what it measures of itself in each request: all but the waiting for a place and for the engine.

Then JSON tasks are asked with and without their grammars. Then, on two versions, 20 switches under 32 clients, and the
gateway killed.

Limits: own time at most 5 ms for 95 % of the requests, at most 5 % fewer requests a second than the engine alone (the
mean over the numbers of clients), every guided answer valid JSON, no request failed, no answer of a mixture of versions
or of none that the log names, and back after a kill in at most 30 s.
"""

import json
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import httpx
import psutil

from benchmarks.harness import Report, progress, run_benchmark
from benchmarks.serve.processes import Load, gateway, load, running_gateway, vllm_engine
from benchmarks.serve.versions import VERSIONS, make_versions, promote
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.source import REPOSITORY
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import TASKS
from tasks.synthesize.simulated import simulate_store

CLIENTS: Final = (1, 8, 32, 128)
OWN_SECONDS: Final = "0.005"
"""Limit of the gateway's own time, as Prometheus names the bucket."""
OWN_SHARE: Final = 0.95
MOST_LOST: Final = 0.05
SECONDS_TO_RETURN: Final = 30.0
PROMPTS: Final = 24
"""Of each task."""
MAX_TOKENS: Final = 64
SEED: Final = 1
JSON_TASKS: Final = tuple(name for name, task in TASKS.items() if task.answers_in_json)
BUCKET: Final = re.compile(r'^tucano_gateway_seconds_bucket\{le="([^"]+)"\} ([0-9.e+]+)$', re.MULTILINE)
VLLM: Final = REPOSITORY / ".venv-vllm" / "bin" / "python"


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--seconds", type=float, default=20, help="of each measurement")
    parser.add_argument("--clients", type=int, nargs="+", default=list(CLIENTS), help="at once")
    parser.add_argument("--switches", type=int, default=20, help="of version, under 32 clients")
    parser.add_argument("--vllm", type=Path, default=VLLM, help="Python of vLLM's environment; left out if missing")
    parser.add_argument(
        "--only", nargs="+", choices=("load", "guided", "switches", "kills"),
        default=["load", "guided", "switches", "kills"], help="parts",
    )  # fmt: skip


def measure(report: Report, options: Namespace) -> None:
    """Measure every part."""
    bodies = _bodies(tuple(TASKS))
    with tempfile.TemporaryDirectory(prefix="serve-") as name:
        folder = Path(name)
        state = folder / "state"
        config = load_config("local", [f"state.root={state}"])
        make_versions(config)
        if "load" in options.only:
            _compare(report, "the laptop's own engine", None, folder, state, bodies, options)
            if options.vllm.is_file():
                with vllm_engine(folder, options.vllm) as engine:
                    _compare(report, "vLLM on the same CPU", engine, folder, state, bodies, options)
            else:
                report.line(f"vLLM was not measured: there is no {options.vllm}; `make test-serve` makes it")
        if "guided" in options.only:
            _guide(report, folder, state, options)
        if "switches" in options.only:
            _switch(report, folder, state, config, options.switches)
        if "kills" in options.only:
            _kill(report, folder, state)


def _bodies(tasks: Sequence[str]) -> list[dict[str, Any]]:
    """Return requests of some tasks in turns, as OpenAI's API has them, equal for engine and gateway."""
    store = simulate_store(1_500, random.Random("42:store"))
    made = [list(EXAMPLE_MAKERS[name](store, random.Random(SEED), PROMPTS)) for name in TASKS if name in tasks]
    return [
        {
            "model": "champion",
            "messages": [{"role": "system", "content": each.system}, {"role": "user", "content": each.prompt}],
            "temperature": 0.1,
            "max_tokens": MAX_TOKENS,
        }
        for turn in zip(*made, strict=True)
        for each in turn
    ]


def _compare(
    report: Report,
    what: str,
    engine: str | None,
    folder: Path,
    state: Path,
    bodies: list[dict[str, Any]],
    options: Namespace,
) -> None:
    rows: list[Sequence[str | float] | None] = []
    ratios = []
    settings = ["serve.guided=false", "serve.queue=1000"]
    if engine is not None:
        settings += [f"serve.engine_url='{engine}'", "serve.concurrency=128"]
    with gateway(folder, state, *settings) as served:
        # What is loaded or compiled at the first requests is no part of the load.
        for url in filter(None, (engine, served)):
            load(url, bodies, clients=8, seconds=15)
        for clients in progress(options.clients, f"load on {what}"):
            alone = load(engine, bodies, clients=clients, seconds=options.seconds) if engine else None
            through = load(served, bodies, clients=clients, seconds=options.seconds)
            if alone is not None:
                ratios.append(through.requests_a_second / alone.requests_a_second)
                rows.append(_row(f"{clients}", "engine", alone))
            rows += [_row("" if alone else f"{clients}", "gateway", through), None]
            failed = through.failed + (alone.failed if alone else 0)
            report.limit(not failed, f"{what}: {failed} requests of {clients} clients failed")
        own = {bound: float(count) for bound, count in BUCKET.findall(_metrics(served))}
    columns = {
        "clients": "", "asked": "", "requests": ",.0f", "a second": ",.1f", "tokens a second": ",.0f",
        "p50 ms": ",.0f", "p95 ms": ",.0f", "p99 ms": ",.0f",
    }  # fmt: skip
    report.table(f"Load on {what}", columns, rows[:-1], left=["asked"])
    within = own[OWN_SECONDS] / max(own["+Inf"], 1)
    p95 = next(bound for bound, count in own.items() if count >= OWN_SHARE * own["+Inf"])
    report.line(
        f"The gateway's own time is at most 5 ms in {within:.1%} of {own['+Inf']:,.0f} requests, and at most {p95} s "
        "in 95 %."
    )
    report.limit(within >= OWN_SHARE, f"{what}: the gateway's own time is at most 5 ms in {within:.1%}, limit 95 %")
    if ratios:
        lost = 1 - fmean(ratios)
        report.line(f"Through it the engine answers {-lost:+.1%} requests a second.")
        report.limit(lost <= MOST_LOST, f"{what}: {lost:.1%} fewer requests a second through the gateway, limit 5 %")
    report.line()


def _row(clients: str, asked: str, found: Load) -> Sequence[str | float]:
    return (
        clients, asked, found.requests, found.requests_a_second, found.tokens_a_second,
        found.p50, found.p95, found.p99,
    )  # fmt: skip


def _metrics(served: str) -> str:
    return httpx.get(served.removesuffix("/v1") + "/metrics", timeout=20).text


def _guide(report: Report, folder: Path, state: Path, options: Namespace) -> None:
    """Ask the JSON tasks with and without grammars, in turns."""
    plain = _bodies(JSON_TASKS)
    guided = [body | {"response_format": {"type": "json_object"}} for body in plain]
    longer = [body | {"max_tokens": 128} for body in (*plain, *guided)]
    plain, guided = longer[: len(plain)], longer[len(plain) :]
    with gateway(folder, state) as served:
        load(served, guided, clients=8, seconds=5)
        free = load(served, plain, clients=8, seconds=options.seconds)
        held = load(served, guided, clients=8, seconds=options.seconds)
    rows = [
        (name, found.requests, f"{found.valid:.1%}", found.tokens_a_second, found.p50)
        for name, found in (("no", free), ("yes", held))
    ]
    columns = {"guided": "", "answers": ",.0f", "valid JSON": "", "tokens a second": ",.0f", "p50 ms": ",.0f"}
    report.table("JSON tasks with and without their grammars, 8 clients, the laptop's own engine", columns, rows)
    report.line(f"A guided token takes {free.tokens_a_second / held.tokens_a_second:.2f} times as long.")
    report.line()
    report.limit(held.valid == 1, f"{held.valid:.1%} of the guided answers are valid JSON")


def _switch(report: Report, folder: Path, state: Path, config: Config, switches: int) -> None:
    """Switch the champion to and fro under 32 clients, and look at each answer and its line of the log."""
    registry = make_versions(config)
    bodies = _bodies(tuple(TASKS))[:12]
    received: list[tuple[str, httpx.Response]] = []
    stop = threading.Event()
    with running_gateway(folder, state, "serve.follow_seconds=0.5", "serve.queue=64") as (served, _):

        def ask(number: int) -> None:
            with httpx.Client(timeout=120) as client:
                while not stop.is_set():
                    body = bodies[number % len(bodies)]
                    sent = {key: body[key] for key in ("model", "messages")}
                    answer = client.post(f"{served}/chat/completions", json=sent)
                    received.append((json.dumps(sent), answer))
                    number += 1

        threads = [threading.Thread(target=ask, args=[number]) for number in range(32)]
        for thread in threads:
            thread.start()
        for number in progress(range(switches), "switches under 32 clients"):
            version = VERSIONS[(number + 1) % len(VERSIONS)]
            promote(registry, config, version)
            while not _serves(served, version):
                time.sleep(0.1)
            time.sleep(0.5)
        stop.set()
        for thread in threads:
            thread.join()
    logged = _logged(state)
    failed = [answer for _, answer in received if answer.status_code != 200]
    unlogged = [answer for _, answer in received if answer.status_code == 200 and answer.json()["id"] not in logged]
    texts: dict[tuple[str, str], set[str]] = {}
    for sent, answer in received:
        if answer.status_code == 200:
            said = answer.json()
            version = said["system_fingerprint"]
            texts.setdefault((version, sent), set()).add(said["choices"][0]["message"]["content"])
            if logged.get(said["id"]) != version:
                unlogged.append(answer)
    mixed = sum(len(of_one) > 1 for of_one in texts.values())
    by_version = {version: sum(key[0].endswith(f"/{version}") for key in texts) for version in VERSIONS}
    report.line(
        f"{switches} switches under 32 clients: {len(received):,} answers, {len(failed)} failed, {mixed} prompts with "
        f"another answer from the same version, {len(unlogged)} not in the log by their version; prompts answered by "
        f"version: {by_version}."
    )
    report.limit(not failed, f"{len(failed)} requests failed while versions switched")
    report.limit(not mixed, f"{mixed} prompts were answered by a mixture of versions")
    report.limit(not unlogged, f"{len(unlogged)} answers are not in the log by their version")
    report.limit(all(by_version.values()), "one version answered nothing, so that nothing was shown")


def _serves(served: str, version: str) -> bool:
    reply = httpx.get(served.removesuffix("/v1") + "/readyz", timeout=30)
    return reply.is_success and str(reply.json()["version"]).endswith(f"/{version}")


def _logged(state: Path) -> dict[str, str]:
    lines = (line for file in (state / "logs").glob("*.jsonl") for line in file.read_text().splitlines())
    return {line["request_id"]: line["model_version"] for line in map(json.loads, lines)}


def _kill(report: Report, folder: Path, state: Path) -> None:
    """Kill the gateway five times while one client asks."""
    body = {key: value for key, value in _bodies(("sentiment",))[0].items() if key in {"model", "messages"}}
    rows = []
    with running_gateway(folder, state) as (served, process):
        seconds = []
        for _ in range(5):
            os.kill(psutil.Process(process.pid).children()[0].pid, signal.SIGKILL)
            began = time.monotonic()
            reply = httpx.post(f"{served}/chat/completions", json=body, timeout=120)
            seconds.append(time.monotonic() - began)
            report.limit(reply.is_success, f"a request after a kill of the gateway was answered {reply.status_code}")
            known = reply.is_success and reply.json()["id"] in _logged(state)
            report.limit(known, "an answer after a kill of the gateway is not in the log")
        rows.append(("gateway", len(seconds), fmean(seconds), max(seconds)))
        report.limit(max(seconds) <= SECONDS_TO_RETURN, f"back after {max(seconds):.1f} s, limit 30 s")
    columns = {"killed": "", "times": ",.0f", "seconds to the next answer": ".1f", "longest": ".1f"}
    report.table("Kills by SIGKILL; the next request is sent at once, and waits", columns, rows)


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
