"""No training without an audit: the trainer looks for itself, for it may run in an environment with other code."""

from collections.abc import Iterable
from pathlib import Path

from schemas.audit_record import AuditRecord, read_audit_record
from schemas.errors import GateRefused
from schemas.tasks import SpecName, TaskName
from tasks.commerce.registry import reward_version


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
    audited, wanted = (record.spec, record.reward_version), (spec, reward_version())
    if audited != wanted:
        raise GateRefused(
            f"the audit in {folder} is of the rewards {record.spec} {record.reward_version[:12]}, and these "
            f"would be {spec} {wanted[1][:12]}; audit them, or run the code that was audited"
        )
    if record.verdict != "passed":
        raise GateRefused(f"the audit in {folder} refused these rewards: {'; '.join(record.reasons[:3])}")
    unaudited = sorted(set(tasks) - record.tasks.keys())
    if unaudited:
        raise GateRefused(
            f"the audit in {folder} says nothing of {', '.join(unaudited)}; audit these tasks' rewards too"
        )
    return record
