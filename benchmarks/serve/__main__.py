"""Load, switches, kills and hostile clients of `tucano serve`, with the stand-in.

Clients ask the gateway with the laptop's own engine, each the next prompt of the six tasks when one is answered. Where
its interpreter is given, vLLM's build for CPUs is asked on a port, first itself and then through the gateway, in turns.
Load comes from the same machine, so that the gateway, the engine and the clients share its cores. Then JSON tasks are
asked with their grammars; then, on two versions, 20 switches under 32 clients, and the gateway killed.

Limits: at most 5 % fewer requests a second than the engine alone (the mean over the numbers of clients), every guided
answer valid JSON, no request failed, no answer of a mixture of versions or of none that the log names, and back after a
kill in at most 30 s.

Hostile: 10,000 requests from one seed, 24 at a time: sizes, encodings, headers, chunks that lie, JSON that is deep,
wide or none, control tokens and SQL in texts, tokens that are almost right, paths, smuggled and pipelined requests,
feedback to strange ids, drops of a body, clients that hang up, that do not read, that send no HTTP; and 400 connections
that are held all the time. Limits: none is answered 500, and none with a wrong token 200; no smuggled request is
answered; no answer takes longer than a minute; a good client always has its answer; no traceback; the gateway
grows by at most 64 MB after the first fifty answers; every answer that a client received is in the log, which
`tucano monitor` reads whole; no personal data in any file; no label of the metrics that the gateway has not written.
"""

import asyncio
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, quantiles
from typing import Any, Final

import httpx
import psutil

from benchmarks.harness import Report, progress, run_benchmark
from benchmarks.serve.attacks import COUNTS, MODEL, attacks
from benchmarks.serve.processes import GATEWAY_LOG, VERSIONS, Load, gateway, load, make_versions, promote, vllm_engine
from benchmarks.serve.siege import TOKEN, VARIABLE, Besieged, GoodClient, Siege, strange_labels, total
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.source import REPOSITORY
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import TASKS
from tasks.synthesize.simulated import simulate_store

CLIENTS: Final = (1, 8, 32, 128)
MAX_LOST: Final = 0.05
SECONDS_TO_RETURN: Final = 30.0
PROMPTS: Final = 24
"""Of each task."""
MAX_TOKENS: Final = 64
SEED: Final = 1
JSON_TASKS: Final = tuple(name for name, task in TASKS.items() if task.answers_in_json)
VLLM: Final = REPOSITORY / ".venv-vllm" / "bin" / "python"
FIRST: Final = 50
"""Good answers before memory is first measured: what is loaded at first use is loaded by then."""
MAX_GROWTH: Final = 64
"""Megabytes."""
SECONDS_TO_SEND: Final = 3


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts")
    parser.add_argument("--seconds", type=float, default=20, help="of each measurement")
    parser.add_argument("--clients", type=int, nargs="+", default=list(CLIENTS), help="at once")
    parser.add_argument("--switches", type=int, default=20, help="of version, under 32 clients")
    parser.add_argument("--vllm", type=Path, default=VLLM, help="Python of vLLM's environment; left out if missing")
    parser.add_argument("--share", type=float, default=1.0, help="of the 10,000 hostile requests")


def measure(report: Report, options: Namespace) -> None:
    """Measure every part."""
    with tempfile.TemporaryDirectory(prefix="serve-") as temporary:
        folder = Path(temporary)
        config = load_config("local", [f"state.root={folder / 'state'}"])
        make_versions(config)
        for name, part in PARTS.items():
            if name in options.only:
                part(report, folder, config, options)


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


def _load(report: Report, folder: Path, _: Config, options: Namespace) -> None:
    _compare(report, "the laptop's own engine", None, folder, options)
    if options.vllm.is_file():
        with vllm_engine(folder, options.vllm) as engine:
            _compare(report, "vLLM on the same CPU", engine, folder, options)
    else:
        report.line("vLLM was not measured: it is not installed; `make test-serve` installs it.")


