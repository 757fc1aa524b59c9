"""Audits in a state folder, for the history in the next report."""

from contextlib import suppress

from flows.runtime.stores import open_store
from schemas.audit_record import read_audit_record
from schemas.config.config import Config
from schemas.errors import InputError
from tasks.audit.report import PastAudit


def past_audits(config: Config) -> tuple[PastAudit, ...]:
    """Return the audits of the state folder, the newest first; none where it has no artifacts yet."""
    store = open_store(config)
    audits: list[PastAudit] = []
    for record in store.records("audit"):
        # An audit of an older format cannot be compared; it must not prevent this one.
        with suppress(InputError):
            audits.append(PastAudit(record.created_at, read_audit_record(store.path(record.sha256))))
    return tuple(audits)
