"""A deployed retraining outlives its workers: asked to end, notified that the machine is taken away, and killed."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import psutil
import pytest
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.workers.process import ProcessWorker

from flows.retrain import retrain
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.source import REPOSITORY
from tests.house import PATIENCE, House, Run, open_house
from tests.prefect_server import PlaceDatabase
from tests.small_pipeline import PROFILE
from tests.tasks.train.metadata_server import metadata_server

pytestmark = [pytest.mark.e2e, pytest.mark.long]

AUTOMATIONS = REPOSITORY / "infra" / "automations" / "rescheduling.yaml"
SECONDS_OF_SILENCE = 75
"""After which a run is lost: Prefect beats no more often than every 30, and later where the processors are taken."""
SECONDS_OF_A_NOTICE = 5.0
STEPS = 30
BEFORE_TRAINING = ("synthesize", "curate", "audit", "base")


@pytest.fixture
def house(tmp_path: Path, prefect_home: PlaceDatabase) -> Iterator[House]:
    with open_house(prefect_home(tmp_path), {}) as house:
        yield house


def configuration(state: Path, notice_url: str) -> Config:
    config = load_config(str(PROFILE))
    preemption = config.train.preemption.model_copy(update={"notice_url": notice_url, "seconds": SECONDS_OF_A_NOTICE})
    training = {"max_steps": STEPS, "evaluate_every": 10, "patience": STEPS, "preemption": preemption}
    train = config.train.model_copy(update=training)
    return config.model_copy(update={"state": config.state.model_copy(update={"root": state}), "train": train})


def deploy(house: House, config: Config) -> UUID:
    """Do what a team does once: install the automations, make a work pool and a deployment; and start a run."""
    automations = house.home / AUTOMATIONS.name
    text = AUTOMATIONS.read_text(encoding="utf-8")
    automations.write_text(text.replace("within: 90", f"within: {SECONDS_OF_SILENCE}"), encoding="utf-8")
    create = [sys.executable, "-m", "prefect", "automation", "create", "--from-file", str(automations)]
    subprocess.run(create, env=house.environment, check=True, capture_output=True)
    template = ProcessWorker.get_default_base_job_template()
    house.client.create_work_pool(WorkPoolCreate(name="retrain", type="process", base_job_template=template))
    deployment = house.client.create_deployment(
        house.client.create_flow(retrain),
        "retrain",
        entrypoint="flows.retrain.retrain",
        work_pool_name="retrain",
        tags=["retrain"],
        job_variables={
            "command": f"{sys.executable} -m prefect flow-run execute",
            "env": {"PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30"},
        },
    )
    parameters = {"config": config.model_dump(mode="json"), "until": "train"}
    return house.client.create_flow_run_from_deployment(deployment, parameters=parameters).id


def test_a_deployed_run_goes_on_after_each_way_in_which_its_worker_ends(house: House) -> None:
    with metadata_server() as metadata:
        config = configuration(house.home / "state", metadata.url)
        run = Run(house, deploy(house, config), config)

        # Asked to end, a worker kills what it has started: the run itself must find the time to save.
        first = house.worker("retrain")
        run.wait_for("the first worker trains", lambda: run.mirrored_by(1))
        team = house.team(first)
        first.terminate()
        run.wait_for("the run waits for a worker", lambda: run.times("AwaitingRetry") == 1)
        assert psutil.wait_procs(team, timeout=PATIENCE)[1] == []

        second = house.worker("retrain")
        run.wait_for("the second worker trains", lambda: run.mirrored_by(2))
        metadata.set(b"TRUE")
        run.wait_for("the run waits again", lambda: run.times("AwaitingRetry") == 2)
        # A worker may have put the run into another state by now.
        waits = [str(state.message) for state in run.history() if state.name == "AwaitingRetry"]
        assert "the training stopped after step" in waits[-1]

        # The same worker takes the run once more: that machine was not taken away after all.
        metadata.set(b"FALSE")
        run.wait_for("the second worker trains once more", lambda: run.mirrored_by(3))
        team = house.team(second)
        for process in team[:-1]:
            process.kill()
        assert psutil.wait_procs(team, timeout=PATIENCE)[1] == []

        third = house.worker("retrain")
        run.wait_for("the automations bring the run back", lambda: run.times("AwaitingRetry") == 3)
        run.wait_for("the run is completed", lambda: run.times("Completed") == 1)
        third.terminate()

    assert house.client.read_flow_run(run.id).run_count == 4, run.states()
    assert run.times("Crashed") == 1
    for stage in BEFORE_TRAINING:
        assert run.task_states(stage) == ["Completed", "Cached", "Cached", "Cached"], stage
    assert run.task_states("train")[-1] == "Completed"
    segments = run.segments()
    assert [segment.ended for segment in segments] == ["interrupted", "preempted", "vanished", "finished"]
    assert [segment.from_step for segment in segments[1:]] == [segment.to_step for segment in segments[:-1]]
    assert segments[-1].to_step == STEPS
    assert all(segment.from_step > 0 for segment in segments[1:])
