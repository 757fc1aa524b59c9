"""A job on a simulated Vertex AI: whatever happens, it is paid once, and nothing is left running."""

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flows.l4 import vertex as module
from flows.l4 import waiting
from flows.l4.job import claimed, leave_ending
from flows.l4.vertex import Vertex
from schemas.errors import GateRefused, InputError, Interrupted, TucanoError
from tests.answering_server import playing
from tests.flows.l4.worlds import COMMIT, STOCK_OUT, Cloud, Rented, vertex

RUNNING, DONE, PENDING = "JOB_STATE_RUNNING", "JOB_STATE_SUCCEEDED", "JOB_STATE_PENDING"
BOTH = [b"train-seed7", b"train-seed8"]
Make = Callable[..., Vertex]


@pytest.fixture
def rented(tmp_path: Path) -> Rented:
    return Rented(tmp_path)


@pytest.fixture
def cloud(rented: Rented, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cloud]:
    monkeypatch.setattr(waiting, "SECONDS_BETWEEN_LOOKS", 0.01)
    monkeypatch.setattr(module, "commit_of_code", lambda: COMMIT)
    cloud = Cloud(rented.finish)
    yield cloud
    assert cloud.most_at_once <= 1


@pytest.fixture
def service(cloud: Cloud) -> Iterator[Make]:
    with playing(cloud.play) as url:
        yield lambda *regions, **named: vertex(url, *regions, **named)


def test_one_job_is_asked_for_followed_and_left_ended(rented: Rented, cloud: Cloud, service: Make) -> None:
    service().check()
    assert rented.wait(service()) == ["projects/shop/locations/europe-west4/customJobs/0: done"]
    assert rented.fetched == BOTH
    (job,) = cloud.jobs
    assert job["labels"] == {"tucano_job": rented.job.id}
    assert job["jobSpec"]["scheduling"] == {
        "strategy": "SPOT", "timeout": "604800s", "restartJobOnWorkerRestart": True
    }  # fmt: skip
    (worker,) = job["jobSpec"]["workerPoolSpecs"]
    assert worker["machineSpec"] == {
        "machineType": "g2-standard-4", "acceleratorType": "NVIDIA_L4", "acceleratorCount": 1
    }  # fmt: skip
    assert worker["containerSpec"]["imageUri"].endswith(f"/worker-l4:{COMMIT}")
    assert worker["containerSpec"]["command"][-3:] == ["gs://loja/artifacts", rented.job.id, "/state"]
    assert (rented.wait(service()), len(cloud.jobs)) == ([], 1)


def test_a_run_that_ended_with_its_last_policy_is_done(rented: Rented, cloud: Cloud, service: Make) -> None:
    cloud.looks, cloud.seen, at = [[RUNNING, DONE]], lambda _: rented.finish(), service()
    at.find = lambda job_id: []  # type: ignore[method-assign]
    assert rented.wait(at) == ["projects/shop/locations/europe-west4/customJobs/0: done"]


def test_a_start_whose_answer_is_lost_is_not_sent_again(rented: Rented, cloud: Cloud, service: Make) -> None:
    cloud.faults = [None, -1]
    rented.wait(service())
    assert (len(cloud.jobs), rented.fetched) == (1, BOTH)


def test_without_a_quota_nothing_is_made(rented: Rented, cloud: Cloud, service: Make) -> None:
    cloud.limits = {}
    with pytest.raises(InputError, match="quota metrics exceed quota limits; ask for the quota") as refused:
        rented.wait(service())
    assert (refused.value.exit_code, cloud.jobs) == (2, [])


@pytest.mark.parametrize(
    ("limits", "is_enough"),
    [
        ({}, False),
        ({"every": "0"}, False),
        ({"every": "1"}, True),
        ({"every": "1", "europe-west4": "0"}, False),
        ({"every": "0", "europe-west4": "2"}, True),
        ({"every": "-1"}, True),
    ],
)
def test_a_job_needs_a_quota_of_its_kind_in_its_region(
    cloud: Cloud, service: Make, limits: dict[str, str], is_enough: bool
) -> None:
    cloud.limits = limits
    lacks = r"quota aiplatform\S+preemptible_nvidia_l4_gpus in europe-west4 is 0; ask for 1"
    with nullcontext() if is_enough else pytest.raises(InputError, match=lacks):
        service().check()
    service(machines="on-demand").check()


