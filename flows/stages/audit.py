"""Flow `audit`: compare rewards with people's scores, and open or close the gate before training."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flows.runtime.prefect_run import show_markdown, stage_flow
from flows.runtime.run_page import linked_to_mlflow
from flows.runtime.stores import past_audits
from flows.stages.audit_sheet import drawn_sheets
from flows.stages.runner import Session, Stage, StageResult, config_digest, run_stage
from schemas.audit_record import AuditRecord, read_audit_record
from schemas.errors import GateRefused, Interrupted
from schemas.faults import first_few
from schemas.progress import Progress
from tasks.audit import stage as audit_stage
from tasks.audit.report import REPORT_PAGE
from tasks.audit.stage import REPORT_FILE, AuditFiles
from tasks.lineage.mlflow.recorder import StageRun
from tasks.lineage.store.content import file_digests
from tasks.report.language import spoken

REPORTS = (REPORT_PAGE, REPORT_FILE)


@stage_flow("audit")
def audit(session: Session, files: AuditFiles) -> StageResult:
    """Audit the rewards; where this version was audited on this sheet before, that audit stands.

    Raises:
        GateRefused: The rewards do not agree with the scores well enough; the audit is kept all the same.
    """
    config = session.config
    sheet, rollouts = (file_digests([file]) for file in (files.sheet, files.rollouts))

    @spoken(config.language)
    def work(output: Path, progress: Progress, _: StageRun) -> None:
        audit_stage.run(files, config.audit, config.rewards.spec, output, past_audits(config), progress)
        if read_audit_record(output).sheet_sha256 not in sheet.values():
            raise Interrupted(f"the sheet {files.sheet} was changed while the run read it; run the same command again")

    stage = Stage(
        name="audit",
        kind="audit",
        sources=("tasks.audit.stage",),
        config_digest=config_digest(
            config.audit.thresholds(),
            config.audit.raters,
            config.language,
            config.rewards.spec,
            sheet,
            rollouts,
            file_digests(sorted(files.store.glob("*.csv"))),
        ),
        inputs={},
        work=work,
        order_only_inputs=drawn_sheets(config, files),
        summary=_figures,
        reports=REPORTS,
    )
    result = run_stage(stage, session)
    record = read_audit_record(result.path)
    show_markdown(
        key="audit-gate",
        markdown=linked_to_mlflow(_as_markdown(record), result.record, config),
        description="May training start?",
    )
    unaudited = sorted(task for task, count in config.synthesize.counts.items() if count and task not in record.tasks)
    if unaudited:
        raise GateRefused(
            f"the audit sheet {files.sheet} has no scores of {', '.join(unaudited)}; score these tasks too (if a run "
            "drew the sheet, move its folder away, and the next run draws one of all tasks), or train without them "
            "with --set synthesize.counts.TASK=0"
        )
    if record.verdict != "passed":
        raise GateRefused(f"the reward audit says no: {first_few(record.reasons)}; see {result.path / REPORT_PAGE}")
    return result


def _figures(folder: Path) -> Mapping[str, Any]:
    record = read_audit_record(folder)
    return {"gate": record.verdict, **{f"rho {task}": found.rho for task, found in record.tasks.items()}}


def _as_markdown(record: AuditRecord) -> str:
    lines = [
        "Training may start." if record.verdict == "passed" else "**Training may not start.**",
        "",
        *(f"- {reason}" for reason in record.reasons),
        *([] if "human" in record.raters.values() else ["- No person scored this sheet."]),
        "",
        "| task | scores | rho | lower bound | verdict |",
        "|---|---|---|---|---|",
    ]
    for task, found in record.tasks.items():
        lines.append(f"| {task} | {found.n} | {_shown(found.rho)} | {_shown(found.rho_low)} | {found.verdict} |")
    scored = ", ".join(f"{rater} ({kind})" for rater, kind in record.raters.items())
    return "\n".join([*lines, "", f"Rewards {record.spec} {record.reward_version[:12]}, scored by {scored}."])


def _shown(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"
