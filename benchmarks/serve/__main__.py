"""Load, kills and hostile clients of `tucano serve`, with the stand-in.

Clients ask the gateway with the laptop's own engine, each the next prompt of the six tasks when one is answered. Load
comes from the same machine, so that the gateway and the clients share its cores. Then the gateway is killed. Limits: no
request fails, and it is back after a kill in at most 30 s, with the answer in the log. Switches of the champion under
requests, and guided answers, are asserted by `tests/flows/cli/test_serve.py` and `tests/tasks/policy/test_guidance.py`.

Hostile: 10,000 requests from one seed, 24 at a time: sizes, encodings, headers, chunks that lie, JSON that is deep,
wide or none, control tokens and SQL in texts, tokens that are almost right, paths, smuggled and pipelined requests,
feedback to strange ids, and what is no HTTP. Limits: none is answered 500, and none with a wrong token 200; no
smuggled request is answered; no answer takes longer than a minute; a good client always has its answer; no traceback;
the gateway grows by at most 64 MB after the first fifty answers; every answer that a client received is in the log,
which `tucano monitor` reads whole; no personal data in any file; no label of the metrics that the gateway has not
written.
"""

import asyncio
import os
import random
import signal
import sys
import tempfile
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
from benchmarks.serve.attacks import COUNTS, attacks
from benchmarks.serve.processes import GATEWAY_LOG, gateway, load, logged, promote, promote_stand_in
from benchmarks.serve.siege import TOKEN, VARIABLE, Besieged, Fate, GoodClient, besiege, strange_labels, total
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.synthesize.simulated import simulate_store
from tests.flows.promotable import make_promotable

CLIENTS: Final = (1, 8, 32, 128)
SECONDS_TO_RETURN: Final = 30.0
KILLS: Final = 5
PROMPTS: Final = 24  # Of each task.
MAX_TOKENS: Final = 64
SEED: Final = 1
FIRST: Final = 50
"""Good answers before memory is first measured: what is loaded at first use is loaded by then."""
MAX_GROWTH: Final = 64  # Megabytes.
SECONDS_TO_SEND: Final = 3


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), help="parts")
    parser.add_argument("--seconds", type=float, default=20, help="of each measurement")
    parser.add_argument("--clients", type=int, nargs="+", default=list(CLIENTS), help="at once")
    parser.add_argument("--share", type=float, default=1.0, help="of the 10,000 hostile requests")


def measure(report: Report, options: Namespace) -> None:
    """Measure every part."""
    with tempfile.TemporaryDirectory(prefix="serve-") as temporary:
        folder = Path(temporary)
        promote_stand_in(folder / "state")
        for name, part in PARTS.items():
            if name in options.only:
                part(report, folder, options)


def _bodies() -> list[dict[str, Any]]:
    """Return requests of the tasks in turns, as OpenAI's API has them."""
    store = simulate_store(1_500, random.Random("42:store"))
    made = [list(make(store, random.Random(SEED), PROMPTS)) for make in EXAMPLE_MAKERS.values()]
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


def _load(report: Report, folder: Path, options: Namespace) -> None:
    bodies = _bodies()
    rows: list[Sequence[str | float]] = []
    with gateway(folder, folder / "state", "serve.guided=false", "serve.queue=1000") as (served, _):
        # What is loaded or compiled at the first requests is no part of the load.
        load(served, bodies, clients=8, seconds=min(15, options.seconds))
        for clients in progress(options.clients, "load"):
            found = load(served, bodies, clients=clients, seconds=options.seconds)
            speeds = found.requests, found.requests_a_second, found.tokens_a_second
            rows.append((f"{clients}", *speeds, *found.milliseconds))
            report.limit(not found.failed, f"{found.failed} requests of {clients} clients failed")
    columns = {
        "clients": "", "requests": ",.0f", "a second": ",.1f", "tokens a second": ",.0f", "p50 ms": ",.0f",
        "p95 ms": ",.0f", "p99 ms": ",.0f",
    }  # fmt: skip
    report.table("Load on the laptop's own engine", columns, rows)


