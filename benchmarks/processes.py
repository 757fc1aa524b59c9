"""Child process whose output, time and memory are measured from outside."""

import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import psutil


@dataclass(frozen=True)
class Watched:
    """A child process that has ended with success."""

    output: str
    seconds: float
    peak_gigabytes: float
    """Peak of its memory and all its children's together."""


def watch(
    *arguments: str, every: float, memory: Literal["rss", "pss"] = "rss", success: Sequence[int] = (0,)
) -> Watched:
    """Run `python -m` with these arguments, and sample its memory.

    Args:
        arguments: Module and arguments.
        every: Seconds between samples; the kernel walks all pages for one of `pss`, which slows the process down.
        memory: Resident memory, or its proportional share, which counts shared pages once.
        success: Exit codes that are no failure.
    """
    started = time.monotonic()
    process = psutil.Popen([sys.executable, "-m", *arguments], stdout=subprocess.PIPE, text=True)
    ended, peak = threading.Event(), 0

    def sample() -> None:
        nonlocal peak
        while not ended.wait(every):
            peak = max(peak, _memory(process, memory))

    sampler = threading.Thread(target=sample, daemon=True)
    sampler.start()
    output, _ = process.communicate()
    seconds = time.monotonic() - started
    ended.set()
    sampler.join()
    if process.returncode not in success:
        raise SystemExit(f"{' '.join(arguments)}: the process ended with exit code {process.returncode}")
    return Watched(output, seconds, peak / 1e9)


def _memory(process: psutil.Process, kind: str) -> int:
    total = 0
    try:
        for each in [process, *process.children(recursive=True)]:
            try:
                total += int((each.memory_full_info() if kind == "pss" else each.memory_info())._asdict()[kind])
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
    except psutil.NoSuchProcess:
        return total
    return total
