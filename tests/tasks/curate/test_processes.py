import os
import signal

import pytest

from schemas.errors import InputError, Interrupted
from tasks.curate.processes import in_processes


def own_process(number: int) -> tuple[int, int]:
    return number, os.getpid()


def refuse(number: int) -> int:
    raise InputError(f"number {number} cannot be; use another")


def die(_: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("workers", [1, 3])
def test_results_come_in_order(workers: int) -> None:
    assert [number for number, _ in in_processes(workers)(own_process, range(20))] == list(range(20))


def test_one_worker_or_one_thing_needs_no_other_process() -> None:
    assert {process for _, process in in_processes(1)(own_process, range(3))} == {os.getpid()}
    assert {process for _, process in in_processes(4)(own_process, [7])} == {os.getpid()}
    assert os.getpid() not in {process for _, process in in_processes(2)(own_process, range(4))}
    assert list(in_processes(2)(own_process, [])) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_a_refusal_in_a_worker_is_the_callers(workers: int) -> None:
    with pytest.raises(InputError, match="number 1 cannot be"):
        list(in_processes(workers)(refuse, [1, 2]))


def test_a_killed_worker_is_reported_in_a_sentence() -> None:
    with pytest.raises(Interrupted, match=r"lower curate\.workers"):
        list(in_processes(2)(die, [1, 2]))
