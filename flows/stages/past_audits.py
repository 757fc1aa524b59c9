"""Audits in a state folder, for the history in the next report."""

from contextlib import suppress
from pathlib import Path

from schemas.audit_record import read_audit_record
from schemas.errors import InputError
from tasks.audit.report import PastAudit
from tasks.lineage.store.artifacts import ArtifactStore


def past_audits(artifacts: Path) -> tuple[PastAudit, ...]:
    """Return the audits of an artifact store, the newest first; none where there is no store yet."""
    store = ArtifactStore(artifacts)
    audits: list[PastAudit] = []
    for record in store.records("audit"):
        # An audit of an older format cannot be compared; it must not prevent this one.
        with suppress(InputError):
            audits.append(PastAudit(record.created_at, read_audit_record(store.path(record.sha256))))
    return tuple(audits)
