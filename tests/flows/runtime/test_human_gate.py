"""A run waits for scores without a process, asks again while some are missing, and goes on once they are there."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest
from prefect import flow, task
from prefect.cache_policies import CacheKeyFnPolicy
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey
from prefect.client.schemas.responses import SetStateStatus
from prefect.client.schemas.sorting import ArtifactSort

from flows.runtime.human_gate import SHEET_ARTIFACT, wait_for_scores
from schemas.documents import Rollout
from schemas.errors import Interrupted
from schemas.source import REPOSITORY
from tasks.audit.labelling import RUBRICS_FOLDER, with_score
from tasks.audit.sheet import as_row, is_scored, read_rows, write_rows
from tests.flows.prefect_state import prefect_state
from tests.house import House, open_house
from tests.prefect_server import PlaceDatabase

COMPLETIONS = 3
WEEK = 7.0
DEPLOYMENT = "gated"


@task(cache_policy=CacheKeyFnPolicy(cache_key_fn=lambda _, given: str(given["log"].parent.name)), persist_result=True)
def make(log: Path) -> str:
    note(log, "made")
    return "an artifact"


@flow(name="earlier", validate_parameters=False)
def earlier(log: Path) -> str:
    return make(log)


@flow(name="gated")
def gated(sheet: Path, log: Path, days: float) -> None:
    """Do what `retrain` does: an earlier stage, the sheet looked at again each time, and what comes after it."""
    artifact = earlier(log)
    while unscored := sum(not is_scored(row) for row in read_rows(sheet)):
        try:
            wait_for_scores(sheet, unscored, days)
        except BaseException as error:
            note(log, f"left because {error.__cause__ or error}")
            raise
    note(log, f"went on with {artifact}")


def note(log: Path, text: str) -> None:
    with log.open("a", encoding="utf-8") as file:
        file.write(f"{text}\n")


def page(house: House) -> str:
    """Return what a run has shown last of its sheet."""
    shown = ArtifactFilter(key=ArtifactFilterKey(any_=[SHEET_ARTIFACT]))
    (artifact,) = house.client.read_artifacts(artifact_filter=shown, limit=1, sort=ArtifactSort.CREATED_DESC)
    return str(artifact.data)


@dataclass(frozen=True)
class Run:
    """A run of the deployment, with a sheet of its own."""

    house: House
    id: UUID
    sheet: Path
    log: Path

    def execute(self) -> str:
        """Work on the run in a process of its own, as a worker does, and return the state that it is left in."""
        command = [sys.executable, "-m", "prefect.engine", str(self.id)]
        ended = subprocess.run(
            command, cwd=REPOSITORY, env=self.house.environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == 0, ended.stderr
        return self.state()

    def state(self) -> str:
        return str(self.house.client.read_flow_run(self.id).state_name)

    def resume(self) -> SetStateStatus:
        return self.house.client.resume_flow_run(self.id).status

    def notes(self) -> list[str]:
        return self.log.read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, prefect_home: PlaceDatabase) -> Iterator[House]:
    home = prefect_home(tmp_path_factory.mktemp("prefect"))
    with open_house(home, {}) as house, prefect_state(house.address, home.parent / "state"):
        yield house


def start(house: House, folder: Path) -> Run:
    sheet, log = new_sheet(folder / "a sheet.csv"), folder / "log"
    flow_id = house.client.create_flow(gated)
    deployment = house.client.create_deployment(flow_id, DEPLOYMENT, entrypoint=f"{gated.__module__}.gated")
    parameters = {"sheet": str(sheet), "log": str(log), "days": WEEK}
    return Run(house, house.client.create_flow_run_from_deployment(deployment, parameters=parameters).id, sheet, log)


def new_sheet(path: Path) -> Path:
    rollouts = [
        Rollout(prompt_id=f"p{number}", task="push", prompt="Escreva um push.", completion=f"Oferta {number}!")
        for number in range(COMPLETIONS)
    ]
    write_rows(path, [as_row(rollout, "random") for rollout in rollouts])
    return path


def score(sheet: Path, completions: int) -> None:
    rows = read_rows(sheet)
    for row in rows[:completions]:
        rows = with_score(rows, row["audit_id"], "ana", "human", 4, "")
    write_rows(sheet, rows)


@pytest.mark.integration
def test_a_run_is_suspended_until_every_completion_is_scored(house: House, tmp_path: Path) -> None:
    run = start(house, tmp_path)
    assert run.execute() == "Suspended"
    shown = page(house)
    assert f"\n{run.sheet}\n" in shown
    assert f"\ntucano audit label '{run.sheet}' --rater" in shown
    assert str(RUBRICS_FOLDER.relative_to(REPOSITORY)) in shown
    score(run.sheet, COMPLETIONS - 1)
    assert run.resume() == SetStateStatus.ACCEPT
    assert run.execute() == "Suspended"
    score(run.sheet, COMPLETIONS)
    assert run.resume() == SetStateStatus.ACCEPT
    assert run.execute() == "Completed"
    waits = [f"left because suspended: {left} completions of {run.sheet} wait for a score" for left in (3, 1)]
    assert run.notes() == ["made", *waits, "went on with an artifact"]


@pytest.mark.integration
def test_a_run_without_a_deployment_says_how_to_score_and_to_resume(house: House, tmp_path: Path) -> None:
    sheet, log = new_sheet(tmp_path / "a sheet.csv"), tmp_path / "log"
    score(sheet, 1)
    with pytest.raises(Interrupted) as caught:
        gated(sheet, log, WEEK)
    reported = str(caught.value)
    assert reported.startswith(f"2 completions of {sheet} wait for a score")
    assert f"in the browser with `tucano audit label '{sheet}' --rater" in reported
    assert "run the same command again" in reported
    assert "Resume" not in page(house)
    score(sheet, COMPLETIONS)
    gated(sheet, log, WEEK)
    assert log.read_text(encoding="utf-8").splitlines()[2:] == ["went on with an artifact"]
