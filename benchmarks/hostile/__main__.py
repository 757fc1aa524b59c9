"""Hostile requests to `tucano serve`, on loopback, with the laptop's own engine and a tiny model.

10,000 from one seed, 24 at a time: sizes, encodings, headers, chunks that lie, JSON that is deep, wide, doubled or no
JSON, control tokens and SQL in texts, tokens that are almost right, paths and methods, smuggled and pipelined requests,
feedback to strange ids, drops of a header or a body, clients that hang up while they wait or are answered, that do
not read, that send no HTTP; and 400 connections that are held all the time, of which the gateway takes 224. Each kind
carries personal data. Meanwhile a good client asks once a second.

Limits: none is answered 500, and none with a wrong token 200; no smuggled request is answered; no answer takes longer
than a minute; the good client always has its answer; no traceback; gateway and engine each grow by at most 64 MB after
the first fifty answers; every answer that a client received is in the log, which `tucano monitor` reads whole; no
personal data in any file; no label of the metrics that the gateway has not written itself.
"""

import asyncio
import shutil
import sys
import time
from argparse import ArgumentParser, Namespace
from collections import Counter
from pathlib import Path
from statistics import quantiles
from typing import Final

from benchmarks.harness import Report, run_benchmark
from benchmarks.hostile.attacks import COUNTS, attacks
from benchmarks.hostile.besieged import TOKEN, Gateway, GoodClient, besieged, strange_labels, total
from benchmarks.hostile.clients import Fate, Siege
from benchmarks.hostile.writer import MODEL

STATE: Final = Path(".tucano") / "benchmark-hostile"
SEED: Final = 1
FIRST: Final = 50
"""Good answers before memory is first measured: what is loaded at first use is loaded by then."""
MOST_GROWTH: Final = 64
"""Megabytes."""


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--share", type=float, default=1.0, help="of the 10,000 requests")
    parser.add_argument("--seed", type=int, default=SEED, help="of the requests")


def measure(report: Report, options: Namespace) -> None:
    """Serve a tiny champion, and attack it."""
    from tests.flows.promotable import make_promotable

    shutil.rmtree(STATE, ignore_errors=True)
    world = make_promotable(STATE.resolve() / "state")
    version = world.register(world.policy(1), world.evaluation("promote"), "promote", MODEL)
    world.registry.promote(MODEL, "champion", "previous", version, promotion="0" * 64)
    with besieged(world.root) as gateway:
        known = [gateway.ask().json()["request_id"] for _ in range(FIRST)]
        before = gateway.megabytes()
        siege, good = Siege(gateway.port), GoodClient(gateway, 1.0)
        began = time.monotonic()
        try:
            asyncio.run(siege.attack(attacks(options.seed, options.share, TOKEN, known[0])))
        finally:
            good.end()
        seconds = time.monotonic() - began
        after = gateway.megabytes()
        _report_attacks(report, siege, seconds)
        _report_good(report, good)
        _report_memory(report, before, after)
        _report_rest(report, gateway, siege.fates)


def _report_attacks(report: Report, siege: Siege, seconds: float) -> None:
    rows = []
    for kind in COUNTS:
        fates = [fate for fate in siege.fates if fate.attack.kind == kind]
        statuses = Counter(status for fate in fates for status in fate.statuses)
        silent = sum(not fate.statuses for fate in fates)
        listed = ", ".join(f"{status}: {count:,}" for status, count in sorted(statuses.items()))
        rows.append((kind, len(fates), silent, listed))
    columns = {"kind": "", "requests": ",", "closed or left": ",", "answers by status": ""}
    report.table(f"{len(siege.fates):,} hostile requests in {seconds:.0f} s", columns, rows, left={"answers by status"})
    statuses = Counter(status for fate in siege.fates for status in fate.statuses)
    report.limit(not statuses[500], f"{statuses[500]} are answered 500, limit none")
    let_in = [fate for fate in siege.fates if not fate.attack.may_be_answered and 200 in fate.statuses]
    report.limit(not let_in, f"{len(let_in)} with a wrong token are answered, limit none")
    smuggled = [fate for fate in siege.fates if len(fate.statuses) > fate.attack.most_answers]
    report.limit(not smuggled, f"{len(smuggled)} have more answers than requests, limit none")
    hanging = [fate for fate in siege.fates if fate.is_hanging]
    report.limit(not hanging, f"{len(hanging)} hang for a minute, limit none")


def _report_good(report: Report, good: GoodClient) -> None:
    middle, late = (quantiles(good.seconds, n=20)[place] for place in (9, 18))
    report.line(
        f"A good client asked {len(good.seconds)} times and was refused {len(good.faults)} times; half of the answers "
        f"came within {middle:.2f} s, 95 % within {late:.2f} s."
    )
    report.limit(not good.faults, f"a good request is answered {dict(Counter(good.faults))}, limit 200 always")


def _report_memory(report: Report, before: tuple[float, float], after: tuple[float, float]) -> None:
    names = ("gateway", "engine")
    rows = [(name, old, new, new - old) for name, old, new in zip(names, before, after, strict=True)]
    report.table("Resident memory, MB", {"process": "", "before": ",.0f", "after": ",.0f", "growth": "+,.0f"}, rows)
    for name, _, _, growth in rows:
        report.limit(growth <= MOST_GROWTH, f"the {name} grows by {growth:.0f} MB, limit {MOST_GROWTH}")


def _report_rest(report: Report, gateway: Gateway, fates: list[Fate]) -> None:
    metrics = gateway.metrics()
    monitored = gateway.monitored()
    received = {found for fate in fates for found in fate.request_ids}
    lost = received - gateway.logged()
    answers, strange = total(metrics, "tucano_answers"), strange_labels(metrics)
    traces, leaks = gateway.traces(), gateway.leaks()
    rows = [
        ("answers made, by the metrics", answers),
        ("lines of the log, as monitoring reads it", monitored),
        ("answers that hostile clients received", len(received)),
        ("of them not in the log", len(lost)),
        ("tracebacks", traces),
        ("files with personal data", len(leaks)),
        ("labels that the gateway did not write", len(strange)),
        ("series of the metrics", metrics.count("\ntucano_")),
    ]
    report.table("What is left behind", {"": "", "count": ","}, rows)
    report.limit(not lost, f"{len(lost)} answers that were received are not in the log, limit none")
    report.limit(monitored == answers, f"monitoring reads {monitored} of {answers} answers")
    report.limit(not traces, f"{traces} tracebacks, limit none")
    report.limit(not leaks, f"personal data in {', '.join(leaks)}")
    report.limit(not strange, f"labels {strange[:5]}")


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
