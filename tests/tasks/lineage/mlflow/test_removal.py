"""Removal from MLflow: nothing is on the disk after it, a kill at any call is made good, a refusal is a sentence."""

import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from schemas.artifact import ArtifactRecord
from schemas.errors import InputError
from tasks.lineage.mlflow.client import open_client
from tasks.lineage.mlflow.recorder import Recorder
from tasks.lineage.mlflow.registry import Registry
from tasks.lineage.mlflow.removal import Removal
from tests.tasks.lineage.made import register_policy
from tests.tasks.lineage.mlflow.records import artifact, write_trace

pytestmark = pytest.mark.integration

EXPERIMENT = "tucano2-commerce"
SAID = "o vendedor sumiu com o meu dinheiro"
"""Words of an answer, which only a trace has."""
SETTING = "o valor de um parâmetro"
INTERNAL_ERROR = 1
"""MLflow's number of it."""


POLICY, OTHER, EVALUATION = artifact("policy", "3"), artifact("policy", "5"), artifact("evaluation", "4")
GONE = (POLICY.sha256, EVALUATION.sha256)


class Store:
    """A store with a policy, its evaluation with an answer's text and a judge's, and another policy."""

    def __init__(self, folder: Path, runs: Sequence[str]) -> None:
        self.uri, self.files = f"sqlite:///{folder / 'mlflow.db'}", folder / "artifacts"
        self.database, (self.of_policy, self.of_other, *self.others) = folder / "mlflow.db", runs
        self.client: Any = open_client(self.uri)

    def remove(self, client: Any = None) -> list[str]:
        """Remove the policy and its evaluation, by the store's client or another."""
        removal = Removal(self.uri, self.files, EXPERIMENT)
        removal._client = client or removal._client
        versions = removal.versions(GONE)
        removal.models(GONE)
        removal.runs([self.of_policy], GONE, [self.of_other])
        removal.give_up_space()
        return sorted(versions)

    def require_gone(self) -> None:
        """Check that nothing of it is left, and the other policy is whole."""
        with closing(sqlite3.connect(self.database)) as database:
            runs = {run for (run,) in database.execute("SELECT run_uuid FROM runs")}
            models = {sha256 for (sha256,) in database.execute("SELECT tag_value FROM logged_model_tags")}
            assert list(database.execute("SELECT * FROM trace_info")) == []
        assert runs.isdisjoint({self.of_policy, *self.others})
        assert self.of_other in runs
        assert models == {OTHER.sha256}
        kept = [path for path in self.database.parent.rglob("*") if path.is_file()]
        for text in (SAID, SETTING):
            assert not [path for path in kept if text.encode() in path.read_bytes()]
        records = [path.read_text(encoding="utf-8") for path in self.files.rglob("record.json")]
        assert records
        assert not [text for text in records if POLICY.sha256 in text or EVALUATION.sha256 in text]
        left = {f"{version.name}/{version.version}" for version in self.client.search_model_versions()}
        assert left == {"loja/2"}
        assert self.client.get_registered_model("loja").aliases == {}


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory, mlflow_tables: None) -> tuple[Path, list[str]]:
    """The folder of a store, and its runs: of the policy, of the other, and those that go with the policy."""
    folder = tmp_path_factory.mktemp("mlflow")
    uri, files = f"sqlite:///{folder / 'mlflow.db'}", folder / "artifacts"
    recorder, registry = Recorder(uri, files, EXPERIMENT), Registry(uri)
    with recorder.pipeline("p", {}) as pipeline:
        with recorder.stage(pipeline, "train", {}, {}) as first:
            first.log_output(POLICY)
        with recorder.stage(pipeline, "train", {}, {}) as other:
            other.log_output(OTHER)
        for policy, run, name in ((POLICY, first, "loja"), (OTHER, other, "loja"), (POLICY, first, "outra-loja")):
            register(registry, name, policy, run.run_id)
        with recorder.stage(pipeline, "evaluate", {"policy": POLICY}, {}) as evaluate:
            evaluate.log_output(EVALUATION)
            write_trace(uri, evaluate.run_id, SAID)
        with recorder.stage(evaluate.run_id, "judge", {}, {}) as judge:
            write_trace(uri, judge.run_id, SAID)
        with pytest.raises(InputError), recorder.stage(pipeline, "evaluate", {"policy": POLICY}, {}) as failed:
            write_trace(uri, failed.run_id, SAID)
            raise InputError("the disk is full")
        with recorder.stage(pipeline, "train", {}, {}) as again:
            again.log_output(POLICY)
    client: Any = open_client(uri)
    client.log_param(first.run_id, "setting", SETTING)
    registry.promote("loja", "champion", "previous", "1", promotion="9" * 64)
    experiment = client.get_experiment_by_name(EXPERIMENT).experiment_id
    trace = client.search_traces(locations=[experiment])[0].info.trace_id
    (files / "traces" / trace).mkdir(parents=True)
    (files / "traces" / trace / "spans.json").write_text(SAID, encoding="utf-8")
    runs = [run.run_id for run in (first, other, evaluate, judge, failed, again)]
    return folder, runs


