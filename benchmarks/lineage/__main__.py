"""Lineage of a local retraining: complete both ways, quick, and every flipped byte and lost file found.

    make bench NAME=lineage                                       retrains at a small size first, some minutes
    .venv/bin/python -m benchmarks.lineage STATE [PROFILE]        of an existing state folder; STATE is copied

The reachable nodes are compared with the folders and tables themselves, not with what the walker read of them. Ends
with 1 where anything is missed.
"""

import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

from benchmarks.harness import Report, run_benchmark
from schemas.progress import silent
from schemas.tables.prompts import TRAIN_FILE
from tasks.lineage.graph.models import DECISION_FILE
from tasks.lineage.store.artifacts import RECORD_FILE, ArtifactStore
from tasks.lineage.store.verify import verify

SMALL = Path(__file__).parents[2] / "tests" / "e2e" / "small.toml"
LIMIT_SECONDS = 2.0
ROWS = 50
SEED = 0


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("state", nargs="?", type=Path, help="state folder that is looked at instead of a retraining's")
    parser.add_argument("profile", nargs="?", default=str(SMALL), help="its profile")


def measure(report: Report, options: Namespace) -> None:
    """Walk the lineage both ways, then damage each file in turn."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "state"
        if options.state:
            shutil.copytree(options.state, root, ignore=shutil.ignore_patterns("prefect", "work", "*.lock"))
        else:
            _retrain(root, options.profile)
        _complete(report, root, options.profile)
        _flipped(report, root)


def _retrain(root: Path, profile: str) -> None:
    print("retraining at a small size", file=sys.stderr)
    command = [sys.executable, "-m", "flows", "retrain", "--profile", profile, "--set", f"state.root={root}"]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    if ended.returncode not in {0, 3}:
        raise SystemExit(ended.stderr)


def _complete(report: Report, root: Path, profile: str) -> None:
    """Walk from the newest version to everything, and back from random rows."""
    artifacts = {home.name for home in (root / "artifacts").glob("*/*") if home.parent.name != "drafts"}
    decisions = (root / "artifacts").glob(f"promotion/*/content/{DECISION_FILE}")
    decision = max(decisions, key=lambda file: file.stat().st_mtime)
    version = str(json.loads(decision.read_bytes())["version"])
    store = ArtifactStore(root / "artifacts")
    policy = store.record(store.record(decision.parents[1].name).inputs["policy"])
    queries = [_query(root, profile, version)]
    document = queries[0].document
    found = {node["key"] for node in document["nodes"]} & artifacts
    table = pl.read_parquet(store.path(policy.inputs["dataset"]) / TRAIN_FILE)
    rows = set(table["prompt_id"])
    reached = rows & set(document["rows"]["train"])
    chosen = random.Random(SEED).sample(table.to_dicts(), min(ROWS, table.height))
    back = 0
    for row in chosen:
        query = _query(root, profile, row["review_id"] or row["prompt_id"])
        queries.append(query)
        after = {(node["kind"], node["name"]) for node in query.document["nodes"] if node["side"] == "after"}
        back += any(kind == "version" and name.endswith(f"/{version}") for kind, name in after)
    seconds, processor = [query.seconds for query in queries], [query.processor for query in queries]
    report.table(
        f"Lineage of version {version}",
        ("what", "found", "of"),
        [
            ("artifacts from the version", str(len(found)), str(len(artifacts))),
            ("training rows from the version", str(len(reached)), str(len(rows))),
            ("random rows back to the version", str(back), str(len(chosen))),
        ],
    )
    report.table(
        f"{len(queries)} queries, each a command of its own",
        ("seconds", "median", "max"),
        [
            ("on the clock", f"{median(seconds):.2f}", f"{max(seconds):.2f}"),
            ("of a processor", f"{median(processor):.2f}", f"{max(processor):.2f}"),
        ],
    )
    report.limit(found == artifacts, f"{len(artifacts - found)} artifacts are not reached from version {version}")
    report.limit(reached == rows, f"{len(rows - reached)} training rows are not reached from version {version}")
    report.limit(back == len(chosen), f"{len(chosen) - back} rows do not lead to version {version}")
    slowest = max(seconds)
    report.limit(slowest <= LIMIT_SECONDS, f"a query took {slowest:.2f} s, and the limit is {LIMIT_SECONDS:g}")


class _Query:
    """One `tucano lineage`, including start and end."""

    def __init__(self, document: Any, seconds: float, processor: float) -> None:
        self.document = document
        self.seconds = seconds
        self.processor = processor


def _query(root: Path, profile: str, reference: str) -> _Query:
    command = [sys.executable, "-m", "flows", "lineage", reference, "--profile", profile]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    ended = subprocess.run(
        [*command, "--set", f"state.root={root}", "--json"], check=False, capture_output=True, text=True
    )
    seconds, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode:
        raise SystemExit(ended.stderr)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return _Query(json.loads(ended.stdout), seconds, processor)


def _flipped(report: Report, root: Path) -> None:
    """Flip a bit of each file of each artifact in turn, and delete it."""
    store, generator = ArtifactStore(root / "artifacts"), random.Random(SEED)
    started, files, found, missed = time.perf_counter(), 0, 0, 0
    records = sorted((root / "artifacts").glob(f"*/*/{RECORD_FILE}"))
    for record in records:
        sha256 = record.parent.name
        for file in sorted(path for path in record.parent.rglob("*") if path.is_file()):
            files += 1
            with _one_flipped_bit(file, generator):
                is_found = bool(verify(store, [sha256], silent))
            found += is_found
            report.limit(is_found, f"a bit flipped in {file.name} of {sha256} is not found")
            with _moved(file, root / "aside"):
                is_missed = bool(verify(store, [sha256], silent))
            missed += is_missed
            report.limit(is_missed, f"that {file.name} of {sha256} is gone is not found")
    seconds = time.perf_counter() - started
    report.line(f"flipped bits found: {found} of {files} files; deleted files: {missed} of {files}; in {seconds:.1f} s")
    damaged = verify(store, [record.parent.name for record in records], silent)
    report.limit(not damaged, "a whole artifact is said to be damaged")


@contextmanager
def _one_flipped_bit(file: Path, generator: random.Random) -> Iterator[None]:
    before = file.read_bytes()
    # An empty file has no bit to flip: one byte is added.
    content = bytearray(before or b"\0")
    content[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
    file.chmod(0o644)
    file.write_bytes(content)
    try:
        yield
    finally:
        file.write_bytes(before)


@contextmanager
def _moved(file: Path, aside: Path) -> Iterator[None]:
    file.rename(aside)
    try:
        yield
    finally:
        aside.rename(file)


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
