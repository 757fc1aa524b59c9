"""A child that does what its request says, for the tests of the child protocol."""

import errno
import json
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from schemas.errors import GateRefused, InputError
from tasks.policy.child import Channel, as_child


def fill_disk() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


ERRORS: dict[str, Callable[[], object]] = {"bug": lambda: 1 / 0, "memory": lambda: bytearray(2**62), "disk": fill_disk}


def save(folder: Path) -> None:
    # Longer than the test's command may take by itself.
    time.sleep(4)
    (folder / "saved").touch()
    os._exit(4)


def main(request_file: Path, channel: Channel) -> None:  # noqa: C901 - a branch for each request
    do, folder = json.loads(request_file.read_text(encoding="utf-8"))["do"], request_file.parent
    if do == "work":
        print("a library's chatter")
        channel.progress(1, 2, "half")
        channel.metrics(1, {"loss": 0.5})
        channel.alarm("ceiling", 1, "too long")
        channel.progress(2, 2, "whole")
    elif do == "threads":
        import torch

        channel.progress(0, 1, str(torch.get_num_threads()))
    elif do == "input":
        raise InputError("the input is bad")
    elif do == "gate":
        raise GateRefused("the gate says no")
    elif do in ERRORS:
        ERRORS[do]()
    elif do == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif do == "steps":
        started = time.perf_counter()
        for step in range(100):
            channel.metrics(step, {f"rewards/task.component_{number}/mean": step / 7 for number in range(100)})
        seconds = time.perf_counter() - started
        (folder / "seconds").write_text(str(seconds), encoding="utf-8")
    elif do in {"wait", "save"}:
        if do == "save":
            signal.signal(signal.SIGTERM, lambda *_: save(folder))
        pid_file = folder / "pid"
        pid_file.with_suffix(".draft").write_text(str(os.getpid()), encoding="utf-8")
        pid_file.with_suffix(".draft").replace(pid_file)
        channel.progress(0, 1, "waiting")
        time.sleep(600)


if __name__ == "__main__":
    with as_child() as (request_file, channel):
        main(request_file, channel)
