"""The audits that a state folder keeps, for the history in the next one's report."""

from pathlib import Path

from schemas.audit_record import AUDIT_RECORD_FILE, read_audit_record
from tasks.audit.report import PastAudit
from tasks.lineage.artifacts import ArtifactStore


def past_audits(artifacts: Path) -> tuple[PastAudit, ...]:
    """Return the audits of an artifact store, the newest first; none where there is no store yet."""
    store = ArtifactStore(artifacts)
    made = [(record.created_at, store.path(record.sha256)) for record in store.records("audit")]
    # Audits from before they had a record of their own say nothing that could be compared.
    return tuple(PastAudit(when, read_audit_record(path)) for when, path in made if (path / AUDIT_RECORD_FILE).exists())
