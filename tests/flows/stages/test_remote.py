"""Remote work: it comes to what it would have come to here, is done once, and a request attaches to a run under way."""

import json
import signal
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

import pytest
from prefect import flow, task
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.objects import State
from prefect.exceptions import TerminationSignal
from prefect.states import Cancelled, Cancelling, Completed, Crashed, Failed, Running
from pydantic import BaseModel

from flows.remote import inference, training
from flows.runtime.session import mlflow_store, open_recorder, open_store
from flows.stages import child_pool, remote
from flows.stages.answers import Answering
from flows.stages.remote import REMOTE_FOLDER, RemoteRequest, run_deployment_of, wait_for
from flows.stages.runner import Session, StageResult
from flows.stages.train import train
from schemas.artifact import ArtifactKind
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.errors import InputError, Interrupted
from tasks.evaluate.answers.files import ROLLOUTS_FILE
from tasks.lineage.mlflow.client import open_client
from tests.answering_server import answering
from tests.flows.children import DEVICE, run_here
from tests.flows.prefect_state import prefect_state
from tests.flows.promotable import made
from tests.flows.stages.test_answers import World, _make_world, ask
from tests.small_pipeline import PROFILE

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("mlflow_tables")]


def request_of(name: str) -> RemoteRequest:
    named: dict[str, Any] = {"what": "training", "stage": "train", "function": "train", "pipeline_run": "0" * 32}
    return RemoteRequest(**named, call={}, artifacts={}, stage_key=name)


@flow
def work(config: dict[str, Any], request: dict[str, Any]) -> None:
    """Do nothing."""


