"""A million rows of logs through `tucano monitor`, for `benchmarks.monitor`.

The logs are the completions of the audit's sheet, good and bad ones of all six tasks, repeated over the last 34 days;
an order number makes prompts differ. No answer has a reference, as in production, and each is scored by the content of
its prompt; the queries run. The champion is a registered version whose test answers are the same completions.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from schemas.config.config import AUDIT_FOLDER, StateConfig

ROWS: Final = 1_000_000
ASKED: Final = 4
"""Occurrences of each distinct answer in the logs."""
LIMIT: Final = 180.0
"""Most seconds for a million rows, start included."""
DAYS: Final = 34
MODEL: Final = "tucano2-commerce"
ROLLOUTS: Final = AUDIT_FOLDER / "rollouts.jsonl"
EXIT_CODES: Final = (0, 3)
"""Exit codes of `tucano monitor`: without drift, and with it."""


@dataclass(frozen=True)
class Took:
    """Durations and sizes."""

    wall: float
    """Seconds of the command, start included."""
    megabytes: float
    different: int
    """Distinct answers among the rows."""


def measured(rows: int, asked: int) -> Took:
    """Write logs with that many answers, each distinct one so often, and run `tucano monitor` on them."""
    with tempfile.TemporaryDirectory() as folder:
        state, logs = Path(folder) / "state", Path(folder) / "logs.jsonl"
        _promote(state)
        with logs.open("w", encoding="utf-8") as file:
            file.writelines(_lines(rows, asked))
        line = [sys.executable, "-m", "flows", "monitor", str(logs), "--profile", "local", "--json"]
        line += ["--set", f"state.root={state}"]
        began = time.monotonic()
        ended = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=False)
        wall = time.monotonic() - began
        if ended.returncode not in EXIT_CODES:
            raise RuntimeError(f"tucano monitor ended with {ended.returncode}")
        document = json.loads(ended.stdout)
        if document["logs"]["answers"] != rows:
            raise RuntimeError(f"of {rows:,} rows {document['logs']['answers']:,} were looked at")
        return Took(wall, logs.stat().st_size / 1e6, -(-rows // asked))


def _lines(rows: int, asked: int) -> Iterator[str]:
    """Yield the logs, one JSON object a line, in the order of their times."""
    given = [json.loads(line) for line in ROLLOUTS.read_text(encoding="utf-8").splitlines()]
    known = [
        (json.dumps(each["prompt"], ensure_ascii=False)[:-1], each["task"], json.dumps(each["completion"]))
        for each in given
    ]
    different = -(-rows // asked)
    first = datetime.now(UTC) - timedelta(days=DAYS)
    step = timedelta(days=DAYS) / (rows + 1)
    for row in range(rows):
        number = row % different
        prompt, task, completion = known[number % len(known)]
        yield (
            f'{{"time": "{(first + row * step).isoformat()}", "task": "{task}", "prompt": {prompt}\\nPedido '
            f'{number // len(known)}", "completion": {completion}, "latency_ms": {400 + row % 900}, '
            f'"cost": {0.0001 * (1 + row % 7):.4f}, "model_version": "{MODEL}/1"}}\n'
        )


def _promote(root: Path) -> None:
    """Make a state folder whose champion answered the audit's prompts in its evaluation."""
    from flows.runtime.session import EXPERIMENT, mlflow_store
    from tasks.commerce.registry import joint_version
    from tasks.evaluate.answers.files import ROLLOUTS_FILE
    from tasks.evaluate.compare import write_report
    from tasks.lineage.mlflow.client import open_client
    from tasks.lineage.mlflow.recorder import Recorder
    from tasks.lineage.mlflow.registry import Registry
    from tests.flows.promotable import BLOCK, commit

    report: dict[str, Any] = {"overall": BLOCK, "tasks": {}, "gate": {"verdict": "promote", "reasons": []}}
    report |= {"identities": {"rewards": f"grounded {joint_version()}"}, "ground_truth": None}
    policy = commit(root, "policy", lambda folder: (folder / "weights").write_bytes(b"w"))
    prompts = commit(root, "prompts", lambda folder: shutil.copytree(AUDIT_FOLDER / "store", folder / "store"))
    answers = commit(
        root, "answers", lambda folder: shutil.copyfile(ROLLOUTS, folder / ROLLOUTS_FILE), {"policy": policy.sha256}
    )
    inputs = {"prompts": prompts.sha256, "answers-tuned": answers.sha256}
    evaluation = commit(root, "evaluation", lambda folder: write_report(report, folder), inputs)
    uri, artifacts = mlflow_store(StateConfig(root=root))
    recorder, registry = Recorder(uri, artifacts, EXPERIMENT), Registry(uri)
    with recorder.pipeline("p", {}) as pipeline, recorder.stage(pipeline, "promote", {}, {}) as stage:
        version = registry.register(
            stage.run_id,
            MODEL,
            policy=policy,
            evaluation=evaluation,
            verdict="promote",
            metrics={},
            base_model=None,
            load_in_4bit=False,
        )
    promotion = commit(
        root,
        "promotion",
        lambda folder: (folder / "decision.json").write_text("{}", encoding="utf-8"),
        {"policy": policy.sha256, "evaluation": evaluation.sha256},
    )
    registry.promote(MODEL, "champion", "previous", version.version, promotion=promotion.sha256)
    since = datetime.now(UTC) - timedelta(days=DAYS + 1)
    open_client(uri).set_model_version_tag(MODEL, version.version, "promoted_at", since.isoformat())
