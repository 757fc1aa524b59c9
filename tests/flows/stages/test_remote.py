"""Remote work: it comes to what it would have come to here, is done once, and a request attaches to a run under way."""

import io
import signal
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.objects import State
from prefect.exceptions import TerminationSignal
from prefect.states import Cancelled, Cancelling, Completed, Crashed, Failed, Running
from pydantic import BaseModel

from flows.remote import inference, training
from flows.runtime.session import mlflow_store
from flows.runtime.stores import open_recorder, open_store
from flows.stages import remote, stage_child
from flows.stages.answers import Answering
from flows.stages.remote import (
    REMOTE_FOLDER,
    RemoteAnswer,
    RemoteRequest,
    open_exchange,
    open_shared,
    run_deployment_of,
    wait_for,
)
from flows.stages.runner import Session, StageResult
from flows.stages.train import entry_modules, key_inputs, train
from schemas.artifact import ArtifactKind
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.errors import InputError, Interrupted, TucanoError
from schemas.source import source_digest
from tasks.evaluate.answers.answer import main
from tasks.evaluate.answers.files import ROLLOUTS_FILE
from tasks.lineage.mlflow.client import open_client
from tasks.policy.child import Channel
from tests.answering_server import answering
from tests.flows.prefect_state import prefect_state
from tests.flows.stages.test_answers import World, _make_world, ask
from tests.small_pipeline import PROFILE

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("mlflow_tables")]

DEVICE = "NVIDIA L4"


def request_of(name: str) -> RemoteRequest:
    return RemoteRequest(
        what="training",
        stage="train",
        function="train",
        call={},
        artifacts={},
        stage_keys=(name,),
        pipeline_run="0" * 32,
    )


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
    request_run: Request, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
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
    assert "the work pool nobody has no worker online" in " ".join(capsys.readouterr().err.split())
    crashed = request_run(name)
    end(crashed, Crashed())
    # It may be brought back.
    assert request_run(name) == crashed
    monkeypatch.setattr(remote, "TIME_TO_COME_BACK", timedelta(0))
    assert request_run(name) != crashed


@pytest.mark.parametrize("deleted", [0, 1])
def test_a_deleted_run_brings_no_ended_one_back(deleted: int, request_run: Request) -> None:
    """Some of those that had ended, or the one under way."""
    name, ended = uuid4().hex, list[UUID]()
    for _ in range(2):
        ended.append(request_run(name))
        end(ended[-1], Failed())
    with get_client(sync_client=True) as client:
        client.delete_flow_run(ended[deleted])
        under_way = request_run(name)
        assert under_way not in ended
        client.delete_flow_run(ended[1 - deleted])
        assert request_run(name) == under_way
        client.delete_flow_run(under_way)
    assert request_run(name) not in {*ended, under_way}


def test_a_server_that_is_away_is_waited_for_and_then_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    run = uuid4()
    looks: list[None] = []

    def rest(_: float) -> None:
        looks.append(None)
        if len(looks) == 3:
            monkeypatch.setattr(remote, "SECONDS_OF_SILENCE", -1.0)

    monkeypatch.setattr("flows.stages.remote.time.sleep", rest)
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


@pytest.mark.usefixtures("config")
@pytest.mark.parametrize("cancelled", [True, False])
def test_cancelling_a_retraining_cancels_its_training_and_an_interruption_does_not(
    cancelled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="was deleted on Prefect's server; run the same command again"):
        wait_for(uuid4(), request_of("a"))

    def terminate(_: float) -> None:
        raise TerminationSignal(signal.SIGTERM)

    monkeypatch.setattr("flows.stages.remote.time.sleep", terminate)
    with get_client(sync_client=True) as client:
        waiting, trains = (client.create_flow_run(empty, state=Running()).id for _ in range(2))
        if cancelled:
            client.set_flow_run_state(waiting, Cancelling(), force=True)
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
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "answer.request.json"
        file.write_text(request.model_dump_json(), encoding="utf-8")
        main(file, Channel(io.StringIO()))
        return DEVICE

    def run_deployment(self, config: Config, deployment: str, request: RemoteRequest) -> None:
        """Run the deployment's flow with what it is given, as JSON, as a worker would."""
        assert (request.what, deployment) == ("inference", "inference/inference")
        self.requests.append(RemoteRequest.model_validate_json(request.model_dump_json()))
        inference(remote._remote_config(config), self.requests[-1])

    def ask(self, *overrides: str, who: Answering | None = None, fresh: bool = False) -> StageResult:
        handing = ("workers.inference=inference/inference", f"state.artifacts={self.place}")
        return ask(self.world, *handing, *overrides, who=who or self.tuned, fresh=fresh)

    @property
    def tuned(self) -> Answering:
        return Answering("tuned", self.world.base, self.world.policy)