@pytest.fixture(scope="module")
def world(prefect_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    root = tmp_path_factory.mktemp("state")
    with prefect_state(prefect_server, root):
        yield _make_world(root)


@pytest.fixture
def config(prefect_server: str, tmp_path: Path) -> Iterator[Config]:
    """A retraining whose training is remote."""
    settings = [
        f"state.root={tmp_path / 'waiting'}",
        f"state.artifacts={tmp_path / 'place'}",
        "workers.training=training/nowhere",
    ]
    with prefect_state(prefect_server, tmp_path / "waiting"):
        yield load_config(str(PROFILE), settings)


Request = Callable[[str], UUID]
"""Requests the work of a name, is interrupted at once, and returns the run that does it."""


@pytest.fixture
def request_run(config: Config, monkeypatch: pytest.MonkeyPatch) -> Iterator[Request]:
    """Return a function that requests work of a deployment that no worker serves."""
    waited_for: list[UUID] = []

    def interrupt(run_id: UUID, _: RemoteRequest) -> None:
        waited_for.append(run_id)
        raise Interrupted

    monkeypatch.setattr(remote, "wait_for", interrupt)

    def request(name: str) -> UUID:
        with pytest.raises(Interrupted):
            run_deployment_of(config, f"{work.name}/nowhere", request_of(name))
        return waited_for[-1]

    with get_client(sync_client=True) as client:
        client.create_work_pool(WorkPoolCreate(name="nobody", type="process"), overwrite=True)
        made = client.create_deployment(client.create_flow(work), "nowhere", work_pool_name="nobody")
        yield request
        client.delete_deployment(made)


def end(run: UUID, state: State[None]) -> None:
    with get_client(sync_client=True) as client:
        client.set_flow_run_state(run, state, force=True)


def test_every_attempt_is_one_run_however_the_one_before_it_ended(
    request_run: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attempt is attached to by any request until it has ended, and by none afterwards."""
    name, runs = uuid4().hex, list[UUID]()
    states: tuple[State[None], ...] = (Failed(), Cancelled(), Completed(), Failed())
    for state in states:
        runs.append(request_run(name))
        end(runs[-1], Running())
        assert request_run(name) == runs[-1]
        end(runs[-1], state)
    assert len(set(runs)) == len(runs)
    crashed = request_run(name)
    end(crashed, Crashed())
    # It may be brought back.
    assert request_run(name) == crashed
    monkeypatch.setattr(remote, "TIME_TO_COME_BACK", timedelta(0))
    assert request_run(name) != crashed


def test_a_server_that_is_away_is_waited_for_and_then_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run = uuid4()
    looks: list[None] = []

    def rest(_: float) -> None:
        looks.append(None)
        if len(looks) == 3:
            monkeypatch.setattr(remote, "SECONDS_OF_SILENCE", -1.0)

    monkeypatch.setattr(remote, "time", SimpleNamespace(monotonic=time.monotonic, sleep=rest))
    with (
        answering({f"/api/flow_runs/{run}": (500, "")}) as server,
        prefect_state(f"{server.url}/api", tmp_path),
        pytest.raises(Interrupted, match="the training is attached to"),
    ):
        wait_for(run, request_of("a"))
    assert len(looks) == 3


@flow
def empty() -> None:
    """Do nothing."""


@task
def step() -> None:
    """Do nothing."""


@pytest.mark.usefixtures("config")
@pytest.mark.parametrize("cancelled", [True, False])
def test_cancelling_a_retraining_cancels_its_training_and_an_interruption_does_not(
    cancelled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def terminate(_: float) -> None:
        raise TerminationSignal(signal.SIGTERM)

    # Not the client's own, which waits between its tries.
    monkeypatch.setattr(remote, "time", SimpleNamespace(monotonic=time.monotonic, sleep=terminate))
    with get_client(sync_client=True) as client:
        chain, trains = (client.create_flow_run(empty, state=Running()).id for _ in range(2))
        stage = client.create_task_run(step, chain, "train-0")
        waiting = client.create_flow_run(empty, parent_task_run_id=stage.id, state=Running()).id
        if cancelled:
            client.set_flow_run_state(chain, Cancelling(), force=True)
        monkeypatch.setenv("PREFECT__FLOW_RUN_ID", str(waiting))
        with pytest.raises(TerminationSignal):
            wait_for(trains, request_of("a"))
        state = client.read_flow_run(trains).state
    assert state is not None
    assert state.is_cancelling() == cancelled


class Team:
    """The other machine: a state folder of its own, and the child's work in this process, which has torch already."""

    def __init__(self, world: World, place: Path) -> None:
        self.world, self.place = world, place
        self.requests: list[RemoteRequest] = []
        self.ran = 0

    def run_child(self, module: str, request: BaseModel, folder: Path, **_: Any) -> str:
        assert module == "tasks.evaluate.answers.answer"
        self.ran += 1
        return run_here(module, request, folder)

    def run_deployment(self, config: Config, deployment: str, request: RemoteRequest) -> None:
        """Run the deployment's flow with what it is given, as JSON, as a worker would."""
        assert (request.what, deployment) == ("inference", "inference/inference")
        self.requests.append(RemoteRequest.model_validate_json(request.model_dump_json()))
        inference(remote.config_elsewhere(config), self.requests[-1])

    def ask(self, *overrides: str, who: Answering | None = None, fresh: bool = False) -> StageResult:
        handing = ("workers.inference=inference/inference", f"state.artifacts={self.place}")
        return ask(self.world, *handing, *overrides, who=who or self.tuned, fresh=fresh)

    @property
    def tuned(self) -> Answering:
        return Answering("tuned", self.world.base, self.world.policy)


@pytest.fixture
def team(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    team = Team(world, tmp_path / "place")
    monkeypatch.setattr(child_pool, "run_child", team.run_child)
    monkeypatch.setattr(remote, "run_deployment_of", team.run_deployment)
    return team


def test_another_machine_answers_as_this_one_does_and_is_named(team: Team) -> None:
    here = ask(team.world, "seed=21", who=team.tuned)
    there = team.ask("seed=21", fresh=True)
    assert (there.path / ROLLOUTS_FILE).read_bytes() == (here.path / ROLLOUTS_FILE).read_bytes()
    assert (there.record.kind, there.record.inputs) == (here.record.kind, here.record.inputs)
    assert (len(team.requests), there.reused) == (1, False)
    worker = there.record.worker
    assert worker is not None
    assert worker.device == DEVICE
    assert worker.prefect_run_id is not None
    # Its work folder is gone, as ours is.
    for root in (team.world.root, team.world.root / REMOTE_FOLDER):
        assert list((root / "work").glob("*")) == []


def spoil(team: Team, result: StageResult) -> None:
    """Lose this machine's copy of some answers."""
    lost = open_store(team.world.config()).path(result.record.sha256) / ROLLOUTS_FILE
    lost.chmod(0o644)
    lost.write_text("altered", encoding="utf-8")


def test_an_earlier_inference_is_fetched_and_not_repeated_but_for_a_fresh_run(team: Team) -> None:
    first = team.ask("seed=22")
    assert team.ask("seed=22").reused
    # The place still has it.
    spoil(team, first)
    assert (team.ask("seed=22").record.sha256, team.ran) == (first.record.sha256, 1)
    team.ask("seed=22", fresh=True)
    # The base is another model, also where both were made of one base.
    team.ask("seed=22", who=Answering("base", team.world.base))
    assert team.ran == 3
    # Nothing else is made there than what the key says.
    config = team.world.config(f"state.artifacts={team.place}", "seed=23")
    with pytest.raises(InputError, match="give both machines the same version"):
        inference(config, team.requests[0].model_copy(update={"fresh": "another"}))
    # What this machine has needs no note.
    for note in team.place.glob("notes/*"):
        note.unlink()
    assert team.ask("seed=22").reused
    assert team.ran == 3


@pytest.mark.parametrize("seed", ["24", "25"])
def test_an_answer_that_is_lost_at_the_place_is_asked_for_again_and_not_made_again(seed: str, team: Team) -> None:
    first = team.ask(f"seed={seed}")
    blob = team.place / "blobs" / "sha256" / first.record.files[ROLLOUTS_FILE]
    if seed == "24":
        blob.unlink()
    else:
        (note,) = team.place.glob("notes/*")
        note.unlink()
        note.write_text("7/01", encoding="utf-8")
    spoil(team, first)
    again = team.ask(f"seed={seed}")
    assert (again.record.sha256, len(team.requests), team.ran) == (first.record.sha256, 2, 1)
    assert blob.exists()


@pytest.mark.usefixtures("config")
@pytest.mark.parametrize("deployment", [training, inference])
def test_a_run_of_a_deployment_by_hand_says_what_to_start(deployment: Any, config: Config) -> None:
    with pytest.raises(InputError, match="retrain/retrain"):
        deployment(config)


def written(config: Config, kind: ArtifactKind, text: str) -> StageResult:
    def fill(folder: Path) -> None:
        (folder / "file").write_text(text, encoding="utf-8")
        summary = {"validation": [{"step": 0, "mean_reward": 0.5}], "chosen_step": 0}
        (folder / "training.json").write_text(json.dumps(summary), encoding="utf-8")

    return made(config.state.root, kind, fill)


def test_the_policies_of_all_seeds_come_back_in_order_and_are_noted_on_the_run(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds: tuple[ArtifactKind, ...] = ("prompts", "dataset", "base", "audit")
    given: dict[str, StageResult] = {kind: written(config, kind, kind) for kind in kinds}
    seeds = config.model_copy(update={"train": config.train.model_copy(update={"seeds": (8, 7)})})
    with pytest.raises(InputError, match=r"no deployment training/nowhere.*tucano infra apply"):
        train(Session(seeds), given)

    def trained(session: Session, given: dict[str, StageResult], seeds: tuple[int]) -> dict[int, StageResult]:
        assert {role: (each.path / "file").read_text(encoding="utf-8") for role, each in given.items()} == {
            kind: kind for kind in kinds
        }
        return {seed: written(session.config, "policy", f"of {seed}") for seed in seeds}

    def deployment(config: Config, _: str, request: RemoteRequest) -> None:
        training(remote.config_elsewhere(config), request)

    monkeypatch.setattr("flows.remote.train", trained)
    monkeypatch.setattr(remote, "run_deployment_of", deployment)
    with open_recorder(config).pipeline("retrain", {}, config={}) as run:
        policies = train(Session(seeds, run), given)
    texts = {seed: (each.path / "file").read_text(encoding="utf-8") for seed, each in policies.items()}
    assert list(texts.items()) == [(8, "of 8"), (7, "of 7")]
    tags = open_client(mlflow_store(config.state)[0]).get_run(run).data.tags.values()
    assert {each.record.sha256 for each in policies.values()} <= {*tags}