def _compare(report: Report, what: str, engine: str | None, folder: Path, options: Namespace) -> None:
    bodies = _bodies(tuple(TASKS))
    rows: list[Sequence[str | float] | None] = []
    ratios = []
    settings = ["serve.guided=false", "serve.queue=1000"]
    if engine is not None:
        settings += [f"serve.engine_url='{engine}'", "serve.concurrency=128"]
    with gateway(folder, folder / "state", *settings) as (served, _):
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
    columns = {
        "clients": "", "asked": "", "requests": ",.0f", "a second": ",.1f", "tokens a second": ",.0f",
        "p50 ms": ",.0f", "p95 ms": ",.0f", "p99 ms": ",.0f",
    }  # fmt: skip
    report.table(f"Load on {what}", columns, rows[:-1], left=["asked"])
    if ratios:
        lost = 1 - fmean(ratios)
        report.line(f"Through it the engine answers {-lost:+.1%} requests a second.")
        report.limit(lost <= MAX_LOST, f"{what}: {lost:.1%} fewer requests a second through the gateway, limit 5 %")
    report.line()


def _row(clients: str, asked: str, found: Load) -> Sequence[str | float]:
    return (
        clients, asked, found.requests, found.requests_a_second, found.tokens_a_second,
        found.p50, found.p95, found.p99,
    )  # fmt: skip


def _guided(report: Report, folder: Path, __: Config, options: Namespace) -> None:
    """Ask the JSON tasks with their grammars."""
    form = {"response_format": {"type": "json_object"}, "max_tokens": 128}
    bodies = [body | form for body in _bodies(JSON_TASKS)]
    with gateway(folder, folder / "state") as (served, _):
        load(served, bodies, clients=8, seconds=5)
        found = load(served, bodies, clients=8, seconds=options.seconds)
    report.line(f"Of {found.requests:,} guided answers of JSON tasks {found.valid:.1%} are valid.\n")
    report.limit(found.valid == 1, f"{found.valid:.1%} of the guided answers are valid JSON")


def _switches(report: Report, folder: Path, config: Config, options: Namespace) -> None:
    """Switch the champion to and fro under 32 clients, and look at each answer and its line of the log."""
    registry, state, switches = make_versions(config), folder / "state", options.switches
    bodies = _bodies(tuple(TASKS))[:12]
    received: list[tuple[str, httpx.Response]] = []
    stop = threading.Event()
    with gateway(folder, state, "serve.follow_seconds=0.5", "serve.queue=64") as (served, _):

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


def _kills(report: Report, folder: Path, __: Config, ___: Namespace) -> None:
    """Kill the gateway five times while one client asks."""
    body = {key: value for key, value in _bodies(("sentiment",))[0].items() if key in {"model", "messages"}}
    state, seconds = folder / "state", []
    with gateway(folder, state) as (served, process):
        for _ in range(5):
            os.kill(psutil.Process(process.pid).children()[0].pid, signal.SIGKILL)
            began = time.monotonic()
            reply = httpx.post(f"{served}/chat/completions", json=body, timeout=120)
            seconds.append(time.monotonic() - began)
            report.limit(reply.is_success, f"a request after a kill of the gateway was answered {reply.status_code}")
            known = reply.is_success and reply.json()["id"] in _logged(state)
            report.limit(known, "an answer after a kill of the gateway is not in the log")
    report.line(
        f"{len(seconds)} kills of the gateway by SIGKILL: the next request, sent at once, is answered after "
        f"{fmean(seconds):.1f} s, {max(seconds):.1f} s at most; limit {SECONDS_TO_RETURN:.0f} s.\n"
    )
    report.limit(max(seconds) <= SECONDS_TO_RETURN, f"back after {max(seconds):.1f} s, limit 30 s")


