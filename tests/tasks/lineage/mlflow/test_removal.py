"""Removal from MLflow: nothing is on the disk after it, a kill at any call is made good, a refusal is a sentence."""

from typing import Any

import pytest

from schemas.errors import InputError
from tasks.lineage.mlflow.removal import Removal
from tests.tasks.lineage.mlflow.records import EXPERIMENT, POLICY, SAID, Store

pytestmark = pytest.mark.integration
INTERNAL_ERROR = 1
"""MLflow's number of it."""


@pytest.mark.parametrize("marked", [False, True])
def test_removed_records_are_on_the_disk_under_no_name(store: Store, marked: bool) -> None:
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


def test_traces_of_an_experiment_that_was_marked_as_deleted_go_too(store: Store) -> None:
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
def test_a_removal_killed_at_a_deletion_is_whole_after_the_next(store: Store, deletion: int) -> None:
    # Two versions, an alias, a model, five runs, and the traces of three.
    with pytest.raises(KilledError):
        store.remove(FailingClient(store.client, deletion, KilledError()))
    store.remove()
    store.require_gone()


def test_a_refused_deletion_is_one_sentence_without_the_servers_words(store: Store) -> None:
    from mlflow.exceptions import MlflowException

    refusal = MlflowException(f"cannot delete {SAID}", INTERNAL_ERROR)
    with pytest.raises(InputError, match=r"did not do as asked \(INTERNAL_ERROR\).*resumes") as refused:
        store.remove(FailingClient(store.client, 1, refusal))
    assert SAID not in str(refused.value)
