import os
import signal

import pytest

from schemas.errors import InputError, Interrupted
from tasks.curate.processes import in_processes


def refuse(number: int) -> int:
    raise InputError(f"number {number} cannot be; use another")


def die(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_refusal_in_a_worker_is_the_callers(workers: int) -> None:
    with pytest.raises(InputError, match="number 1 cannot be"):
        list(in_processes(workers)(refuse, [1, 2]))


def test_a_killed_worker_is_reported_in_a_sentence() -> None:
    with pytest.raises(Interrupted, match=r"lower curate\.workers"):
        list(in_processes(2)(die, [1, 2]))
