"""Audit requirement of a training. The child checks it itself, since it may run with other code than its parent."""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

from schemas.audit_record import AuditRecord, read_audit_record
from schemas.errors import GateRefused
from schemas.tasks import SpecName, TaskName
from tasks.commerce.registry import joint_version, reward_version

AUDIT_REMEDY: Final = "audit the rewards of this version and of each task with `tucano audit`, or run what was audited"


def audit_faults(record: AuditRecord, spec: SpecName, tasks: Iterable[TaskName]) -> list[str]:
    """Return the reasons why an audit does not permit a training; empty if it does.

    Args:
        record: The audit's record.
        spec: The reward specification to train on.
        tasks: The tasks to train.
    """
    wanted = set(tasks)
    unaudited = sorted(wanted - record.tasks.keys())
    changed = sorted(
        task for task in wanted & record.tasks.keys() if record.reward_versions.get(task) != reward_version(task, spec)
    )
    faults = []
    if record.spec != spec or (changed and not record.reward_versions):
        faults.append(
            f"it is of the rewards {record.spec} {record.reward_version[:12]}, and these are {spec} "
            f"{joint_version(spec)[:12]}"
        )
    elif changed:
        faults.append(f"the rewards of {', '.join(changed)} are others than those that it audited")
    if record.verdict != "passed":
        faults.append(f"it refused: {'; '.join(record.reasons[:3])}")
    if unaudited:
        faults.append(f"it says nothing of {', '.join(unaudited)}")
    return faults


def require_audit(folder: Path, spec: SpecName, tasks: Iterable[TaskName]) -> AuditRecord:
    """Return the record of the audit that permits a training.

    Args:
        folder: The audit's artifact.
        spec: The reward specification to train on.
        tasks: The tasks to train.

    Raises:
        InputError: The folder holds no audit.
        GateRefused: The audit refused the rewards, or audited other rewards than this process would train on, or not
            all of the tasks.
    """
    record = read_audit_record(folder)
    faults = audit_faults(record, spec, tasks)
    if faults:
        raise GateRefused(f"the audit in {folder} lets no training start: {'; '.join(faults)}; {AUDIT_REMEDY}")
    return record
