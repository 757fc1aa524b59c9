"""Checks of this machine for a run, made concurrently, each with a time limit of its own."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Final

from flows.doctor import libraries, machine, model, profile, servers, stores
from flows.doctor.finding import CheckOutcome, ClockReading, Finding, refused, single
from schemas.config.config import Config
from schemas.errors import TucanoError
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
    "mirror": stores.check_mirror,
    "artifacts": stores.check_artifacts,
    "model": model.check_model,
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
