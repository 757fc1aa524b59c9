"""A job as it travels: what decides its id, and what its machine is given."""

import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from flows import remote
from flows.cli.l4 import JOB, TrainedByJob
from flows.l4 import work
from flows.l4.job import Job, is_posted, make_job, post, read_ending, read_job
from flows.l4.this import ThisMachine
from flows.stages.remote import Exchange
from flows.stages.runner import Results, Session, StageResult
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.errors import GateRefused, InputError
from tasks.checkpoints.shared_artifacts import SharedArtifacts
from tasks.lineage.store.artifacts import ArtifactStore
from tests.small_pipeline import PROFILE
from tests.tasks.lineage.made import commit

BUCKET = {"mirror": "gs://loja/mirror", "artifacts": "gs://loja/artifacts"}


def rented(root: Path, *overrides: str, places: Mapping[str, str] = BUCKET) -> Config:
    config = load_config(str(PROFILE), [f"state.root={root}", "train.seeds=[7, 8]", *overrides])
    workers = TrainedByJob(**config.workers.model_dump() | {"training": JOB})
    return config.model_copy(update={"state": config.state.model_copy(update=dict(places)), "workers": workers})


@pytest.fixture
def given(tmp_path: Path) -> Results:
    store, roles = ArtifactStore(tmp_path / "artifacts"), ("prompts", "dataset", "base", "audit")
    records = {role: commit(store, role, {role: role.encode()}, {}) for role in roles}  # type: ignore[arg-type]
    return {role: StageResult(record, store.path(record.sha256), 0.0, reused=True) for role, record in records.items()}


def job_of(config: Config, given: Results, folder: Path = Path("/state")) -> Job:
    return make_job(config, given, folder=folder, interpreter=Path("/opt/python"), mlflow=None)


def test_a_job_for_a_bucket_travels_whole_and_asks_for_no_other_machine(tmp_path: Path, given: Results) -> None:
    phrases = tmp_path / "phrases.toml"
    phrases.write_text("aberturas = []\n", encoding="utf-8")
    job = job_of(rented(tmp_path, f"rewards.phrases={phrases}"), given)
    exchange = Exchange(SharedArtifacts(str(tmp_path / "shared")), ArtifactStore(tmp_path / "artifacts"))
    assert not is_posted(job, exchange)
    post(job, exchange)
    assert is_posted(job, exchange)
    there = read_job(exchange.shared, job.id)
    assert there == job
    assert (there.config.workers.training, there.config.workers.inference) == (None, None)
    assert (there.config.state.root, there.config.state.mirror) == (Path("/state"), BUCKET["mirror"])
    assert (there.config.state.mlflow, there.phrases) == (None, "aberturas = []\n")
    assert there.config.rewards.phrases == Path("/state/phrases.toml")
    assert [request.call for request in there.requests] == [{"seed": 7}, {"seed": 8}]
    assert {len(name) for name in there.trainings} == {len("train-") + 16}
    assert read_ending(exchange.shared, job) is None
    with pytest.raises(InputError, match="the store has no job 0"):
        read_job(exchange.shared, "0")


def test_the_id_is_of_what_is_trained_alone(tmp_path: Path, given: Results) -> None:
    known = job_of(rented(tmp_path), given).id
    assert job_of(rented(tmp_path / "elsewhere", "train.save_every=3"), given).id == known
    assert job_of(rented(tmp_path, "train.learning_rate=1e-6"), given).id != known


def test_a_job_of_another_version_is_refused(tmp_path: Path) -> None:
    shared = SharedArtifacts(str(tmp_path))
    shared.leave("l4-0", b'{"config": {}}')
    with pytest.raises(InputError, match="of another version of this program"):
        read_job(shared, "0")


@pytest.fixture
def posted(tmp_path: Path, given: Results, monkeypatch: pytest.MonkeyPatch) -> tuple[Job, Exchange]:
    """A job in a shared folder, in a process whose Prefect and MLflow are not asked."""
    places = {"mirror": str(tmp_path / "mirror"), "artifacts": str(tmp_path / "shared")}
    job = job_of(rented(tmp_path, places=places), given, tmp_path / "job")
    exchange = Exchange(SharedArtifacts(places["artifacts"]), ArtifactStore(tmp_path / "artifacts"))
    post(job, exchange)
    monkeypatch.setattr(Session, "recorder", SimpleNamespace(end_abandoned=lambda: None))
    return job, exchange


def test_the_job_trains_each_seed_and_leaves_its_policy(
    posted: tuple[Job, Exchange], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, exchange = posted
    trained: list[int] = []

    def train(session: Session, given: Results, seed: int) -> StageResult:
        assert {role: (each.path / role).read_text() for role, each in given.items()} == {role: role for role in given}
        assert session.config.state.root == tmp_path / "job"
        trained.append(seed)
        return session.result(commit(session.store, "policy", {"adapter": f"{seed}".encode()}, {}))

    monkeypatch.setattr(remote, "FUNCTIONS", {"train": train})
    work._train(exchange.shared, job.id)
    policies = [exchange.read(request) for request in job.requests]
    assert [(exchange.store.path(each.sha256) / "adapter").read_text() for each in policies if each] == ["7", "8"]
    # As another machine, which has the shared store alone.
    shutil.rmtree(tmp_path / "job")
    work._train(exchange.shared, job.id)
    assert trained == [7, 8]


def test_a_job_that_is_refused_leaves_its_sentence(
    posted: tuple[Job, Exchange], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job, exchange = posted

    def refuse(*_: object, **__: object) -> StageResult:
        raise GateRefused("the preflight says no")

    monkeypatch.setattr(remote, "FUNCTIONS", {"train": refuse})
    with pytest.raises(GateRefused):
        work._train(exchange.shared, job.id)
    ending = read_ending(exchange.shared, job)
    assert (type(ending), str(ending)) == (GateRefused, "the job ended: the preflight says no")
    post(job, exchange)
    assert read_ending(exchange.shared, job) is None


@pytest.mark.integration
def test_the_process_of_a_job_fails_with_its_exit_code_and_is_asked_to_end(tmp_path: Path) -> None:
    service = ThisMachine(rented(tmp_path), str(tmp_path / "shared"), tmp_path / "job")
    run = service.start("0")
    assert [each.name for each in service.find("0")] == [run.name]
    while (now := service.look(run)).state == "running":
        time.sleep(0.05)
    assert (now.state, now.why, service.find("0")) == ("failed", "exit code 2", [])
    service.stop(service.start("0"))
    assert service.find("0") == []
