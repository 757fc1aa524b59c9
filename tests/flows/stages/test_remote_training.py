"""What is sent to another machine arrives, is trained there once, and is refused where it would be another thing."""

import signal
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from prefect import flow
from prefect.client.orchestration import get_client
from prefect.events.worker import EventsWorker
from prefect.exceptions import TerminationSignal
from prefect.logging.handlers import APILogWorker
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.states import Cancelling, Running

from flows.remote import training
from flows.runtime.session import EXPERIMENT, mlflow_store
from flows.runtime.stores import open_recorder, open_store
from flows.stages import remote
from flows.stages.remote import RemoteAnswer, open_exchange, open_shared, wait_for
from flows.stages.remote_training import DECIDING, TrainingRequest, train_remotely, training_key
from flows.stages.runner import Session, StageResult
from flows.stages.train import entry_modules, key_inputs
from schemas.artifact import ArtifactKind, ArtifactRecord
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.errors import InputError, Interrupted
from schemas.source import source_digest
from tasks.lineage.mlflow.recorder import artifacts_of_run
from tests.answering_server import answering
from tests.small_pipeline import PROFILE

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("mlflow_tables")]

TRAINING = TrainingRequest(stage="train", artifacts={}, key="0" * 64, pipeline_run="0" * 32)


@pytest.fixture(autouse=True)
def _server(prefect_server: str) -> Iterator[None]:
    with temporary_settings({PREFECT_API_URL: prefect_server}):
        yield
        # At the interpreter's end Prefect would try for a minute to reach an ended server.
        APILogWorker.drain_all(timeout=5)
        EventsWorker.drain_all(timeout=5)


@flow
def empty() -> None:
    """Do nothing."""


@pytest.fixture
def config(tmp_path: Path) -> Config:
    settings = [
        f"state.root={tmp_path / 'waiting'}",
        f"state.artifacts={tmp_path / 'place'}",
        "workers.training=training/nowhere",
    ]
    return load_config(str(PROFILE), settings)


@pytest.fixture
def pipeline_run(config: Config) -> Iterator[str]:
    with open_recorder(config).pipeline("retrain", {}, config={}) as run:
        yield run


def made(config: Config, kind: ArtifactKind, text: str) -> StageResult:
    store = open_store(config)
    with store.draft() as draft:
        (draft / "file").write_text(text, encoding="utf-8")
        record = store.commit(draft, kind=kind, stage=kind, code_version="c", config_digest="d", inputs={})
    return StageResult(record, store.path(record.sha256), 0.0, reused=False)


def all_given(config: Config) -> dict[str, StageResult]:
    kinds: tuple[ArtifactKind, ...] = ("prompts", "dataset", "base", "audit")
    return {kind: made(config, kind, kind) for kind in kinds}


def trained_here(config: Config, given: dict[str, StageResult], text: str) -> ArtifactRecord:
    store = open_store(config)
    with store.draft() as draft:
        (draft / "file").write_text(text, encoding="utf-8")
        return store.commit(
            draft,
            kind="policy",
            stage="train",
            code_version=source_digest(*entry_modules(config)),
            config_digest=key_inputs(config, config.seed),
            inputs={role: given[role].record.sha256 for role in DECIDING},
        )


def asked_for(config: Config, given: dict[str, StageResult]) -> TrainingRequest:
    return TrainingRequest(
        stage="train",
        key=training_key(config, {role: given[role].record for role in DECIDING}),
        pipeline_run="0" * 32,
        artifacts={role: result.record.sha256 for role, result in given.items()},
    )


def publish(there: Config, request: TrainingRequest, policies: dict[int, StageResult]) -> None:
    """Share policies as the answer to a request, as the machine that trained them does."""
    exchange = open_exchange(there)
    answer = RemoteAnswer(artifacts={str(seed): policy.record.sha256 for seed, policy in policies.items()})
    exchange.push(answer.artifacts.values())
    exchange.shared.leave(request.note, answer.model_dump_json().encode())


def elsewhere(config: Config, root: Path) -> Config:
    return config.model_copy(update={"state": config.state.model_copy(update={"root": root})})


def test_policies_that_were_trained_for_a_run_are_fetched_and_not_trained_again(
    config: Config, pipeline_run: str, tmp_path: Path
) -> None:
    given = all_given(config)
    there = elsewhere(config, tmp_path / "there")
    policy = made(there, "policy", "trained")
    publish(there, asked_for(config, given), {7: policy})

    fetched = train_remotely(Session(config, pipeline_run), given)

    assert {seed: result.record for seed, result in fetched.items()} == {7: policy.record}
    assert fetched[7].reused
    uri, _ = mlflow_store(config.state)
    assert artifacts_of_run(uri, EXPERIMENT, pipeline_run) == (policy.record.sha256,)
    assert (fetched[7].path / "file").read_text(encoding="utf-8") == "trained"


