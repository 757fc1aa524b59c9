"""Checks of this machine for a run: all of them at once, or before a run those whose fault would end it."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import Final

from flows.doctor import libraries, machine, profile, servers
from flows.doctor.finding import CheckOutcome, ClockReading, Finding, refused, single
from flows.runtime.session import artifacts_folder
from flows.runtime.stores import open_store
from schemas.config.config import Config
from schemas.errors import InputError, TucanoError
from schemas.sqlite_file import SECONDS_TO_WAIT

Check = Callable[[Config], CheckOutcome]

CHECKS: Final[Mapping[str, Check]] = {
    "Python": libraries.check_python,
    "libraries": libraries.check_libraries,
    "trainer": libraries.check_trainer,
    "GPU": machine.check_gpu,
    "disk": machine.check_disk,
    "state folder": machine.check_state,
    "Prefect": servers.check_prefect,
    "MLflow": servers.check_mlflow,
    "mirror": servers.check_mirror,
    "artifacts": servers.check_artifacts,
    "model": profile.check_model,
    "files": profile.check_files,
    "endpoints": profile.check_endpoints,
    "preemption": profile.check_notice,
}
SECONDS_FOR_ALL: Final = SECONDS_TO_WAIT + 5.0
"""Limit of any check but that of torch: a network that silently drops packets makes others wait long, and a database
that another process holds as long as anybody waits for it."""
SECONDS_ASTRAY: Final = 5.0
"""Clock offset above which times in two machines' records are hard to compare."""
SECONDS_REFUSED: Final = 300.0
"""Clock offset above which Google refuses requests."""


def examine(config: Config, *, load_torch: bool = False) -> tuple[Finding, ...]:
    """Check everything that a run with this configuration needs; change and leave nothing.

    Args:
        config: The run's configuration.
        load_torch: Load the trainer's torch too, and compute with it on the GPU, which takes some seconds.
    """
    checks: dict[str, tuple[Check, float]] = {name: (check, SECONDS_FOR_ALL) for name, check in CHECKS.items()}
    if load_torch:
        checks["torch"] = (machine.check_torch, machine.SECONDS_FOR_TORCH + 1)
    started = time.monotonic()
    under_way = {name: (_begin(name, check, config), seconds) for name, (check, seconds) in checks.items()}
    outcomes = [_outcome(name, future, started, seconds) for name, (future, seconds) in under_way.items()]
    clocks = [reading for outcome in outcomes for reading in outcome.clocks]
    return (*(finding for outcome in outcomes for finding in outcome.findings), judge_clock(clocks))


def judge_clock(readings: Sequence[ClockReading]) -> Finding:
    """Compare this machine's clock with those that the checks read."""
    if not readings:
        return Finding("clock", "ok", "no other machine was asked for its time", unused=True)
    worst = max(readings, key=lambda reading: abs(reading.seconds_ahead))
    astray = abs(worst.seconds_ahead)
    if astray <= SECONDS_ASTRAY:
        others = ", ".join(dict.fromkeys(reading.of for reading in readings))
        return Finding("clock", "ok", f"within {SECONDS_ASTRAY:g} s of {others}")
    found = f"{astray:.0f} s {'behind' if worst.seconds_ahead > 0 else 'ahead of'} that of {worst.of}"
    remedy = "set the clock by the network: `timedatectl set-ntp true`"
    return Finding("clock", "fault" if astray > SECONDS_REFUSED else "warning", found, remedy)


def _begin(name: str, check: Check, config: Config) -> Future[CheckOutcome]:
    """Start a check in a thread that does not delay the program's end."""
    future: Future[CheckOutcome] = Future()

    def run() -> None:
        try:
            future.set_result(check(config))
        except TucanoError as error:
            future.set_result(CheckOutcome((refused(name, str(error)),)))
        except OSError as error:
            found = f"{error.filename or 'something'} cannot be looked at ({error.strerror})"
            future.set_result(single(name, "fault", found, "free its permissions or its disk"))
        except Exception as error:  # noqa: BLE001 - one check that fails must not hide what the others found
            found = f"could not be looked at ({type(error).__name__}: {error})"
            future.set_result(single(name, "fault", found, "this is a bug of the doctor: report it"))

    threading.Thread(target=run, name=f"doctor-{name}", daemon=True).start()
    return future


def _outcome(name: str, future: Future[CheckOutcome], started: float, seconds: float) -> CheckOutcome:
    try:
        return future.result(max(0.0, started + seconds - time.monotonic()))
    except TimeoutError:
        remedy = "check the network, and what it is that does not answer"
        return single(name, "fault", f"no answer within {seconds:g} s", remedy)


def require_ready(config: Config, profile_name: str) -> None:
    """Refuse a run that this machine cannot bring to its end: no GPU, no model, no inputs.

    Raises:
        InputError: Something is missing; the sentence names it and the remedy.
    """
    for check in _checks(config):
        faults = [finding for finding in check(config).findings if finding.verdict == "fault"]
        if faults:
            first, more = faults[0], f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            raise InputError(
                f"profile {profile_name} cannot run here: {first.check}: {first.found}{more}; {first.remedy}; all that "
                f"is missing: tucano doctor --profile {profile_name}"
            )


def _checks(config: Config) -> Iterator[Check]:
    """Yield the checks, those first that ask no other machine."""
    yield profile.check_files
    yield machine.check_gpu
    yield libraries.check_gpu_packages
    yield libraries.check_trainer
    if not _has_base(config):
        yield profile.check_model


def _has_base(config: Config) -> bool:
    """Return whether an earlier run made a base of the same model: the hub need not be asked again."""
    if not artifacts_folder(config).is_dir():
        return False
    policies = [(record.config or {}).get("policy", {}) for record in open_store(config).records("base")]
    wanted = (config.policy.name, config.policy.revision)
    return any((policy.get("name"), policy.get("revision")) == wanted for policy in policies)