@pytest.fixture
def team(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    team = Team(world, tmp_path / "place")
    monkeypatch.setattr(stage_child, "run_child", team.run_child)
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


def test_an_earlier_inference_is_fetched_and_not_repeated_but_for_a_fresh_run(team: Team) -> None:
    first = team.ask("seed=22")
    assert team.ask("seed=22").reused
    # This machine loses it; the place still has it.
    lost = open_store(team.world.config()).path(first.record.sha256) / ROLLOUTS_FILE
    lost.chmod(0o644)
    lost.write_text("altered", encoding="utf-8")
    again = team.ask("seed=22")
    assert (again.record.sha256, team.ran) == (first.record.sha256, 1)
    team.ask("seed=22", fresh=True)
    # The base is another model, also where both were made of one base.
    team.ask("seed=22", who=Answering("base", team.world.base))
    assert team.ran == 3
    # Nothing else is made there than what the key says.
    config = team.world.config(f"state.artifacts={team.place}", "seed=23")
    with pytest.raises(InputError, match="give both machines the same version"):
        inference(config, team.requests[0].model_copy(update={"fresh": "another"}))
    assert team.ran == 3


@pytest.mark.usefixtures("config")
@pytest.mark.parametrize("deployment", [training, inference])
def test_a_run_of_a_deployment_by_hand_says_what_to_start(deployment: Any, config: Config) -> None:
    with pytest.raises(InputError, match="retrain/retrain"):
        deployment(config)


def made(config: Config, kind: ArtifactKind, text: str, **named: Any) -> StageResult:
    store = open_store(config)
    with store.draft() as draft:
        (draft / "file").write_text(text, encoding="utf-8")
        known = {"stage": kind, "code_version": "c", "config_digest": "d", "inputs": {}, **named}
        record = store.commit(draft, kind=kind, **known)
    return StageResult(record, store.path(record.sha256), 0.0, reused=False)


@pytest.fixture
def given(config: Config) -> dict[str, StageResult]:
    kinds: tuple[ArtifactKind, ...] = ("prompts", "dataset", "base", "audit")
    return {kind: made(config, kind, kind) for kind in kinds}


@pytest.fixture
def there(config: Config, tmp_path: Path) -> Config:
    """The configuration of the machine that trains."""
    state = config.state.model_copy(update={"root": tmp_path / "there"})
    workers = config.workers.model_copy(update={"training": None})
    return config.model_copy(update={"state": state, "workers": workers})


@pytest.fixture
def asked(config: Config, given: dict[str, StageResult], monkeypatch: pytest.MonkeyPatch) -> RemoteRequest:
    """What a retraining asks for, whose deployment then does nothing."""
    requests: list[RemoteRequest] = []
    with monkeypatch.context() as patch:
        patch.setattr(remote, "run_deployment_of", lambda *arguments: requests.append(arguments[-1]))
        with pytest.raises(TucanoError, match=f"its result is not in {config.state.artifacts}"):
            train(Session(config), given)
    return requests[-1]


def publish(there: Config, request: RemoteRequest) -> StageResult:
    """Share a policy as the answer to a request, as the machine that trained it does."""
    exchange, policy = open_exchange(there), made(there, "policy", "trained")
    exchange.push([policy.record.sha256])
    answer = RemoteAnswer(artifacts=(policy.record.sha256,))
    exchange.shared.leave(request.note, answer.model_dump_json().encode())
    return policy


def test_policies_that_were_trained_for_a_run_are_fetched_and_not_trained_again(
    config: Config, given: dict[str, StageResult], there: Config, asked: RemoteRequest
) -> None:
    policy = publish(there, asked)
    with open_recorder(config).pipeline("retrain", {}, config={}) as run:
        fetched = train(Session(config, run), given)
    assert {seed: (result.record, result.reused) for seed, result in fetched.items()} == {
        config.seed: (policy.record, True)
    }
    tags = open_client(mlflow_store(config.state)[0]).get_run(run).data.tags
    assert tags["reused.train"] == policy.record.sha256
    # A run that makes all again does not take them.
    with pytest.raises(InputError, match=r"no deployment training/nowhere.*tucano infra apply"):
        train(Session(config, fresh="a run"), given)


def test_policies_that_this_machine_still_has_need_no_note(config: Config, given: dict[str, StageResult]) -> None:
    policy = made(
        config,
        "policy",
        "trained",
        code_version=source_digest(*entry_modules(config)),
        config_digest=key_inputs(config, config.seed),
        inputs={role: result.record.sha256 for role, result in given.items()},
    )
    assert train(Session(config), given)[config.seed].record == policy.record
    other = config.model_copy(update={"train": config.train.model_copy(update={"learning_rate": 1e-6})})
    with pytest.raises(InputError, match="no deployment"):
        train(Session(other), given)


def test_a_training_that_was_answered_before_is_not_done_again(
    there: Config, asked: RemoteRequest, tmp_path: Path
) -> None:
    policy = publish(there, asked)
    blob = tmp_path / "place" / "blobs" / "sha256" / policy.record.files["file"]
    # Lost on the way, it is there again by the worker's own copy.
    blob.unlink()
    training(there, asked)
    assert blob.read_text(encoding="utf-8") == "trained"


@pytest.mark.parametrize("lost", ["policy", "torn note"])
def test_a_training_is_requested_again_if_its_policies_are_not_whole(
    lost: str, config: Config, given: dict[str, StageResult], there: Config, asked: RemoteRequest, tmp_path: Path
) -> None:
    policy = publish(there, asked)
    if lost == "policy":
        (tmp_path / "place" / "blobs" / "sha256" / policy.record.files["file"]).unlink()
    else:
        note = next((tmp_path / "place").glob("notes/*.json"))
        note.unlink()
        note.write_text('{"7": "01', encoding="utf-8")
    with pytest.raises(InputError, match="no deployment"):
        train(Session(config), given)


def test_a_worker_with_other_code_or_configuration_refuses_the_training(
    given: dict[str, StageResult], there: Config, asked: RemoteRequest
) -> None:
    for result in given.values():
        open_shared(there).push(result.record, result.path)
    other = there.model_copy(update={"train": there.train.model_copy(update={"learning_rate": 1e-6})})
    with pytest.raises(InputError, match="same version"):
        training(other, asked)
