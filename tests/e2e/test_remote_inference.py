"""A remote retraining: every stage that needs weights ran in the second pool, and has that machine's price."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from prefect.client.schemas.objects import FlowRun

from flows.runtime.stores import open_store
from flows.stages.remote import REMOTE_FOLDER
from schemas.artifact import ArtifactKind, ArtifactRecord
from schemas.config.config import Config
from schemas.config.profiles import load_config
from tasks.evaluate.compare import read_report
from tests.house import House, Run, open_house
from tests.small_pipeline import PROFILE

pytestmark = pytest.mark.deployed

PATIENCE = 2_400
DEVICE = "NVIDIA L4"
PRICES = 'workers.prices={"NVIDIA L4" = {on_demand = 0.71, spot = 0.28}, cpu = {on_demand = 0.067}}'
PEOPLE = {"require_human": True, "scores_per_task": 8, "completions_per_prompt": 4, "min_scores_per_task": 8}
AS_ON_A_GPU = """\
#!{python}
import runpy
import sys

from tasks.policy import device

device.machine_device = lambda: "{device}"
_, module, *arguments = sys.argv[1:]
sys.argv = [module, *arguments]
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""
"""An interpreter of the trainer's environment, `INTERPRETER -m MODULE REQUEST`, on whose machine there is a GPU."""


@dataclass(frozen=True)
class Team:
    """Servers, a worker for each pool, and the configuration of whoever retrains with them."""

    house: House
    settings: tuple[str, ...]

    @property
    def config(self) -> Config:
        return load_config(str(PROFILE), self.settings)

    def tucano(self, *arguments: str) -> str:
        overrides = [word for setting in self.settings for word in ("--set", setting)]
        ended = subprocess.run(
            [sys.executable, "-m", "flows", *arguments, "--profile", str(PROFILE), *overrides],
            env=self.house.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def inferences(self) -> dict[str, FlowRun]:
        """Return the runs of the deployment, by the stage that each was for."""
        flows = {flow.id: flow.name for flow in self.house.client.read_flows()}
        runs = [run for run in self.house.client.read_flow_runs() if flows[run.flow_id] == "inference"]
        return {str(run.name).removeprefix("inference-").rpartition("-20")[0]: run for run in runs}

    def made(self, kind: ArtifactKind) -> tuple[ArtifactRecord, ...]:
        return open_store(self.config).records(kind)


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    interpreter = tmp_path / "python-on-a-gpu"
    interpreter.write_text(AS_ON_A_GPU.format(python=sys.executable, device=DEVICE), encoding="utf-8")
    interpreter.chmod(0o755)
    settings = (
        f"state.root={tmp_path / 'state'}",
        f"state.artifacts={tmp_path / 'place'}",
        f"train.interpreter={interpreter}",
        "workers.training=training/train",
        PRICES,
    )
    with open_house(tmp_path, {}) as house:
        yield Team(house, settings)


def test_what_needs_weights_runs_in_the_second_pool_at_that_machines_price(team: Team) -> None:
    house = team.house
    team.tucano("infra", "apply")
    house.worker("cpu")
    house.worker("l4-spot")
    deployment = house.client.read_deployment_by_name("retrain/retrain")
    run = Run(house, house.client.create_flow_run_from_deployment(deployment.id).id, team.config, PATIENCE)
    run.wait_for("the run is completed", lambda: run.times("Completed") == 1)
    # For new rewards, people are given a sheet of completions that the base gives.
    audit = house.client.read_deployment_by_name("retrain/audit")
    asked = {"config": {**audit.parameters["config"], "audit": PEOPLE}}
    asking = house.client.create_flow_run_from_deployment(audit.id, parameters=asked).id
    waiting = Run(house, asking, team.config, PATIENCE)
    waiting.wait_for("the run waits for people", lambda: waiting.times("Suspended") == 1)
    # So small a policy has learnt nothing, and the gate holds it: a person has it merged.
    team.tucano("promote", "1", "--force", "to see it merged")

    inferences = team.inferences()
    assert inferences.keys() == {
        "base", "sheet", "merge-tuned", "answer-base", "answer-tuned", "answer-tuned-nf4"
    }  # fmt: skip
    for stage, done in inferences.items():
        assert (done.state_name, done.work_pool_name) == ("Completed", "l4-spot"), stage
    assert {each.work_pool_name for each in house.client.read_flow_runs() if str(each.name).startswith("train-20")} == {
        "l4-spot"
    }
    in_second_pool = {str(done.id) for done in inferences.values()}
    kinds: tuple[ArtifactKind, ...] = ("base", "sheet", "merged", "answers")
    worked = {record.stage: record.worker for kind in kinds for record in team.made(kind)}
    # The newest first: what the gate held is not served, and what a person promoted is what answered the test.
    promoted, held = team.made("promotion")
    assert "merged" not in held.inputs
    assert promoted.inputs["merged"] == team.made("merged")[0].sha256
    assert (open_store(team.config).path(promoted.sha256) / "merged/model.safetensors").is_file()
    assert worked.keys() == inferences.keys()
    for stage, worker in worked.items():
        assert worker is not None, stage
        assert worker.device == DEVICE, stage
        assert worker.prefect_run_id in in_second_pool, stage
    # No child ran where the chain did.
    assert not list((team.config.state.root / "work").glob("*/*.request.json"))
    assert (team.config.state.root / REMOTE_FOLDER).is_dir()

    (evaluation,) = team.made("evaluation")
    served = read_report(open_store(team.config).path(evaluation.sha256))["serving"]
    assert [each["model"] for each in served] == ["base", "tuned", "tuned-nf4"]
    for each in served:
        assert (each["device"], each["price_per_hour"]) == (DEVICE, pytest.approx(0.71))
        assert each["cost_per_analysis"] > 0
        assert each["break_even"] in (None, pytest.approx(24 * 0.71 / 0.01))
    print(json.dumps(served, indent=1))
