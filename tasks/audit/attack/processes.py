"""Attacks on several tasks at once, a process each, that end together."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event
from pathlib import Path
from queue import Empty
from typing import Final

from schemas.errors import Interrupted
from schemas.progress import Progress
from schemas.tasks import TaskName
from tasks.audit.attack.attack import Budget, TaskAttack, attack_task
from tasks.audit.attack.setting import Setting

SECONDS_BETWEEN_LOOKS: Final = 0.3
SECONDS_OF_AN_ORPHAN: Final = 1.0
_PARTS: Final = 100

Told = tuple[TaskName, float, int]


class _Child:
    """What a child process was given; one a process."""

    stop: Event
    told: "Queue[Told]"


def attack_tasks(
    settings: Sequence[Setting], budget: Budget, folder: Path, processes: int, progress: Progress
) -> list[TaskAttack]:
    """Attack each task, so many at once.

    Args:
        settings: One of each task.
        budget: Of each task.
        folder: Where finds and states are kept.
        processes: Number of child processes.
        progress: Called with hundredths of the budgets.

    Raises:
        InputError: The folder holds another attack, or cannot be written.
        KeyboardInterrupt: Ctrl-C; every search has kept what it had.
    """
    context = multiprocessing.get_context("spawn")
    stop, told = context.Event(), context.Queue()
    with ProcessPoolExecutor(
        min(processes, len(settings)), context, initializer=_begin, initargs=(stop, told, os.getpid())
    ) as pool:
        futures = [pool.submit(_work, setting, budget, folder) for setting in settings]
        try:
            _watch(futures, told, len(settings), progress)
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [future.result() for future in futures]


def _watch(futures: Sequence["Future[TaskAttack]"], told: "Queue[Told]", count: int, progress: Progress) -> None:
    shares: dict[TaskName, tuple[float, int]] = {}
    left = set(futures)
    while left:
        done, left = wait(left, SECONDS_BETWEEN_LOOKS, FIRST_COMPLETED)
        for future in done:
            future.result()
        while True:
            try:
                task, share, finds = told.get_nowait()
            except Empty:
                break
            shares[task] = min(share, 1.0), finds
        parts = sum(share for share, _ in shares.values()) * _PARTS
        progress(int(parts), count * _PARTS, f"hundredths, {sum(finds for _, finds in shares.values())} finds")


def _begin(stop: Event, told: "Queue[Told]", parent: int) -> None:
    """Leave Ctrl-C to the parent, and end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _Child.stop, _Child.told = stop, told
    threading.Thread(target=_end_with, args=[parent], daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(SECONDS_OF_AN_ORPHAN)
    os._exit(Interrupted.exit_code)


def _work(setting: Setting, budget: Budget, folder: Path) -> TaskAttack:
    def report(share: float, finds: int) -> None:
        _Child.told.put((setting.task, share, finds))

    return attack_task(setting, budget, folder, _Child.stop.is_set, report)
