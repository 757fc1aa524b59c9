"""A job by SkyPilot's program, which a script stands for: what it is called with, and that it is launched once."""

import sys
import zipfile
from pathlib import Path

import pytest
import yaml

from flows.l4 import waiting
from flows.l4.checks import CODE, IN_A_WHEEL
from flows.l4.service import Run
from flows.l4.skypilot import SkyPilot
from schemas.errors import InputError, Interrupted, TucanoError
from schemas.source import REPOSITORY
from tests.flows.l4.worlds import Rented, Sky

PLACES = ("gcp/europe-west4", "gcp/europe-west1")


class Working(SkyPilot):
    """SkyPilot, whose job leaves its policies as it ends."""

    rented: Rented

    def look(self, run: Run) -> Run:
        found = super().look(run)
        if found.state == "done":
            self.rented.finish()
        return found


@pytest.fixture
def rented(tmp_path: Path) -> Rented:
    return Rented(tmp_path)


@pytest.fixture
def sky(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sky:
    monkeypatch.setattr(waiting, "SECONDS_BETWEEN_LOOKS", 0.01)
    monkeypatch.setenv("PATH", str(tmp_path))
    sky = Sky(tmp_path)
    sky.install(sys.executable)
    return sky


@pytest.fixture
def service(tmp_path: Path, rented: Rented) -> Working:
    service = Working("gs://loja/artifacts", PLACES, tmp_path / "task.yaml", wheel=tmp_path / "tucano.whl")
    service.rented = rented
    return service


def test_a_job_is_launched_once_and_followed_through_its_recoveries(
    rented: Rented, sky: Sky, service: Working, tmp_path: Path
) -> None:
    sky.change(statuses=["STARTING", "RUNNING", "RECOVERING", "RUNNING", "SUCCEEDED"])
    service.start(rented.job.id)
    assert rented.wait(service) == [f"tucano-{rented.job.id} 1: done"]
    assert rented.fetched == [b"train-seed7", b"train-seed8"]
    launched = [call for call in sky.calls if "launch" in call]
    name = f"tucano-{rented.job.id}"
    assert launched == [["jobs", "launch", "--yes", "--detach-run", "--name", name, str(tmp_path / "task.yaml")]]


def test_the_task_tries_each_place_and_resumes_after_an_interruption(
    sky: Sky, service: Working, tmp_path: Path
) -> None:
    service.start("0123456789abcdef")
    task = yaml.safe_load((tmp_path / "task.yaml").read_text(encoding="utf-8"))
    assert task["resources"]["any_of"] == [{"infra": place} for place in PLACES]
    assert (task["resources"]["accelerators"], task["resources"]["use_spot"]) == ("L4:1", True)
    assert task["resources"]["job_recovery"]["recover_on_exit_codes"] == [Interrupted.exit_code]
    ran = ["-m", "flows.l4.work", "gs://loja/artifacts", "0123456789abcdef", str(service.folder)]
    assert task["run"].split()[1:] == ran


def test_no_machine_anywhere_ends_with_nothing_running(rented: Rented, sky: Sky, service: Working) -> None:
    sky.change(statuses=["STARTING", "FAILED_NO_RESOURCE"])
    with pytest.raises(Interrupted, match="SkyPilot has no machine now"):
        rented.wait(service)
    assert [row["status"] for row in sky.rows] == ["FAILED_NO_RESOURCE"]


def test_what_is_left_is_cancelled_and_nothing_else(rented: Rented, sky: Sky, service: Working) -> None:
    sky.change(rows=[{"job_id": 1, "job_name": "another", "status": "RUNNING"}], statuses=["RUNNING"])
    service.start(rented.job.id)
    rented.finish()
    assert rented.wait(service) == [f"tucano-{rented.job.id} 2: stopped"]
    assert [row["status"] for row in sky.rows] == ["RUNNING", "CANCELLED"]


def test_a_server_that_fails_for_a_while_is_asked_again(rented: Rented, sky: Sky, service: Working) -> None:
    sky.change(statuses=["RUNNING", "SUCCEEDED"], fails=2)
    assert rented.wait(service) == [f"tucano-{rented.job.id} 1: done"]
    assert sum("launch" in call for call in sky.calls) == 1


def test_a_setup_that_fails_is_the_jobs_end(rented: Rented, sky: Sky, service: Working) -> None:
    sky.change(statuses=["FAILED_SETUP"])
    with pytest.raises(TucanoError, match=r"failed \(FAILED_SETUP\); see log: `sky jobs logs 1`"):
        rented.wait(service)
    assert sum("launch" in call for call in sky.calls) == 1


def test_a_wheel_of_other_code_and_a_missing_sky_are_refused(
    sky: Sky, service: Working, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [path for folder in CODE for path in (REPOSITORY / folder).rglob("*") if "__pycache__" not in path.parts]
    with zipfile.ZipFile(tmp_path / "tucano.whl", "w") as wheel:
        for path in files:
            if path.is_file():
                wheel.write(path, f"{IN_A_WHEEL}/{path.relative_to(REPOSITORY)}")
    service.check()
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(InputError, match="there is no program `sky`; install it apart"):
        service.check()
    with zipfile.ZipFile(tmp_path / "other.whl", "w") as wheel:
        wheel.writestr(f"{IN_A_WHEEL}/constraints/laptop.txt", "torch==1.0")
    with pytest.raises(InputError, match=r"is of other code than this \(\d+ files, first constraints/laptop\.txt\)"):
        SkyPilot("gs://loja/artifacts", (), tmp_path / "task.yaml", wheel=tmp_path / "other.whl").check()
