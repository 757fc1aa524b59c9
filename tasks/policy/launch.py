"""Launcher of a child with several processes, one per GPU: torch's elastic agent, which stops all if one fails.

The agent is called directly and not by `accelerate launch`, which uses it on GPUs too but starts a single process on a
CPU, and reads a user's configuration file. Each process has its own session, which signals to this one's do not reach;
so this process is their parent in the sense of `tasks.policy.child`: their stdin ends with it.
"""

import os
import signal
import sys
import threading
from collections.abc import Collection
from typing import NoReturn

from schemas.errors import Interrupted
from tasks.policy.child import SECONDS_TO_END, die_with_parent


def launch(processes: int, module: str, request_file: str) -> NoReturn:
    """Run a module in several processes, and exit like the one that failed first."""
    _hand_down_stdin()

    from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        rdzv_backend="c10d",
        # A free port of this machine.
        rdzv_endpoint="localhost:0",
        local_addr="127.0.0.1",
        # No restarts: processes resume from checkpoints, and the train stage decides when.
        max_restarts=0,
        shutdown_timeout=SECONDS_TO_END,
        # Each process writes to the common log.
        logs_specs=DefaultLogsSpecs(log_dir=os.devnull),
    )
    try:
        elastic_launch(config, sys.executable)("-m", module, request_file)
    except SignalException as error:
        _exit_as([-error.sigval])
    except ChildFailedError as error:
        _exit_as([failure.exitcode for failure in error.failures.values()])
    sys.exit(0)


def _hand_down_stdin() -> None:
    """Watch the parent's pipe, and give the processes a pipe whose other end only this process holds."""
    threading.Thread(target=die_with_parent, args=[os.fdopen(os.dup(0))], daemon=True).start()
    reading, _ = os.pipe()
    os.dup2(reading, 0)


def _exit_as(codes: Collection[int]) -> NoReturn:
    """Exit by the cause of the first failures: an error of a process, before its end by a signal."""
    faults = [code for code in codes if code > 0 and code != Interrupted.exit_code]
    signals = [signal.Signals(-code) for code in codes if code < 0]
    if signals and not faults:
        if signals[0] is not signal.SIGKILL:
            signal.signal(signals[0], signal.SIG_DFL)
        signal.raise_signal(signals[0])
    sys.exit(faults[0] if faults else Interrupted.exit_code)


if __name__ == "__main__":
    launch(int(sys.argv[1]), *sys.argv[2:])