@pytest.mark.parametrize("looks", [[PENDING], [STOCK_OUT]], ids=["waits", "is refused"])
def test_a_region_without_machines_gives_way(rented: Rented, cloud: Cloud, service: Make, looks: Any) -> None:
    cloud.looks = [looks, [RUNNING, DONE]]
    rented.wait(service("europe-west4", "europe-west1", patience=0.2))
    assert [job["name"].split("/")[3] for job in cloud.jobs] == ["europe-west4", "europe-west1"]
    assert (cloud.left, rented.fetched) == ([], BOTH)


@pytest.mark.parametrize("looks", [[PENDING], [STOCK_OUT]], ids=["waits", "is refused"])
def test_a_stock_out_everywhere_leaves_nothing_running(rented: Rented, cloud: Cloud, service: Make, looks: Any) -> None:
    cloud.looks = [looks]
    regions = ("europe-west4", "europe-west1", "europe-west3", "europe-west2")
    with pytest.raises(Interrupted, match="no other place is left to try; nothing runs and nothing is paid"):
        rented.wait(service(*regions, patience=0.2))
    assert ([job["name"].split("/")[3] for job in cloud.jobs], cloud.left) == ([*regions], [])


@pytest.mark.parametrize(
    "end",
    [STOCK_OUT, {"code": 3, "message": "The replica workerpool0-0 exited with a non-zero status of 4."}],
    ids=["taken", "with notice"],
)
def test_a_job_whose_machine_is_taken_starts_again(rented: Rented, cloud: Cloud, service: Make, end: Any) -> None:
    cloud.looks = [[RUNNING, end], [RUNNING, end], [RUNNING, end], [RUNNING, end], [RUNNING, DONE]]
    cloud.seen = lambda job: rented.save(2 * len(cloud.jobs))
    rented.wait(service())
    assert (len(cloud.jobs), cloud.left, rented.fetched) == (5, [], BOTH)


def test_a_job_without_a_new_checkpoint_is_not_paid_for_ever(rented: Rented, cloud: Cloud, service: Make) -> None:
    cloud.looks = [[RUNNING, STOCK_OUT]]
    with pytest.raises(Interrupted, match="3 runs of the job after one another were taken before a new checkpoint"):
        rented.wait(service())
    assert (len(cloud.jobs), cloud.left) == (3, [])


def test_a_job_that_dies_says_why(rented: Rented, cloud: Cloud, service: Make) -> None:
    died = {"code": 3, "message": "The replica workerpool0-0 exited with a non-zero status of 3."}
    cloud.looks = [[RUNNING, died]]
    with pytest.raises(TucanoError, match=r"failed \(The replica .* status of 3\.\); see log: https://console"):
        rented.wait(service())
    cloud.seen = lambda _: leave_ending(rented.exchange.shared, rented.job.id, GateRefused("the preflight says no"))
    with pytest.raises(GateRefused, match="the job ended: the preflight says no"):
        rented.wait(service())
    assert (len(cloud.jobs), cloud.left) == (2, [])
    # Deleted by hand, it is not asked for again and again.
    cloud.seen = lambda _: cloud.faults.append(404)
    with pytest.raises(Interrupted, match=r"somebody ended .* the same command again to start the job again"):
        rented.wait(service())