def _hostile(report: Report, folder: Path, _: Config, options: Namespace) -> None:
    """Serve a tiny champion, and attack it."""
    from tests.flows.promotable import make_promotable

    world = make_promotable(folder / "hostile")
    version = world.register(world.policy(1), world.evaluation("promote"), "promote", MODEL)
    world.registry.promote(MODEL, "champion", "previous", version, promotion="0" * 64)
    settings = (f"serve.token_variable={VARIABLE}", f"serve.seconds_to_send={SECONDS_TO_SEND}")
    log = folder / "siege"
    log.mkdir()
    with gateway(log, world.root, *settings, variables={VARIABLE: TOKEN}) as (served, process):
        besieged = Besieged(process, int(served.split(":")[2].partition("/")[0]), world.root, log / GATEWAY_LOG)
        known = [besieged.ask().json()["request_id"] for _ in range(FIRST)]
        before = besieged.megabytes()
        siege, good = Siege(besieged.port), GoodClient(besieged, 1.0)
        began = time.monotonic()
        try:
            asyncio.run(siege.attack(attacks(SEED, options.share, TOKEN, known[0])))
        finally:
            good.end()
        _report_attacks(report, siege, time.monotonic() - began)
        _report_good(report, good)
        after = besieged.megabytes()
        report.line(f"The gateway grew from {before:.0f} to {after:.0f} MB; limit {MAX_GROWTH} MB more.")
        report.limit(after - before <= MAX_GROWTH, f"the gateway grows by {after - before:.0f} MB, limit {MAX_GROWTH}")
        _report_rest(report, besieged, siege)


def _report_attacks(report: Report, siege: Siege, seconds: float) -> None:
    statuses = Counter(status for fate in siege.fates for status in fate.statuses)
    silent = sum(not fate.statuses for fate in siege.fates)
    listed = ", ".join(f"{status}: {count:,}" for status, count in sorted(statuses.items()))
    report.line(
        f"{len(siege.fates):,} hostile requests of {len(COUNTS)} kinds in {seconds:.0f} s; closed or left {silent:,}; "
        f"answers by status {listed}."
    )
    wrong = {
        "are answered 500": [fate for fate in siege.fates if 500 in fate.statuses],
        "with a wrong token are answered": [
            fate for fate in siege.fates if not fate.attack.may_be_answered and 200 in fate.statuses
        ],
        "have more answers than requests": [
            fate for fate in siege.fates if len(fate.statuses) > fate.attack.most_answers
        ],
        "hang for a minute": [fate for fate in siege.fates if fate.is_hanging],
    }
    for what, found in wrong.items():
        report.limit(not found, f"{len(found)} {what}, limit none")


def _report_good(report: Report, good: GoodClient) -> None:
    middle, late = (quantiles(good.seconds, n=20)[place] for place in (9, 18))
    report.line(
        f"A good client asked {len(good.seconds)} times and was refused {len(good.faults)} times; half of the answers "
        f"came within {middle:.2f} s, 95 % within {late:.2f} s."
    )
    report.limit(not good.faults, f"a good request is answered {dict(Counter(good.faults))}, limit 200 always")


def _report_rest(report: Report, besieged: Besieged, siege: Siege) -> None:
    metrics = besieged.metrics()
    received = {found for fate in siege.fates for found in fate.request_ids}
    answers, monitored, lost = total(metrics, "tucano_answers"), besieged.monitored(), received - besieged.logged()
    traces, leaks, strange = besieged.traces(), besieged.leaks(), strange_labels(metrics)
    report.line(
        f"Of {answers:,} answers monitoring reads {monitored:,}; of {len(received):,} that hostile clients received "
        f"{len(lost)} are not in the log. Tracebacks: {traces}; files with personal data: {len(leaks)}; labels of the "
        f"metrics that the gateway did not write: {len(strange)}."
    )
    report.limit(not lost, f"{len(lost)} answers that were received are not in the log, limit none")
    report.limit(monitored == answers, f"monitoring reads {monitored} of {answers} answers")
    report.limit(not traces, f"{traces} tracebacks, limit none")
    report.limit(not leaks, f"personal data in {', '.join(leaks)}")
    report.limit(not strange, f"labels {strange[:5]}")


PARTS: Final[Mapping[str, Callable[[Report, Path, Config, Namespace], None]]] = {
    "load": _load,
    "guided": _guided,
    "switches": _switches,
    "kills": _kills,
    "hostile": _hostile,
}


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
