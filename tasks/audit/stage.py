"""Audit stage: score the sheet's rollouts, compare the rewards with the sheet, and write the verdict."""

import json
import shutil
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from schemas.config.config import AUDIT_FOLDER, AuditConfig
from schemas.disk import file_sha256
from schemas.documents import AUDIT_RECORD_FILE, AuditedTask, AuditRecord
from schemas.errors import InputError, Interrupted
from schemas.progress import Progress, silent
from schemas.tasks import TASK_NAMES, SpecName, TaskName
from tasks.audit.alterations.run import run_alterations
from tasks.audit.gate import AuditGate, TaskAudit, decide, judge
from tasks.audit.report import REPORT_PAGE, render
from tasks.audit.sampling import AT_RANDOM
from tasks.audit.sheet import ScoredCompletion, ScoredSheet, audit_id, read_scored_sheet
from tasks.audit.shown import with_shown_text
from tasks.audit.statistics import Agreement, Correlation, measure
from tasks.commerce import registry

SHEET_FILE: Final = "sheet.csv"
ROLLOUTS_FILE: Final = "rollouts.jsonl"
STORE_FOLDER: Final = "store"
REPORT_FILE: Final = "report.json"
FILES: Final = frozenset({SHEET_FILE, ROLLOUTS_FILE, REPORT_FILE, REPORT_PAGE, AUDIT_RECORD_FILE})

# The bootstrap is the only random part; a fixed seed makes the audit of a sheet and a reward reproducible.
_SEED: Final = 0


@dataclass(frozen=True)
class AuditFiles:
    """Input files of an audit."""

    sheet: Path
    rollouts: Path
    store: Path


@dataclass(frozen=True)
class Audit:
    """Audit of the rewards on one sheet."""

    tasks: Mapping[TaskName, TaskAudit]
    gate: AuditGate
    judged: tuple[ScoredCompletion, ...]

    def report(self) -> dict[str, Any]:
        """Return the content of `report.json`."""
        return {
            "tasks": {
                task: {
                    **_figures(audit.agreement),
                    "probes": {name: asdict(probe) for name, probe in audit.probes.items()},
                    "verdict": audit.verdict,
                }
                for task, audit in self.tasks.items()
            },
            "gate": {"passed": self.gate.passed, "reasons": list(self.gate.reasons)},
        }


def shipped_files() -> AuditFiles:
    """Return the sheet shipped with the project, scored by a written rubric."""
    return files_of(AUDIT_FOLDER)


def files_of(folder: Path) -> AuditFiles:
    """Return the input files in a folder that holds all of them."""
    return AuditFiles(folder / SHEET_FILE, folder / ROLLOUTS_FILE, folder / STORE_FOLDER)


def run(
    files: AuditFiles,
    config: AuditConfig,
    spec: SpecName,
    output: Path,
    progress: Progress = silent,
    tasks: Collection[TaskName] = TASK_NAMES,
) -> Audit:
    """Audit the rewards of some tasks; write `report.json`, `report.html`, `audit.json`, and copies of the files.

    InputError where sheet, rollouts or store cannot be read or do not belong together; Interrupted where sheet or
    rollouts were changed meanwhile.
    """
    digests = _digests(files)
    sheet, score = read_files(files, config, spec)
    audit = audit_rewards(sheet.of_tasks(tasks), score, config, progress)
    # People may still be editing the sheet.
    _keep(files, output, digests)
    record = _record(audit, sheet, digests, spec, config)
    _write_json(audit.report(), output / REPORT_FILE)
    _write_json(record.model_dump(mode="json"), output / AUDIT_RECORD_FILE)
    page = render(audit.tasks, audit.gate, audit.judged, record, config)
    (output / REPORT_PAGE).write_text(page, encoding="utf-8")
    return audit


