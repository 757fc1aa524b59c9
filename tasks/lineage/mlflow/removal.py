"""Removal from MLflow for good: versions, logged models, runs with copies of reports, and traces with answers' texts.

MLflow itself only marks a run or a logged model as deleted. In a database of one's own its rows are deleted, and their
space is given up; on a server only its operator can do so, with `mlflow gc`. Files go before the rows that name them,
and traces before their run, so that a removal that was killed finds the rest when it is repeated.
"""

import shutil
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from schemas.errors import InputError
from tasks.lineage.mlflow.client import ARTIFACT_TAG, in_one_sentence, local_store, open_client
from tasks.lineage.mlflow.recorder import DIGEST_CHARACTERS
from tasks.lineage.mlflow.registry import POLICY_TAG

TRACES_A_PAGE: Final = 100
"""The most that MLflow removes at once."""
PARENT_TAG: Final = "mlflow.parentRunId"
_GONE: Final = frozenset({"RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE", "INVALID_STATE"})
"""MLflow's errors for a run that was removed before a kill."""


class Removal:
    """Removes what artifacts left in MLflow; what is gone stays gone.

    Every method raises an InputError of one sentence where MLflow refuses or no longer answers.
    """

    def __init__(self, tracking_uri: str, artifact_root: Path | None, experiment: str) -> None:
        """Open MLflow's store; without a folder of the runs' files, only its server can empty those."""
        self._uri = tracking_uri
        self._client = open_client(tracking_uri)
        self._root = artifact_root
        # What deletes rows, as `mlflow gc` does; a server has none.
        self._rows: Any = None if artifact_root is None else self._client._tracking_client.store  # noqa: SLF001
        with in_one_sentence(tracking_uri):
            found = self._client.get_experiment_by_name(experiment)
        self._experiments = [] if found is None else [str(found.experiment_id)]

    def versions(self, policies: Iterable[str]) -> list[str]:
        """Remove the registered versions of policies (their sha256) with their aliases; return them as NAME/NUMBER."""
        removed: list[str] = []
        with in_one_sentence(self._uri):
            for policy in policies:
                for version in self._client.search_model_versions(f"tags.{POLICY_TAG} = '{policy}'"):
                    aliases = self._client.get_registered_model(version.name).aliases
                    for alias in [each for each, number in aliases.items() if str(number) == str(version.version)]:
                        self._client.delete_registered_model_alias(version.name, alias)
                    self._client.delete_model_version(version.name, version.version)
                    removed.append(f"{version.name}/{version.version}")
        return removed

    def models(self, sha256s: Collection[str]) -> None:
        """Remove the logged models of artifacts."""
        with in_one_sentence(self._uri):
            for sha256 in sha256s if self._experiments else ():
                wanted = f"tags.{ARTIFACT_TAG} = '{sha256}'"
                for model in self._client.search_logged_models(self._experiments, filter_string=wanted):
                    self._remove_files("models", model.model_id)
                    self._client.delete_logged_model(model.model_id)
            # Also what was only marked as deleted before a kill.
            rows = self._rows
            for model_id in rows._get_deleted_logged_models() if rows is not None else ():  # noqa: SLF001
                if rows.get_logged_model(model_id, allow_deleted=True).tags.get(ARTIFACT_TAG) in sha256s:
                    self._remove_files("models", model_id)
                    rows._hard_delete_logged_model(model_id)  # noqa: SLF001

    def runs(self, run_ids: Iterable[str], sha256s: Iterable[str], kept: Collection[str]) -> None:
        """Remove the runs that made artifacts, with their traces and files.

        Other runs may hold the same too, and go but for those that are kept: one that made an artifact again, one that
        failed after it had read it, and one below such a run.
        """
        with in_one_sentence(self._uri):
            named = [run for sha256 in sha256s for run in self._runs_on(sha256)]
            # The one above comes last, since it finds the others.
            for parent in [run for run in dict.fromkeys((*run_ids, *named)) if run not in kept]:
                below = self._search(f"tags.`{PARENT_TAG}` = '{parent}'")
                for run_id in (*(run.info.run_id for run in below if run.info.run_id not in kept), parent):
                    self._remove_run(run_id)

    def traces(self, theirs: Callable[[str], bool]) -> int:
        """Remove the traces, of any experiment, whose JSON is somebody's; return their number."""
        from mlflow.entities import ViewType

        with in_one_sentence(self._uri):
            # One that was deleted is only marked so.
            return sum(
                self._remove_traces(experiment.experiment_id, theirs, None)
                for experiment in self._client.search_experiments(ViewType.ALL)
            )

    def give_up_space(self) -> None:
        """Rewrite a database of one's own, whose free pages keep what its deleted rows said."""
        if self._rows is None:
            return
        with local_store(self._uri).opened(write=True) as database:
            database.execute("VACUUM")
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _runs_on(self, sha256: str) -> list[str]:
        made = self._search(f"tags.{ARTIFACT_TAG} = '{sha256}'")
        read = self._search(f"dataset.digest = '{sha256[:DIGEST_CHARACTERS]}'")
        failed = [run for run in read if ARTIFACT_TAG not in run.data.tags]
        return [str(run.info.run_id) for run in (*made, *failed)]

    def _search(self, filter_string: str) -> list[Any]:
        """Return the runs, those that are only marked as deleted too."""
        from mlflow.entities import ViewType

        search, every = self._client.search_runs, ViewType.ALL
        found = _pages(lambda token: search(self._experiments, filter_string, every, page_token=token))
        return list(found) if self._experiments else []

    def _remove_run(self, run_id: str) -> None:
        with _gone_already():
            for experiment in self._experiments:
                self._remove_traces(experiment, lambda _: True, run_id)
        self._remove_files(run_id)
        with _gone_already():
            self._client.delete_run(run_id)
        if self._rows is not None:
            with _gone_already():
                self._rows._hard_delete_run(run_id)  # noqa: SLF001

    def _remove_traces(self, experiment: str, theirs: Callable[[str], bool], run_id: str | None) -> int:
        """Remove the traces of an experiment, or of one run in it, whose JSON is somebody's; return their number."""
        found = _pages(
            lambda token: self._client.search_traces(
                locations=[experiment],
                max_results=TRACES_A_PAGE,
                page_token=token,
                run_id=run_id,
                include_spans=run_id is None,
            )
        )
        gone = [trace.info.trace_id for trace in found if theirs(trace.to_json())]
        for trace_id in gone:
            self._remove_files("traces", trace_id)
        return sum(
            self._client.delete_traces(experiment, trace_ids=gone[start : start + TRACES_A_PAGE])
            for start in range(0, len(gone), TRACES_A_PAGE)
        )

    def _remove_files(self, *names: str) -> None:
        folder = self._root.joinpath(*names) if self._root else None
        try:
            if folder is not None and folder.exists():
                shutil.rmtree(folder)
        except OSError as error:
            raise InputError(
                f"MLflow's files in {folder} cannot be removed ({error.strerror}); correct its permissions"
            ) from None


def _pages(ask: Callable[[str | None], Any]) -> Iterator[Any]:
    """Yield what all pages of a search list."""
    page = ask(None)
    yield from page
    while page.token:
        page = ask(page.token)
        yield from page


@contextmanager
def _gone_already() -> Iterator[None]:
    """Pass over what was removed before a kill."""
    from mlflow.exceptions import MlflowException

    try:
        yield
    except MlflowException as error:
        if error.error_code not in _GONE:
            raise
