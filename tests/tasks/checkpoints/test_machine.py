import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tasks.checkpoints.machine import ProcessIdentity, is_dead, this_process

needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the system does not say")


@needs_proc
@pytest.mark.parametrize("reaped", [True, False])
def test_a_killed_process_is_gone_also_while_it_waits_for_its_parent(reaped: bool) -> None:
    script = (
        "from tasks.checkpoints.machine import this_process\n"
        "print(this_process().model_dump_json(), flush=True)\ninput()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout
        owner = ProcessIdentity.model_validate_json(child.stdout.readline())
        assert owner.process == child.pid
        assert not is_dead(owner)
        child.send_signal(signal.SIGKILL)
        if reaped:
            child.wait()
        else:
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert is_dead(owner)


@needs_proc
def test_a_later_process_of_the_same_number_is_another() -> None:
    owner = this_process()
    assert is_dead(owner.model_copy(update={"started": owner.started - 1}))


@needs_proc
@pytest.mark.parametrize("elsewhere", [{"machine": "another"}, {"boot": "an earlier one"}, {"boot": ""}])
def test_nothing_is_known_of_another_machine_or_boot(elsewhere: dict[str, str]) -> None:
    gone = this_process().model_copy(update={"started": -5.0})
    assert is_dead(gone)
    assert not is_dead(gone.model_copy(update=elsewhere))
