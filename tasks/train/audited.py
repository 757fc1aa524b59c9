"""No training without an audit: the trainer looks for itself, for it may run in an environment with other code."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from schemas.audit_record import AuditRecord, read_audit_record
from schemas.errors import GateRefused
from schemas.tasks import SpecName, TaskName
from tasks.commerce.registry import reward_version

AUDIT_REMEDY: Final = "audit the rewards of this version and of each task with `tucano audit`, or run what was audited"


def audit_faults(record: AuditRecord, spec: SpecName, tasks: Iterable[TaskName]) -> list[str]:
    """Return, in words, what keeps an audit from letting a training start; nothing where it may.

    Args:
        record: The audit's record.
        spec: The reward specification that is to be trained on.
        tasks: The tasks that are to be trained.
    """
    audited, wanted = (record.spec, record.reward_version), (spec, reward_version())
    unaudited = sorted(set(tasks) - record.tasks.keys())
    faults = []
    if audited != wanted:
        faults.append(
            f"it is of the rewards {record.spec} {record.reward_version[:12]}, and these are {spec} {wanted[1][:12]}"
        )
    if record.verdict != "passed":
        faults.append(f"it refused: {'; '.join(record.reasons[:3])}")
    if unaudited:
        faults.append(f"it says nothing of {', '.join(unaudited)}")
    return faults


def require_audit(folder: Path, spec: SpecName, tasks: Iterable[TaskName]) -> AuditRecord:
    """Return the record of the audit that lets a training start.

    Args:
        folder: The audit's artifact.
        spec: The reward specification that is to be trained on.
        tasks: The tasks that are to be trained.

    Raises:
        InputError: The folder holds no audit.
        GateRefused: The audit refused the rewards, or audited others than those that this process would train on, or
            not those of each task.
    """
    record = read_audit_record(folder)
    faults = audit_faults(record, spec, tasks)
    if faults:
        raise GateRefused(f"the audit in {folder} lets no training start: {'; '.join(faults)}; {AUDIT_REMEDY}")
    return record
