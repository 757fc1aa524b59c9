"""Which process on which machine: enough to tell, on that same machine, that the process no longer lives."""

import os
import platform
import uuid
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

PROC: Final = Path("/proc")


class Owner(BaseModel):
    """A process, as those on its own machine and on others can recognise it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    machine: str
    """The machine's name on its network."""

    boot: str
    """The running of the machine and the numbering of processes in it; "" where the system does not tell."""

    process: int = Field(gt=0, lt=2**31)
    """The process's number, which the system gives to another process some day."""

    started: float
    """When the process started, in seconds since the machine did; 0 where the system does not tell."""

    nonce: str
    """What tells this owner from every other, also from one in the same process."""


def machine_name() -> str:
    """Return the name of this machine on its network."""
    return platform.node() or "a machine without a name"


def this_process() -> Owner:
    """Return a new owner: this process, with a nonce of its own."""
    process = os.getpid()
    started = _started(process)
    return Owner(
        machine=machine_name(),
        boot="" if started is None else _boot(),
        process=process,
        started=started or 0.0,
        nonce=uuid.uuid4().hex,
    )


def is_gone(owner: Owner) -> bool:
    """Tell whether the owner was a process on this same boot of this same machine and no longer lives.

    Of another machine, and where the system does not tell, nothing is known: False.
    """
    if not owner.boot or (owner.machine, owner.boot) != (machine_name(), _boot()):
        return False
    try:
        os.kill(owner.process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # somebody else's process: it may be a later one of the same number
    return _started(owner.process) not in {owner.started, None}


def _boot() -> str:
    # Containers on one host share its boot, and each may count its processes from 1: the namespace tells them apart.
    try:
        return f"{(PROC / 'sys/kernel/random/boot_id').read_text().strip()} {(PROC / 'self/ns/pid').readlink()}"
    except OSError:
        return ""


def _started(process: int) -> float | None:
    """Return when a process started: -1 where it has ended and only waits for its parent, None where nothing tells."""
    try:
        stat = (PROC / str(process) / "stat").read_text(errors="replace")
    except OSError:
        return None
    state, *fields = stat.rpartition(")")[2].split()
    return -1.0 if state in {"Z", "X"} else int(fields[18]) / os.sysconf("SC_CLK_TCK")
