"""Artifact descriptions in a few facts: counts, scores, people by pseudonym, verdicts."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import polars as pl
from polars.exceptions import PolarsError

from schemas.artifact import ArtifactKind, ArtifactRecord
from schemas.audit_record import read_audit_record
from schemas.errors import InputError
from schemas.tables.prompts import SPLITS
from schemas.tables.prompts_summary import PromptsSummary
from tasks.lineage.graph.models import DECISION_FILE
from tasks.lineage.store.inventory import short

PROMPTS_FILE: Final = "prompts.parquet"
QUARANTINE_FILE: Final = "quarantine.parquet"
UNREADABLE: Final = "unreadable"

Facts = dict[str, str]


def split_file(split: str) -> str:
    """Return the file of a split in a dataset."""
    return f"data/{split}.parquet"


def is_rollout_log(name: str) -> bool:
    """Return whether a file of a policy is a log of its training's rollouts."""
    return name.endswith(".parquet") and "rollouts/" in name


def describe(record: ArtifactRecord, folder: Path) -> Facts:
    """Return the facts of an artifact: the time, place and maker, and the content."""
    made = {
        "made": f"{record.created_at:%Y-%m-%d %H:%M} UTC by {record.stage} on {record.machine}",
        "code": short(record.code_version),
        "configuration": short(record.config_digest),
    }
    if record.kind == "base" and (policy := record.config.get("policy")):
        made = {"model": "the stand-in" if policy["stand_in"] else str(policy["name"])} | made
    runs = {"MLflow run": record.mlflow_run_id, "Prefect run": record.prefect_run_id}
    made |= {name: run for name, run in runs.items() if run is not None}
    try:
        return (_OF_KIND[record.kind](folder) if record.kind in _OF_KIND else {}) | made
    except (OSError, ValueError, KeyError, TypeError, AttributeError, InputError, PolarsError):
        # The error's own text may quote a row.
        return {UNREADABLE: "its files are lost or altered; --verify says which", **made}


def _prompts(folder: Path) -> Facts:
    summary = PromptsSummary.read(folder)
    return {
        "rows": _by_source(folder / PROMPTS_FILE),
        "store": f"{summary.store.orders} orders, {summary.store.reviews} reviews",
        "seed": str(summary.seed),
    }


def _dataset(folder: Path) -> Facts:
    facts = {split: _by_source(folder / split_file(split)) for split in SPLITS}
    dropped = Counter(pl.read_parquet(folder / QUARANTINE_FILE, columns=["reason"])["reason"])
    if dropped:
        facts["quarantine"] = _counted(dropped)
    general = folder / "data" / "general.parquet"
    if general.is_file():
        facts["general instructions"] = str(pl.scan_parquet(general, glob=False).select(pl.len()).collect().item())
    return facts


def _base(folder: Path) -> Facts:
    facts: Facts = {}
    if (file := folder / "published.json").is_file() and (commit := _json(file)["commit"]):
        facts["commit"] = commit
    if (file := folder / "warm_start.json").is_file():
        facts["demonstrations"] = str(_json(file)["demonstrations"])
    return facts


def _audit(folder: Path) -> Facts:
    audit = read_audit_record(folder)
    rhos = {task: "unknown" if of.rho is None else f"{of.rho:.2f}" for task, of in audit.tasks.items()}
    return {
        "verdict": audit.verdict,
        "rewards": f"{audit.spec} {short(audit.reward_version)}",
        "scored by": ", ".join(f"{rater} ({kind})" for rater, kind in audit.raters.items()),
        "rho": ", ".join(f"{task} {rho}" for task, rho in rhos.items()),
    }


def _policy(folder: Path) -> Facts:
    summary = _json(folder / "training.json")
    facts = {
        "training": f"{summary.get('algorithm', 'grpo')}, seed {summary['seed']}, {summary['steps']} steps",
        "chosen step": str(summary["chosen_step"] if summary["chosen_step"] is not None else summary["chosen_steps"]),
        "rewards": f"{summary['audit']['spec']} {short(summary['audit']['reward_version'])}",
    }
    logs = sorted(folder.rglob("rollouts/*.parquet"))
    if logs:
        counted = pl.scan_parquet(logs, glob=False).select(pl.len(), pl.col("prompt_id").n_unique()).collect().row(0)
        facts["rollouts"] = f"{counted[0]} of {counted[1]} prompts"
    return facts


def _evaluation(folder: Path) -> Facts:
    report = _json(folder / "report.json")
    overall = report["overall"]
    return {
        "verdict": str(report["gate"]["verdict"]),
        "reward": f"base {overall['mean_base']:.3f}, tuned {overall['mean_tuned']:.3f}",
        "difference": f"{overall['mean_difference']:+.3f} ({overall['ci_low']:+.3f} to {overall['ci_high']:+.3f})",
    }


def _promotion(folder: Path) -> Facts:
    decision = _json(folder / DECISION_FILE)
    facts = {"decision": str(decision["verdict"]), "why": "; ".join(decision["reasons"])}
    return {**facts, "forced": str(decision["forced"])} if decision["forced"] else facts


_OF_KIND: Final[Mapping[ArtifactKind, Callable[[Path], Facts]]] = {
    "prompts": _prompts, "dataset": _dataset, "base": _base, "audit": _audit, "policy": _policy,
    "evaluation": _evaluation, "promotion": _promotion,
}  # fmt: skip


def _by_source(path: Path) -> str:
    """Return a prompt table's rows per source, such as `1840 simulated`."""
    counted = pl.scan_parquet(path, glob=False).group_by("source").len().sort("len", descending=True).collect()
    return _counted(dict(counted.iter_rows()))


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "0"


def _json(path: Path) -> Any:
    return json.loads(path.read_bytes())