def test_a_network_that_is_away_for_ten_minutes_is_waited_for(
    rented: Rented, cloud: Cloud, service: Make, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    slept = [0.0]
    monkeypatch.setattr(waiting, "time", SimpleNamespace(sleep=slept.append, monotonic=lambda: sum(slept)))
    monkeypatch.setattr(waiting, "SECONDS_BETWEEN_LOOKS", 30.0)
    cloud.seen = lambda _: cloud.faults.extend([0, 429, *[503] * 12]) if len(cloud.requests) < 4 else None
    rented.wait(service())
    assert (sum(slept) > 600, len(cloud.jobs), rented.fetched) == (True, 1, BOTH)
    said = capsys.readouterr().err
    assert (said.count("does not answer"), said.count("answers again")) == (1, 1)


def test_a_network_that_stays_away_leaves_the_job_to_be_found(
    rented: Rented, cloud: Cloud, service: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "SECONDS_OF_SILENCE", 0.05)
    cloud.seen = lambda _: cloud.faults.extend([503] * 1000)
    with pytest.raises(Interrupted, match="the job goes on: run the same command again"):
        rented.wait(service())
    cloud.faults.clear()
    cloud.seen = lambda _: None
    rented.wait(service())
    assert (len(cloud.jobs), rented.fetched) == (1, BOTH)


@pytest.mark.parametrize("status", [401, 403], ids=["expired", "a role was taken"])
def test_a_refusal_in_the_middle_ends_no_job(rented: Rented, cloud: Cloud, service: Make, status: int) -> None:
    cloud.seen = lambda _: cloud.faults.append(status)
    with pytest.raises(Interrupted, match="the job goes on meanwhile: then run the same command again"):
        rented.wait(service())
    cloud.faults, cloud.seen = [401], lambda _: None
    with pytest.raises(InputError, match="gcloud auth application-default login"):
        rented.wait(service())
    rented.wait(service())
    assert (len(cloud.jobs), rented.fetched) == (1, BOTH)


def test_a_refusal_when_no_machine_runs_says_no_job_goes_on(rented: Rented, cloud: Cloud, service: Make) -> None:
    cloud.looks = [[RUNNING, STOCK_OUT]]
    cloud.seen = lambda job: cloud.faults.append(401) if job["state"] == "JOB_STATE_FAILED" else None
    with pytest.raises(InputError, match=r"GOOGLE_APPLICATION_CREDENTIALS$"):
        rented.wait(service())
    assert cloud.left == []


def test_two_commands_do_not_wait_for_one_job(rented: Rented, cloud: Cloud, service: Make) -> None:
    with (
        claimed(rented.job, str(rented.config.state.artifacts)),
        pytest.raises(InputError, match=r"another `tucano l4` has this job .*; wait for its end"),
    ):
        rented.wait(service())
    with claimed(rented.job, str(rented.config.state.artifacts)) as lease:
        lease.lost.set()
        with pytest.raises(Interrupted, match="another `tucano l4` has this job now"):
            waiting.Waiting(rented.job, service(), rented.exchange, lease).until_done()
    assert cloud.jobs == []


def test_a_second_run_of_a_job_is_ended_at_once(rented: Rented, cloud: Cloud, service: Make) -> None:
    for _ in range(2):
        service().start(rented.job.id)
    rented.wait(service())
    asked = " ".join(each.rpartition("/")[2] for each in cloud.requests if "Jobs/" in each)
    assert asked.startswith("1 1:cancel 1 0")
    cloud.most_at_once = 1  # No longer than that.


def test_an_image_of_other_code_and_a_bucket_elsewhere_are_refused(cloud: Cloud, service: Make) -> None:
    for tag in ("latest", "fedcba9876543210"):
        with pytest.raises(InputError, match=f"is of {tag}, and this code of commit 0123456789ab"):
            service(image=f"europe-west4-docker.pkg.dev/shop/tucano/worker-l4:{tag}").check()
    cloud.tags = ()
    with pytest.raises(InputError, match=r"the registry has no image .*; build it from this commit"):
        service().check()
    cloud.tags, cloud.location = (COMMIT,), "US-CENTRAL1"
    with pytest.raises(InputError, match="the bucket loja is in us-central1, and the job in europe-west4"):
        service().check()
    cloud.location = "EU"
    service().check()
    assert cloud.jobs == []
