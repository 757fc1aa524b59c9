"""Process identity, sufficient to detect on the same machine that the process has died."""

import os
import platform
import uuid
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

PROC: Final = Path("/proc")


class ProcessIdentity(BaseModel):
    """Identity of a process, comparable on its own machine and on others."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    machine: str
    """The machine's name on its network."""
    boot: str
    """Identity of the boot and of the process namespace; "" if the system does not provide it."""
    process: int = Field(gt=0, lt=2**31)
    """Process id, which the system reuses eventually."""
    started: float
    """Start time of the process, in seconds since boot; 0 if the system does not provide it."""
    nonce: str
    """Unique value of this identity, even within one process."""


def machine_name() -> str:
    """Return the name of this machine on its network."""
    return platform.node() or "a machine without a name"


def this_process() -> ProcessIdentity:
    """Return a new identity of this process, with its own nonce."""
    process = os.getpid()
    started = _started(process)
    return ProcessIdentity(
        machine=machine_name(),
        boot="" if started is None else _boot(),
        process=process,
        started=started or 0.0,
        nonce=uuid.uuid4().hex,
    )


def is_dead(owner: ProcessIdentity) -> bool:
    """Return whether the process ran in this same boot of this same machine and has died.

    False for another machine, and if the system provides no identity.
    """
    if not owner.boot or (owner.machine, owner.boot) != (machine_name(), _boot()):
        return False
    try:
        os.kill(owner.process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # somebody else's process: it may be a later one with the same id
    return _started(owner.process) not in {owner.started, None}


def _boot() -> str:
    # Containers on one host share its boot, and each may count its processes from 1: the namespace distinguishes them.
    try:
        return f"{(PROC / 'sys/kernel/random/boot_id').read_text().strip()} {(PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return ""


def _started(process: int) -> float | None:
    """Return the start time of a process: -1 for a zombie, None if unknown."""
    try:
        stat = (PROC / str(process) / "stat").read_text(errors="replace")
    except OSError:
        return None
    state, *fields = stat.rpartition(")")[2].split()
    return -1.0 if state in {"Z", "X"} else int(fields[18]) / os.sysconf("SC_CLK_TCK")
