"""A child that does what its request says, for the tests of the child protocol."""

import errno
import json
import os
import signal
import time
from pathlib import Path

from schemas.errors import GateRefused, InputError
from tasks.policy.child import Channel, as_child

ERRORS = {
    "input": InputError("the input is bad"),
    "gate": GateRefused("the gate says no"),
    "bug": ZeroDivisionError(),
    "memory": MemoryError(),
    "disk": OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
}


def save(folder: Path) -> None:
    # Longer than the test's command may take by itself.
    time.sleep(4)
    (folder / "saved").touch()
    os._exit(4)


def main(request_file: Path, channel: Channel) -> None:
    do, folder = json.loads(request_file.read_text(encoding="utf-8"))["do"], request_file.parent
    if do == "work":
        print("a library's chatter")
        channel.progress(1, 2, "half")
        channel.metrics(1, {"loss": 0.5})
        channel.alarm("ceiling", 1, "too long")
        channel.progress(2, 2, "whole")
    elif do in ERRORS:
        raise ERRORS[do]
    elif do == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
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
