"""The audit flow: rewards against scores, and the gate that training cannot pass by accident."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prefect import flow
from prefect.artifacts import create_markdown_artifact

from flows.stage import Stage, StageResult, config_digest, run_stage
from schemas.config import AuditConfig, Config
from schemas.errors import GateRefused
from tasks.audit import stage as audit_stage
from tasks.lineage.source import file_digests


@flow(name="audit", validate_parameters=False)
def audit(config: Config, pipeline_run: str, *, fresh: bool = False) -> StageResult:
    """Audit the rewards.

    Raises:
        GateRefused: The rewards do not agree with the scores well enough; the audit is kept all the same.
    """
    stage = Stage(
        name="audit",
        kind="audit",
        sources=("schemas", "tasks.commerce", "tasks.audit", "data/audit", "data/lexicons", "data/wordings"),
        config_digest=config_digest(
            config.audit.model_dump(mode="json", exclude={"sheet", "rollouts", "store"}),
            config.rewards.spec,
            _files(config.audit),
        ),
        inputs={},
        work=lambda output, _progress, _run: audit_stage.run(config.audit, config.rewards.spec, output),
        summary=_figures,
        reports=("report.html", "report.json"),
    )
    result = run_stage(stage, config, pipeline_run, fresh=fresh)
    report = _report(result.path)
    gate, audited = report["gate"], report["tasks"]
    create_markdown_artifact(key="audit-gate", markdown=_as_markdown(gate), description="May training start?")
    unaudited = sorted(task for task, count in config.synthesize.counts.items() if count and task not in audited)
    if unaudited:
        raise GateRefused(
            f"the audit sheet {config.audit.sheet} has no scores of {', '.join(unaudited)}; score these tasks too, or "
            "train without them with --set synthesize.counts.TASK=0"
        )
    if not gate["passed"]:
        raise GateRefused(f"the reward audit says no: {'; '.join(gate['reasons'])}; see {result.path / 'report.html'}")
    return result


def _files(config: AuditConfig) -> dict[str, str]:
    """Return the digest of each file that the audit reads, wherever it is kept."""
    return file_digests([config.sheet, config.rollouts, *sorted(config.store.glob("*.csv"))])


def _report(folder: Path) -> Any:
    return json.loads((folder / "report.json").read_text(encoding="utf-8"))


def _figures(folder: Path) -> Mapping[str, Any]:
    report = _report(folder)
    figures = {f"rho {task}": values["rho"] for task, values in report["tasks"].items()}
    return {**figures, "gate": "passed" if report["gate"]["passed"] else "refused"}


def _as_markdown(gate: Mapping[str, Any]) -> str:
    verdict = "Training may start." if gate["passed"] else "**Training may not start.**"
    return "\n".join([verdict, "", *(f"- {reason}" for reason in gate["reasons"])])