def _kills(report: Report, folder: Path, __: Namespace) -> None:
    """Kill the gateway five times while one client asks."""
    body = {key: value for key, value in _bodies()[0].items() if key in {"model", "messages"}}
    state, seconds = folder / "state", []
    with gateway(folder, state) as (served, process):
        for _ in range(KILLS):
            os.kill(psutil.Process(process.pid).children()[0].pid, signal.SIGKILL)
            began = time.monotonic()
            reply = httpx.post(f"{served}/chat/completions", json=body, timeout=120)
            seconds.append(time.monotonic() - began)
            report.limit(reply.is_success, f"a request after a kill of the gateway was answered {reply.status_code}")
            known = reply.is_success and reply.json()["id"] in logged(state)
            report.limit(known, "an answer after a kill of the gateway is not in the log")
    report.line(
        f"{len(seconds)} kills of the gateway by SIGKILL: the next request, sent at once, is answered after "
        f"{fmean(seconds):.1f} s, {max(seconds):.1f} s at most; limit {SECONDS_TO_RETURN:.0f} s.\n"
    )
    report.limit(max(seconds) <= SECONDS_TO_RETURN, f"back after {max(seconds):.1f} s, limit 30 s")


def _hostile(report: Report, folder: Path, options: Namespace) -> None:
    """Serve a tiny champion, and attack it."""
    world = make_promotable(folder / "hostile")
    promote(world, world.policy(1))
    settings = (f"serve.token_variable={VARIABLE}", f"serve.seconds_to_send={SECONDS_TO_SEND}")
    log = folder / "siege"
    log.mkdir()
    with gateway(log, world.root, *settings, variables={VARIABLE: TOKEN}) as (served, process):
        besieged = Besieged(process, int(served.split(":")[2].partition("/")[0]), world.root, log / GATEWAY_LOG)
        known = [besieged.ask().json()["request_id"] for _ in range(FIRST)]
        before = besieged.megabytes()
        good, began = GoodClient(besieged), time.monotonic()
        try:
            fates = asyncio.run(besiege(besieged.port, attacks(SEED, options.share, TOKEN, known[0])))
        finally:
            good.end()
        _report_attacks(report, fates, time.monotonic() - began)
        _report_good(report, good)
        after = besieged.megabytes()
        report.line(f"The gateway grew from {before:.0f} to {after:.0f} MB; limit {MAX_GROWTH} MB more.")
        report.limit(after - before <= MAX_GROWTH, f"the gateway grows by {after - before:.0f} MB, limit {MAX_GROWTH}")
        _report_rest(report, besieged, fates)


def _report_attacks(report: Report, fates: Sequence[Fate], seconds: float) -> None:
    statuses = Counter(status for fate in fates for status in fate.statuses)
    listed = ", ".join(f"{status}: {count:,}" for status, count in sorted(statuses.items()))
    report.line(
        f"{len(fates):,} hostile requests of {len(COUNTS)} kinds in {seconds:.0f} s; closed "
        f"{sum(not fate.statuses for fate in fates):,}; answers by status {listed}."
    )
    wrong = Counter[str]()
    for fate in fates:
        wrong["are answered 500"] += 500 in fate.statuses
        wrong["with a wrong token are answered"] += not fate.attack.may_be_answered and 200 in fate.statuses
        wrong["have more answers than requests"] += len(fate.statuses) > fate.attack.most_answers
        wrong["hang for a minute"] += fate.is_hanging
    for what, count in wrong.items():
        report.limit(not count, f"{count} {what}, limit none")


def _report_good(report: Report, good: GoodClient) -> None:
    middle, late = (quantiles(good.seconds, n=20)[place] for place in (9, 18))
    report.line(
        f"A good client asked {len(good.seconds)} times and was refused {len(good.faults)} times; half of the answers "
        f"came within {middle:.2f} s, 95 % within {late:.2f} s."
    )
    report.limit(not good.faults, f"a good request is answered {dict(Counter(good.faults))}, limit 200 always")


def _report_rest(report: Report, besieged: Besieged, fates: Sequence[Fate]) -> None:
    metrics = besieged.metrics()
    received = {found for fate in fates for found in fate.request_ids}
    answers, monitored = total(metrics, "tucano_answers"), besieged.monitored()
    lost = received - logged(besieged.state).keys()
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


PARTS: Final[Mapping[str, Callable[[Report, Path, Namespace], None]]] = {
    "load": _load,
    "kills": _kills,
    "hostile": _hostile,
}


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
