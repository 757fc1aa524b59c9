"""A run waits for scores without a process, asks again while some are missing, and resumes once they are there."""

from contextlib import suppress
from pathlib import Path

import pytest
from prefect import flow, task
from prefect.cache_policies import CacheKeyFnPolicy
from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.filters import ArtifactFilter, ArtifactFilterKey
from prefect.client.schemas.responses import SetStateStatus
from prefect.client.schemas.sorting import ArtifactSort
from prefect.exceptions import Pause
from prefect.flow_engine import run_flow

from flows.runtime.runs import SHEET_ARTIFACT, wait_for_scores
from schemas.documents import Rollout
from schemas.source import REPOSITORY
from tasks.audit.labelling import RUBRICS_FOLDER, with_score
from tasks.audit.sheet import as_row, is_scored, read_rows, write_rows
from tests.flows.prefect_state import prefect_state

pytestmark = pytest.mark.integration


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


def page(client: SyncPrefectClient) -> str:
    """Return what a run has shown last of its sheet."""
    shown = ArtifactFilter(key=ArtifactFilterKey(any_=[SHEET_ARTIFACT]))
    (artifact,) = client.read_artifacts(artifact_filter=shown, limit=1, sort=ArtifactSort.CREATED_DESC)
    return str(artifact.data)


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    rollouts = [
        Rollout(prompt_id=f"p{n}", task="push", prompt="Crie um push.", completion=f"Oferta {n}!") for n in "abc"
    ]
    write_rows(tmp_path / "a sheet.csv", [as_row(rollout, "random") for rollout in rollouts])
    return tmp_path / "a sheet.csv"


def score(sheet: Path, completions: int) -> None:
    rows = read_rows(sheet)
    for row in rows[:completions]:
        rows = with_score(rows, row["audit_id"], "ana", "human", 4, "")
    write_rows(sheet, rows)


def test_a_run_is_suspended_until_every_completion_is_scored(sheet: Path, tmp_path: Path, prefect_server: str) -> None:
    log = tmp_path / "log"
    with SyncPrefectClient(prefect_server) as client, prefect_state(prefect_server, tmp_path):
        deployment = client.create_deployment(client.create_flow(gated), "gated", entrypoint=f"{__name__}.gated")
        parameters = {"sheet": str(sheet), "log": str(log), "days": 7.0}
        run = client.create_flow_run_from_deployment(deployment, parameters=parameters).id

        def work() -> str | None:
            """Work on the run as a worker does, and return the state that it is left in."""
            with suppress(Pause):
                run_flow(gated, flow_run=client.read_flow_run(run))
            return client.read_flow_run(run).state_name

        assert work() == "Suspended"
        shown = page(client)
        assert f"\n{sheet}\n" in shown
        assert f"\ntucano audit label '{sheet}' --rater" in shown
        assert str(RUBRICS_FOLDER.relative_to(REPOSITORY)) in shown
        score(sheet, 2)
        assert client.resume_flow_run(run).status == SetStateStatus.ACCEPT
        assert work() == "Suspended"
        score(sheet, 3)
        assert client.resume_flow_run(run).status == SetStateStatus.ACCEPT
        assert work() == "Completed"
    waits = [f"left because suspended: {left} completions of {sheet} wait for a score" for left in (3, 1)]
    assert log.read_text(encoding="utf-8").splitlines() == ["made", *waits, "went on with an artifact"]
