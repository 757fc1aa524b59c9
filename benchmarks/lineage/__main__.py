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
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import polars as pl

from flows.runtime.console import print_table, say
from schemas.progress import silent
from tasks.lineage.graph.models import DECISION_FILE
from tasks.lineage.store.artifacts import RECORD_FILE, ArtifactStore
from tasks.lineage.store.verify import verify

SMALL = Path(__file__).parents[2] / "tests" / "e2e" / "small.toml"
LIMIT_SECONDS = 2.0
ROWS = 50
SEED = 0


def main() -> None:
    """Measure, print, and end with 1 where a limit is missed."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "state"
        profile = sys.argv[2] if len(sys.argv) > 2 else str(SMALL)
        if len(sys.argv) > 1:
            shutil.copytree(sys.argv[1], root, ignore=shutil.ignore_patterns("prefect", "work", "*.lock"))
        else:
            _retrain(root, profile)
        missed = [*_complete(root, profile), *_flipped(root)]
    for sentence in missed:
        say(f"missed: {sentence}")
    sys.exit(bool(missed))


def _retrain(root: Path, profile: str) -> None:
    say("retraining at a small size")
    command = [sys.executable, "-m", "flows", "retrain", "--profile", profile, "--set", f"state.root={root}"]
    ended = subprocess.run(command, check=False, capture_output=True, text=True)
    if ended.returncode not in {0, 3}:
        raise SystemExit(ended.stderr)


def _complete(root: Path, profile: str) -> Iterator[str]:
    """Walk from the newest version to everything, and back from random rows; yield what is missed."""
    artifacts = {home.name for home in (root / "artifacts").glob("*/*") if home.parent.name != "drafts"}
    decisions = (root / "artifacts").glob(f"promotion/*/content/{DECISION_FILE}")
    decision = max(decisions, key=lambda file: file.stat().st_mtime)
    version = str(json.loads(decision.read_bytes())["version"])
    store = ArtifactStore(root / "artifacts")
    policy = store.record(store.record(decision.parents[1].name).inputs["policy"])
    queries = [_query(root, profile, version)]
    document = queries[0].document
    found = {node["key"] for node in document["nodes"]} & artifacts
    table = pl.read_parquet(store.path(policy.inputs["dataset"]) / "data" / "train.parquet")
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
    print_table(
        f"Lineage of version {version}",
        ("what", "found", "of"),
        [
            ("artifacts from the version", str(len(found)), str(len(artifacts))),
            ("training rows from the version", str(len(reached)), str(len(rows))),
            ("random rows back to the version", str(back), str(len(chosen))),
        ],
    )
    print_table(
        f"{len(queries)} queries, each a command of its own",
        ("seconds", "median", "max"),
        [
            ("on the clock", f"{median(seconds):.2f}", f"{max(seconds):.2f}"),
            ("of a processor", f"{median(processor):.2f}", f"{max(processor):.2f}"),
        ],
    )
    if found != artifacts:
        yield f"{len(artifacts - found)} artifacts are not reached from version {version}"
    if reached != rows:
        yield f"{len(rows - reached)} training rows are not reached from version {version}"
    if back != len(chosen):
        yield f"{len(chosen) - back} rows do not lead to version {version}"
    if max(seconds) > LIMIT_SECONDS:
        yield f"a query took {max(seconds):.2f} s, and the limit is {LIMIT_SECONDS:g}"


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


def _flipped(root: Path) -> Iterator[str]:
    """Flip a bit of each file of each artifact in turn, and delete it; yield the files whose fault was not found."""
    store, generator = ArtifactStore(root / "artifacts"), random.Random(SEED)
    started, files, found, missed = time.perf_counter(), 0, 0, 0
    records = sorted((root / "artifacts").glob(f"*/*/{RECORD_FILE}"))
    for record in records:
        sha256 = record.parent.name
        for file in sorted(path for path in record.parent.rglob("*") if path.is_file()):
            files += 1
            with _one_flipped_bit(file, generator):
                if verify(store, [sha256], silent):
                    found += 1
                else:
                    yield f"a bit flipped in {file} is not found"
            with _moved(file, root / "aside"):
                if verify(store, [sha256], silent):
                    missed += 1
                else:
                    yield f"that {file} is gone is not found"
    seconds = time.perf_counter() - started
    say(f"flipped bits found: {found} of {files} files; deleted files: {missed} of {files}; in {seconds:.1f} s")
    if verify(store, [record.parent.name for record in records], silent):
        yield "a whole artifact is said to be damaged"


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
    main()
