"""Checks for a run: all of them at once, or before a run those whose fault would end it after minutes."""

import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Final

from flows.doctor import machine, services
from flows.doctor.machine import Check, Finding, refused
from flows.runtime.session import artifacts_folder, open_store
from schemas.config.config import Config
from schemas.errors import InputError, TucanoError
from schemas.sqlite_file import SECONDS_TO_WAIT

SECONDS_FOR_ALL: Final = SECONDS_TO_WAIT + 5.0
"""Limit of every check: a database that another process holds is waited for, and a network may drop packets."""
CHECKS: Final[Mapping[str, Check]] = {
    "libraries": machine.check_libraries,
    "trainer": machine.check_trainer,
    "GPU": machine.check_gpu,
    "disk": machine.check_disk,
    "state folder": machine.check_state,
    "Prefect": services.check_prefect,
    "MLflow": services.check_mlflow,
    "mirror": services.check_mirror,
    "artifacts": services.check_artifacts,
    "model": services.check_model,
    "files": services.check_files,
}


def examine(config: Config) -> tuple[Finding, ...]:
    """Check everything that a run with this configuration needs; change and leave nothing."""
    started = time.monotonic()
    under_way = {name: _begin(name, check, config) for name, check in CHECKS.items()}
    findings: list[Finding] = []
    for name, future in under_way.items():
        try:
            findings += future.result(max(0.0, started + SECONDS_FOR_ALL - time.monotonic()))
        except TimeoutError:
            remedy = "check the network, and what it is that does not answer"
            findings.append(Finding(name, "fault", f"no answer within {SECONDS_FOR_ALL:g} s", remedy))
    return tuple(findings)


def _begin(name: str, check: Check, config: Config) -> Future[list[Finding]]:
    """Start a check in a thread that does not delay the program's end."""
    future: Future[list[Finding]] = Future()

    def run() -> None:
        try:
            future.set_result(check(config))
        except TucanoError as error:
            future.set_result([refused(name, error)])
        except Exception as error:  # noqa: BLE001 - one check that fails must not hide what the others found
            found = f"could not be looked at ({type(error).__name__}: {error})"
            future.set_result([Finding(name, "fault", found, "free permissions or disk; else report this as a bug")])

    threading.Thread(target=run, name=f"doctor-{name}", daemon=True).start()
    return future


def require_ready(config: Config, profile_name: str) -> None:
    """Refuse a run that this machine cannot bring to its end: no GPU, no model, no inputs."""
    # Those first that ask no other machine.
    checks = [services.check_files, machine.check_gpu, machine.check_gpu_packages, machine.check_trainer]
    for check in checks if _has_base(config) else [*checks, services.check_model]:
        faults = [finding for finding in check(config) if finding.verdict == "fault"]
        if faults:
            first, more = faults[0], f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            raise InputError(
                f"profile {profile_name} cannot run here: {first.check}: {first.found}{more}; {first.remedy}; all that "
                f"is missing: tucano doctor --profile {profile_name}"
            )


def _has_base(config: Config) -> bool:
    """Return whether an earlier run made a base of the same model: the hub need not be asked again."""
    if not artifacts_folder(config).is_dir():
        return False
    policies = [(record.config or {}).get("policy", {}) for record in open_store(config).records("base")]
    wanted = (config.policy.name, config.policy.revision)
    return any((policy.get("name"), policy.get("revision")) == wanted for policy in policies)