def read_files(files: AuditFiles, config: AuditConfig, spec: SpecName) -> tuple[ScoredSheet, registry.RolloutScorer]:
    """Read a scored sheet, and make the reward to compare with it.

    InputError where sheet, rollouts or store cannot be read or do not belong together, or a reference query of the
    rollouts does not run on the store.
    """
    from schemas.tables.rollout_tables import read_rollouts

    rollouts = [with_shown_text(rollout) for rollout in read_rollouts(files.rollouts)]
    sheet = read_scored_sheet(files.sheet, rollouts, config.raters)
    return sheet, registry.scorer_on(sheet.tasks, files.store, spec)


def audit_rewards(
    sheet: ScoredSheet, score: registry.RolloutScorer, config: AuditConfig, progress: Progress = silent
) -> Audit:
    """Compare a reward with the scores of a sheet, and probe it with completions of known quality."""
    tasks: dict[TaskName, TaskAudit] = {}
    everything: list[ScoredCompletion] = []
    for done, task in enumerate(sheet.tasks):
        progress(done, len(sheet.tasks), task)
        judged = [ScoredCompletion(item, score(item.rollout)) for item in sheet.of_tasks([task]).items]
        rewards = {row.item.audit_id: row.rollout.reward for row in judged}
        groups: defaultdict[str, list[float]] = defaultdict(list)
        for rollout in sheet.siblings:
            if rollout.task == task:
                known = rewards.get(audit_id(rollout))
                groups[rollout.prompt_id].append(score(rollout).reward if known is None else known)
        agreement = measure(
            [row.rollout.reward for row in judged],
            [row.item.scores for row in judged],
            [row.rollout.prompt_id for row in judged],
            [row.item.stratum == AT_RANDOM for row in judged],
            np.random.default_rng(_SEED),
            list(groups.values()),
        )
        tasks[task] = judge(task, agreement, run_alterations(task, [row.item.rollout for row in judged], score), config)
        everything += judged
    gate = decide(tasks, sheet.unscored, sheet.rater_kinds.values(), config)
    progress(len(sheet.tasks), len(sheet.tasks), "tasks audited")
    return Audit(tasks, gate, tuple(everything))


def _figures(agreement: Agreement) -> dict[str, Any]:
    """Return a task's key figures, the specified ones first."""
    figures = asdict(agreement)
    for name in ("overall", "random_half"):
        found: Correlation = getattr(agreement, name)
        figures[name] |= {"rho_low": found.rho_low, "rho_high": found.rho_high}
    overall, random_half = figures.pop("overall"), figures.pop("random_half")
    return {**overall, **figures, "random_half": random_half}


def _digests(files: AuditFiles) -> tuple[str, str]:
    try:
        return file_sha256(files.sheet), file_sha256(files.rollouts)
    except OSError as error:
        raise InputError(f"{error.filename} cannot be read: {error.strerror}; give a file that you may read") from None


def _keep(files: AuditFiles, output: Path, digests: tuple[str, str]) -> None:
    """Copy the sheet and its rollouts, after checking that they are still the audited ones."""
    shutil.copyfile(files.sheet, output / SHEET_FILE)
    shutil.copyfile(files.rollouts, output / ROLLOUTS_FILE)
    if _digests(files_of(output)) != digests:
        raise Interrupted(
            f"the sheet {files.sheet} or its rollouts were changed while they were audited; run the same command again"
        )


def _record(
    audit: Audit, sheet: ScoredSheet, digests: tuple[str, str], spec: SpecName, config: AuditConfig
) -> AuditRecord:
    agreements = {task: found.agreement.overall for task, found in audit.tasks.items()}
    return AuditRecord(
        spec=spec,
        reward_version=registry.joint_version(spec),
        reward_versions=registry.reward_versions(audit.tasks, spec),
        sheet_sha256=digests[0],
        rollouts_sha256=digests[1],
        raters=dict(sorted(sheet.rater_kinds.items())),
        verdict="passed" if audit.gate.passed else "refused",
        reasons=audit.gate.reasons,
        thresholds=config.thresholds(),
        tasks={
            task: AuditedTask(n=each.n, rho=each.rho, rho_low=each.rho_low, verdict=audit.tasks[task].verdict)
            for task, each in agreements.items()
        },
    )


def _write_json(document: Mapping[str, Any], path: Path) -> None:
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
