"""Artifact descriptions in a few facts: counts, scores, people by pseudonym, verdicts."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from schemas.artifact import ArtifactRecord
from schemas.documents import read_audit_record
from schemas.errors import InputError
from schemas.tables.prompts import SPLITS
from schemas.tables.summaries import PromptsSummary
from tasks.lineage.graph.graph import DECISION_FILE
from tasks.lineage.store.inventory import short

PROMPTS_FILE: Final = "prompts.parquet"
QUARANTINE_FILE: Final = "quarantine.parquet"
UNREADABLE: Final = "unreadable"


def split_file(split: str) -> str:
    """Return the file of a split in a dataset."""
    return f"data/{split}.parquet"


def is_rollout_log(name: str) -> bool:
    """Return whether a file of a policy is a log of its training's rollouts."""
    return name.endswith(".parquet") and "rollouts/" in name


def describe(record: ArtifactRecord, folder: Path) -> dict[str, str]:
    """Return the facts of an artifact: the content, and the time, place and maker."""
    # Polars takes a quarter of a second, which `doctor` goes without.
    from polars.exceptions import PolarsError

    made = {
        "made": f"{record.created_at:%Y-%m-%d %H:%M} UTC by {record.stage} on {record.machine}",
        "code": short(record.code_version),
        "configuration": short(record.config_digest),
    }
    runs = {"MLflow run": record.mlflow_run_id, "Prefect run": record.prefect_run_id}
    made |= {name: run for name, run in runs.items() if run is not None}
    try:
        return dict(_data(record, folder)) | dict(_models(record, folder)) | made
    except (OSError, ValueError, KeyError, TypeError, AttributeError, InputError, PolarsError):
        # The error's own text may quote a row.
        return {UNREADABLE: "its files are lost or altered; --verify says which", **made}


def _data(record: ArtifactRecord, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the facts of prompts, datasets and audits."""
    if record.kind == "prompts":
        summary = PromptsSummary.read(folder)
        yield "rows", _counts(folder / PROMPTS_FILE, "source")
        yield "store", f"{summary.store.orders} orders, {summary.store.reviews} reviews"
        yield "seed", str(summary.seed)
    elif record.kind == "dataset":
        for split in SPLITS:
            yield split, _counts(folder / split_file(split), "source")
        yield "quarantine", _counts(folder / QUARANTINE_FILE, "reason")
    elif record.kind == "audit":
        audit = read_audit_record(folder)
        yield "verdict", audit.verdict
        yield "rewards", f"{audit.spec} {short(audit.reward_version)}"
        yield "scored by", ", ".join(f"{rater} ({kind})" for rater, kind in audit.raters.items())


def _models(record: ArtifactRecord, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield the facts of bases, policies, evaluations and promotions."""
    if record.kind == "base" and (policy := record.config.get("policy")):
        yield "model", "the stand-in" if policy["stand_in"] else str(policy["name"])
    elif record.kind == "policy":
        summary = _json(folder / "training.json")
        yield "training", f"{summary.get('algorithm', 'grpo')}, seed {summary['seed']}, {summary['steps']} steps"
        chosen = summary["chosen_step"]
        yield "chosen step", str(summary["chosen_steps"] if chosen is None else chosen)
        yield "rewards", f"{summary['audit']['spec']} {short(summary['audit']['reward_version'])}"
        if logs := sorted(folder.rglob("rollouts/*.parquet")):
            import polars as pl

            drawn = pl.scan_parquet(logs, glob=False).select(pl.len(), pl.col("prompt_id").n_unique()).collect()
            yield "rollouts", "{} of {} prompts".format(*drawn.row(0))
    elif record.kind == "evaluation":
        report = _json(folder / "report.json")
        overall = report["overall"]
        yield "verdict", str(report["gate"]["verdict"])
        yield "reward", f"base {overall['mean_base']:.3f}, tuned {overall['mean_tuned']:.3f}"
        interval = f"{overall['ci_low']:+.3f} to {overall['ci_high']:+.3f}"
        yield "difference", f"{overall['mean_difference']:+.3f} ({interval})"
    elif record.kind == "promotion":
        decision = _json(folder / DECISION_FILE)
        yield "decision", str(decision["verdict"])
        yield "why", "; ".join(decision["reasons"])
        if decision["forced"]:
            yield "forced", str(decision["forced"])


def _counts(path: Path, column: str) -> str:
    """Return a table's rows by the values of a column, such as `1840 simulated`."""
    import polars as pl

    counted = pl.scan_parquet(path, glob=False).group_by(column).len().sort("len", column, descending=[True, False])
    return ", ".join(f"{count} {name}" for name, count in counted.collect().iter_rows()) or "0"


def _json(path: Path) -> Mapping[str, Any]:
    document: Mapping[str, Any] = json.loads(path.read_bytes())
    return document
