"""The audits that a state folder keeps, for the history in the next one's report."""

from contextlib import suppress
from pathlib import Path

from schemas.audit_record import read_audit_record
from schemas.errors import InputError
from tasks.audit.report import PastAudit
from tasks.lineage.artifacts import ArtifactStore


def past_audits(artifacts: Path) -> tuple[PastAudit, ...]:
    """Return the audits of an artifact store, the newest first; none where there is no store yet."""
    store = ArtifactStore(artifacts)
    audits: list[PastAudit] = []
    for record in store.records("audit"):
        # An audit of another time, whose record says something else, cannot be compared; it must not forbid this one.
        with suppress(InputError):
            audits.append(PastAudit(record.created_at, read_audit_record(store.path(record.sha256))))
    return tuple(audits)