def test_policies_that_this_machine_still_has_need_no_note(config: Config, pipeline_run: str, tmp_path: Path) -> None:
    given = all_given(config)
    policy = trained_here(config, given, "trained")
    assert train_remotely(Session(config, pipeline_run), given)[config.seed].record == policy
    other = config.model_copy(update={"train": config.train.model_copy(update={"learning_rate": 1e-6})})
    with pytest.raises(InputError, match="no deployment"):
        train_remotely(Session(other, pipeline_run), given)


def test_a_training_that_was_answered_before_is_not_done_again(config: Config, tmp_path: Path) -> None:
    given = all_given(config)
    there = elsewhere(config, tmp_path / "there")
    publish(there, asked_for(config, given), {7: made(there, "policy", "trained")})
    # Without the inputs in the shared place nothing could be trained.
    training(there, asked_for(config, given))
    # What was lost of them on the way is there again, by the worker's own copy.
    blob = tmp_path / "place" / "blobs" / "sha256" / open_store(there).records("policy")[0].files["file"]
    blob.unlink()
    training(there, asked_for(config, given))
    assert blob.read_text(encoding="utf-8") == "trained"


def test_a_run_of_the_deployment_by_hand_says_what_to_start(config: Config) -> None:
    with pytest.raises(InputError, match="retrain/retrain"):
        training(config)


def test_a_server_that_is_away_is_waited_for_and_then_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    run = uuid4()
    looks: list[None] = []

    def rest(_: float) -> None:
        looks.append(None)
        if len(looks) == 3:
            monkeypatch.setattr(remote, "SECONDS_OF_SILENCE", -1.0)

    monkeypatch.setattr("flows.stages.remote.time.sleep", rest)
    with (
        answering({f"/api/flow_runs/{run}": (500, "")}) as server,
        temporary_settings({PREFECT_API_URL: f"{server.url}/api"}),
        pytest.raises(Interrupted, match="the training is attached to"),
    ):
        wait_for(run, TRAINING)
    assert len(looks) == 3


def test_a_training_whose_run_was_deleted_is_one_sentence() -> None:
    with pytest.raises(InputError, match="was deleted on Prefect's server; run the same command again"):
        wait_for(uuid4(), TRAINING)


@pytest.mark.parametrize("cancelled", [True, False])
def test_cancelling_a_retraining_cancels_its_training_and_an_interruption_does_not(
    cancelled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def end(_: float) -> None:
        raise TerminationSignal(signal.SIGTERM)

    monkeypatch.setattr("flows.stages.remote.time.sleep", end)
    with get_client(sync_client=True) as client:
        waiting, trains = (client.create_flow_run(empty, state=Running()).id for _ in range(2))
        if cancelled:
            client.set_flow_run_state(waiting, Cancelling(), force=True)
        monkeypatch.setenv("PREFECT__FLOW_RUN_ID", str(waiting))
        with pytest.raises(TerminationSignal):
            wait_for(trains, TRAINING)
        state = client.read_flow_run(trains).state
    assert state is not None
    assert state.is_cancelling() == cancelled


@pytest.mark.parametrize("lost", ["policy", "torn note"])
def test_a_training_is_requested_again_if_its_policies_are_not_whole(
    config: Config, pipeline_run: str, tmp_path: Path, lost: str
) -> None:
    given = all_given(config)
    there = elsewhere(config, tmp_path / "there")
    policy = made(there, "policy", "trained")
    publish(there, asked_for(config, given), {7: policy})
    if lost == "policy":
        (tmp_path / "place" / "blobs" / "sha256" / policy.record.files["file"]).unlink()
    else:
        note = next((tmp_path / "place").glob("notes/*.json"))
        note.unlink()
        note.write_text('{"7": "01', encoding="utf-8")
    with pytest.raises(InputError, match=r"no deployment training/nowhere.*tucano infra apply"):
        train_remotely(Session(config, pipeline_run), given)


def test_a_run_that_wants_all_made_again_does_not_take_what_was_trained_before(
    config: Config, pipeline_run: str, tmp_path: Path
) -> None:
    given = all_given(config)
    there = elsewhere(config, tmp_path / "there")
    publish(there, asked_for(config, given), {7: made(there, "policy", "trained")})
    with pytest.raises(InputError, match="no deployment"):
        train_remotely(Session(config, pipeline_run, fresh="a run"), given)


def test_a_worker_with_other_code_or_configuration_refuses_the_training(config: Config, tmp_path: Path) -> None:
    given = all_given(config)
    shared = open_shared(config)
    for result in given.values():
        shared.push(result.record, result.path)
    there = elsewhere(config, tmp_path / "there")
    other = there.model_copy(update={"train": there.train.model_copy(update={"learning_rate": 1e-6})})
    with pytest.raises(InputError, match="same version"):
        training(other, asked_for(config, given))