def register(registry: Registry, name: str, policy: ArtifactRecord, run_id: str) -> None:
    register_policy(registry, run_id, name, policy, EVALUATION, metrics={"mean_tuned": 0.75})


Copy = Callable[[str], Store]


@pytest.fixture
def copy(filled: tuple[Path, list[str]], tmp_path: Path) -> Copy:
    """Make a copy of the store, by a name."""
    folder, runs = filled
    return lambda name: Store(Path(shutil.copytree(folder, tmp_path / name)), runs)


@pytest.mark.parametrize("marked", [False, True])
def test_removed_records_are_on_the_disk_under_no_name(copy: Copy, marked: bool) -> None:
    store = copy("store")
    assert SAID.encode() in store.database.read_bytes()
    if marked:
        # As somebody deletes them on MLflow's page, which only marks them.
        experiment = store.client.get_run(store.of_policy).info.experiment_id
        store.client.delete_run(store.of_policy)
        tag = f"tags.artifact_sha256 = '{POLICY.sha256}'"
        (model,) = store.client.search_logged_models([experiment], filter_string=tag)
        store.client.delete_logged_model(model.model_id)
    assert store.remove() == ["loja/1", "outra-loja/1"]
    store.require_gone()
    assert store.remove() == []
    store.require_gone()


def test_traces_of_an_experiment_that_was_marked_as_deleted_go_too(copy: Copy) -> None:
    store = copy("store")
    store.client.delete_experiment(store.client.get_experiment_by_name(EXPERIMENT).experiment_id)
    removal = Removal(store.uri, store.files, EXPERIMENT)
    assert removal.traces(lambda text: SAID in text) == 3
    removal.give_up_space()
    assert SAID.encode() not in store.database.read_bytes()


class KilledError(BaseException):
    """The process ends here."""


class FailingClient:
    """A client whose n-th deletion fails, once that has its effect."""

    def __init__(self, client: Any, deletion: int, error: BaseException) -> None:
        self._client, self._left, self._error = client, deletion, error

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if not name.startswith("delete_"):
            return method

        def call(*arguments: Any, **options: Any) -> Any:
            self._left -= 1
            result = method(*arguments, **options)
            if self._left == 0:
                raise self._error
            return result

        return call


@pytest.mark.parametrize("deletion", [1, 4, 9])
def test_a_removal_killed_at_a_deletion_is_whole_after_the_next(copy: Copy, deletion: int) -> None:
    # Two versions, an alias, a model, five runs, and the traces of three.
    store = copy("store")
    with pytest.raises(KilledError):
        store.remove(FailingClient(store.client, deletion, KilledError()))
    store.remove()
    store.require_gone()


def test_a_refused_deletion_is_one_sentence_without_the_servers_words_and_can_be_repeated(copy: Copy) -> None:
    from mlflow.exceptions import MlflowException

    store = copy("store")
    refusal = MlflowException(f"cannot delete {SAID}", INTERNAL_ERROR)
    with pytest.raises(InputError, match=r"did not do as asked \(INTERNAL_ERROR\).*resumes") as refused:
        store.remove(FailingClient(store.client, 1, refusal))
    assert SAID not in str(refused.value)
    store.remove()
    store.require_gone()
