"""The audit stage: score the sheet's rollouts, hold the rewards against the sheet, and write the verdict."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from schemas.config import AuditConfig
from schemas.digests import file_sha256
from schemas.documents import Rollout, ScoredRollout
from schemas.store_files import read_store
from schemas.tasks import TASK_NAMES, SpecName, TaskName
from tasks.audit.gate import AuditGate, TaskAudit, decide, judge
from tasks.audit.probes import run_probes
from tasks.audit.report import ScoredRow, write_page
from tasks.audit.sheet import match_rollouts, read_sheet
from tasks.audit.statistics import measure
from tasks.commerce import registry
from tasks.commerce.sandbox import Databases

SHEET_FILE = "sheet.csv"
REPORT_FILE = "report.json"
IDENTITIES_FILE = "identities.json"

# The bootstrap is all that is random here; a fixed seed makes the audit of a sheet and a reward one and the same.
_SEED = 0


@dataclass(frozen=True)
class AuditResult:
    """The audit's verdict and what exactly was audited."""

    tasks: dict[TaskName, TaskAudit]
    """What was found of each task on the sheet."""
    gate: AuditGate
    """Whether training may start."""
    identities: dict[str, Any]
    """The reward version, the digests of sheet and rollouts, and who scored."""

    def report(self) -> dict[str, Any]:
        """Return the document that `report.json` holds (DESIGN: Documents)."""
        return {
            "tasks": {
                task: {
                    **asdict(audit.agreement),
                    "probes": {name: asdict(probe) for name, probe in audit.probes.items()},
                    "verdict": audit.verdict,
                }
                for task, audit in self.tasks.items()
            },
            "gate": {"passed": self.gate.passed, "reasons": list(self.gate.reasons)},
        }


def run(config: AuditConfig, spec: SpecName, output: Path) -> AuditResult:
    """Audit the rewards against the sheet; write `report.json`, `report.html`, `identities.json` and the sheet.

    Args:
        config: The sheet, its rollouts and store, and the gate's thresholds.
        spec: Which reward is audited.
        output: An empty folder.

    Raises:
        InputError: Sheet, rollouts or store cannot be read or do not belong together.
    """
    from schemas.rollout_tables import read_rollouts

    sheet = read_sheet(config.sheet)
    rollouts = read_rollouts(config.rollouts)
    databases = Databases.from_store(read_store(config.store))
    rows = [
        ScoredRow(row, registry.score_rollout(rollout, databases, spec))
        for row, rollout in zip(sheet, match_rollouts(sheet, rollouts), strict=True)
    ]
    on_sheet = [task for task in TASK_NAMES if any(row.sheet.task == task for row in rows)]
    tasks = {
        task: _audit(task, [row for row in rows if row.sheet.task == task], databases, config, spec)
        for task in on_sheet
    }
    unscored = sorted({rollout.task for rollout in rollouts} - set(on_sheet))
    gate = decide(tasks, unscored, {row.rater_kind for row in sheet}, config)
    identities = {
        "spec": spec,
        "reward_version": registry.reward_version(),
        "sheet_sha256": file_sha256(config.sheet),
        "rollouts_sha256": file_sha256(config.rollouts),
        "raters": sorted({row.rater for row in sheet}),
        "rater_kinds": sorted({row.rater_kind for row in sheet}),
    }
    result = AuditResult(tasks, gate, identities)
    _write(result, rows, config, output)
    return result


def _audit(
    task: TaskName, rows: Sequence[ScoredRow], databases: Databases, config: AuditConfig, spec: SpecName
) -> TaskAudit:
    agreement = measure(
        [row.rollout.reward for row in rows],
        [row.sheet.human_score for row in rows],
        [row.sheet.prompt_id for row in rows],
        [row.sheet.rater for row in rows],
        np.random.default_rng(_SEED),
    )

    def score(rollout: Rollout) -> ScoredRollout:
        return registry.score_rollout(rollout, databases, spec)

    probes = run_probes([row.rollout for row in rows], registry.TASKS[task].answer, score)
    return TaskAudit(agreement, probes, judge(agreement, probes, config))


def _write(result: AuditResult, rows: Sequence[ScoredRow], config: AuditConfig, output: Path) -> None:
    shutil.copyfile(config.sheet, output / SHEET_FILE)
    _write_json(result.report(), output / REPORT_FILE)
    _write_json(result.identities, output / IDENTITIES_FILE)
    write_page(result.tasks, result.gate, rows, result.identities, output)


def _write_json(document: dict[str, Any], path: Path) -> None:
    path.write_text(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
