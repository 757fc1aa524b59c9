"""A million rows of logs through `tucano monitor`, for `benchmarks.monitor`.

The logs are the completions of the audit's sheet, good and bad ones of all six tasks, repeated over the last 34 days;
an order number makes prompts differ. No answer has a reference, as in production, and each is scored by the content of
its prompt; the queries run. The champion is a registered version whose test answers are the same completions.
"""

import json
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from benchmarks.processes import watch
from schemas.config.config import AUDIT_FOLDER, StateConfig

ROWS: Final = 1_000_000
ASKED: Final = 4
"""Occurrences of each distinct answer in the logs."""
LIMIT: Final = 180.0
"""Most seconds for a million rows, start included."""
DAYS: Final = 34
MODEL: Final = "tucano2-commerce"
ROLLOUTS: Final = AUDIT_FOLDER / "rollouts.jsonl"


def measured(rows: int) -> tuple[float, float]:
    """Write logs with that many answers, and run `tucano monitor` on them; return its seconds, and their megabytes."""
    with tempfile.TemporaryDirectory() as folder:
        state, logs = Path(folder) / "state", Path(folder) / "logs.jsonl"
        _promote(state)
        with logs.open("w", encoding="utf-8") as file:
            file.writelines(_lines(rows))
        command = ("flows", "monitor", str(logs), "--profile", "local", "--json", "--state", str(state))
        # With drift it ends with 3.
        ended = watch(*command, every=1.0, success=(0, 3))
        if (read := json.loads(ended.output)["logs"]["answers"]) != rows:
            raise RuntimeError(f"of {rows:,} rows {read:,} were looked at")
        return ended.seconds, logs.stat().st_size / 1e6


def _lines(rows: int) -> Iterator[str]:
    """Yield the logs, one JSON object a line, in the order of their times."""
    given = [json.loads(line) for line in ROLLOUTS.read_text(encoding="utf-8").splitlines()]
    known = [
        (json.dumps(each["prompt"], ensure_ascii=False)[:-1], each["task"], json.dumps(each["completion"]))
        for each in given
    ]
    different = -(-rows // ASKED)
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
    from flows.runtime.session import mlflow_store
    from tasks.commerce.registry import joint_version
    from tasks.evaluate.answers.files import ROLLOUTS_FILE
    from tasks.evaluate.compare import write_report
    from tasks.lineage.mlflow.client import open_client
    from tests.flows.promotable import BLOCK, Promotable, commit

    report: dict[str, Any] = {"overall": BLOCK, "tasks": {}, "gate": {"verdict": "promote", "reasons": []}}
    report |= {"identities": {"rewards": f"grounded {joint_version()}"}, "ground_truth": None}
    policy = commit(root, "policy", lambda folder: (folder / "weights").write_bytes(b"w"))
    prompts = commit(root, "prompts", lambda folder: shutil.copytree(AUDIT_FOLDER / "store", folder / "store"))
    answers = commit(
        root, "answers", lambda folder: shutil.copyfile(ROLLOUTS, folder / ROLLOUTS_FILE), {"policy": policy.sha256}
    )
    inputs = {"prompts": prompts.sha256, "answers-tuned": answers.sha256}
    evaluation = commit(root, "evaluation", lambda folder: write_report(report, folder), inputs)
    world = Promotable(root, base=policy, dataset=prompts)
    version = world.register(policy, evaluation, "promote", MODEL)
    promotion = commit(
        root,
        "promotion",
        lambda folder: (folder / "decision.json").write_text("{}", encoding="utf-8"),
        {"policy": policy.sha256, "evaluation": evaluation.sha256},
    )
    world.registry.promote(MODEL, "champion", "previous", version, promotion=promotion.sha256)
    since = datetime.now(UTC) - timedelta(days=DAYS + 1)
    uri, _ = mlflow_store(StateConfig(root=root))
    open_client(uri).set_model_version_tag(MODEL, version, "promoted_at", since.isoformat())
