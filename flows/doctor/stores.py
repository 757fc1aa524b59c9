"""Permission checks of the stores: checkpoint mirror and shared artifacts."""

from datetime import UTC, datetime

from flows.doctor.finding import CheckOutcome, ClockReading, Finding, refused, unused
from flows.runtime.session import mirror_address
from schemas.config.config import Config
from schemas.errors import InputError
from tasks.checkpoints.permissions import RIGHTS, probe_address


def check_mirror(config: Config) -> CheckOutcome:
    """Try the store of checkpoints."""
    return _try("mirror", mirror_address(config))


def check_artifacts(config: Config) -> CheckOutcome:
    """Try the store through which machines share artifacts."""
    if config.state.artifacts is None:
        return unused("artifacts", "state.artifacts is not set: they stay on this machine")
    return _try("artifacts", config.state.artifacts)


def _try(check: str, address: str) -> CheckOutcome:
    started = datetime.now(UTC)
    try:
        probed = probe_address(address)
    except InputError as error:
        return CheckOutcome((refused(check, f"{address}: {error}"),))
    findings = [refused(f"{check}: {right}", sentence) for right, sentence in probed.refusals.items()]
    if probed.left is not None:
        findings.append(Finding(check, "warning", f"the doctor's {probed.left} stays in {address}", "delete it"))
    if not findings:
        findings.append(Finding(check, "ok", f"{', '.join(RIGHTS)} in {address}"))
    ahead = None if probed.clock is None else _ahead(probed.clock, started)
    return CheckOutcome(tuple(findings), () if ahead is None else (ClockReading(address, ahead),))


def _ahead(clock: datetime, started: datetime) -> float:
    """Return how far ahead a clock is that was read between `started` and now; 0 where it may be right."""
    if clock < started:
        return (clock - started).total_seconds()
    return max(0.0, (clock - datetime.now(UTC)).total_seconds())
