"""Child process whose output, time and memory are measured from outside."""

import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil


@dataclass(frozen=True)
class Watched:
    """A child process that has ended."""

    output: str
    seconds: float
    peak_gigabytes: float
    """Peak of its memory and all its children's together."""
    exit_code: int


def watch(*arguments: str, every: float, success: Sequence[int] = (0,)) -> Watched:
    """Run `python -m` with these arguments, and sample its memory as `watch_command` does."""
    found = watch_command([sys.executable, "-m", *arguments], every=every)
    if found.exit_code not in success:
        raise SystemExit(f"{' '.join(arguments)}: the process ended with exit code {found.exit_code}")
    return found


def watch_command(
    command: Sequence[str], *, every: float, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> Watched:
    """Run a command, and sample its memory, of which what processes share counts once."""
    started = time.monotonic()
    process = psutil.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder, env=environment)
    ended, peak = threading.Event(), 0

    def sample() -> None:
        nonlocal peak
        while not ended.wait(every):
            with suppress(psutil.NoSuchProcess):
                peak = max(peak, sum(map(_memory, [process, *process.children(recursive=True)])))

    sampler = threading.Thread(target=sample, daemon=True)
    sampler.start()
    output, _ = process.communicate()
    seconds = time.monotonic() - started
    ended.set()
    sampler.join()
    return Watched(output, seconds, peak / 1e9, process.returncode)


def _memory(process: psutil.Process) -> int:
    try:
        return int(process.memory_full_info().pss)
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return 0
