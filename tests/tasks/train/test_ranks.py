"""Agreement among the processes of one training, and the GPUs that they need."""

from types import SimpleNamespace

import pytest

from schemas.config.train import TrainConfig
from schemas.errors import InputError, Interrupted
from tasks.policy.child import RANK, WORLD_SIZE
from tasks.train.ranks import barrier, ended_by_another, forward_exit, sampling_seed
from tasks.train.resume.preemption import Preemption

TWO = TrainConfig(processes=2)


@pytest.mark.parametrize(("devices", "remedy"), [(1, "set train.processes=1"), (0, "this machine shows 0")])
def test_more_processes_than_gpus_are_refused_before_anything_is_loaded(
    devices: int, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(WORLD_SIZE, "2")
    monkeypatch.setattr("torch.cuda.device_count", lambda: devices)
    with pytest.raises(InputError, match=r"train\.processes is 2, one a GPU, and this machine shows") as caught:
        barrier(TWO.model_copy(update={"device_memory_gb": 24.0}))
    assert remedy in str(caught.value)


def test_no_two_processes_and_no_two_steps_sample_alike() -> None:
    seeds = [sampling_seed(5, step, place) for step in range(20) for place in range(8)]
    assert len(set(seeds)) == len(seeds)
    assert sampling_seed(6, 0, 0) not in seeds


def _fail() -> None:
    raise RuntimeError("Connection closed by peer")


def test_a_lost_connection_is_an_interruption_where_the_launcher_asks_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Called a fault, it would be given up, not run again."""
    monkeypatch.setenv(WORLD_SIZE, "2")
    monkeypatch.setenv(RANK, "1")
    preemption = Preemption(25)
    preemption.notice()
    with pytest.raises(Interrupted), ended_by_another(preemption, forward_exit):
        _fail()


@pytest.mark.parametrize("asks", ["stop", "notice"])
def test_one_process_that_stops_stops_all_at_the_same_step(asks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that took a step more would wait for the others for ever."""
    from tasks.train.watch.callbacks import StopTogether

    other = (asks == "stop", True, asks == "notice")
    monkeypatch.setattr("tasks.train.watch.callbacks.gather_object", lambda own: [*own, other])
    preemption, control = Preemption(25), SimpleNamespace(should_training_stop=False, should_save=True)
    StopTogether(preemption).on_log(args=None, state=None, control=control, logs={"loss": 1.0})
    assert (control.should_training_stop, control.should_save) == (True, True)
    assert preemption.noticed.is_set() == (asks == "notice")
