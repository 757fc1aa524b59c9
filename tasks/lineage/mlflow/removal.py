"""Removal from MLflow: versions, logged models, runs with copies of reports, and completions that people score."""

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

from tasks.lineage.mlflow.client import ARTIFACT_TAG, open_client

TRACES_A_PAGE: Final = 100
"""The most that MLflow removes at once."""


class Removal:
    """Removes what artifacts left in MLflow; what is gone stays gone."""

    def __init__(self, tracking_uri: str, artifact_root: Path | None, experiment: str) -> None:
        """Open MLflow's store.

        Args:
            tracking_uri: As of `open_client`.
            artifact_root: Folder of the runs' files; None if a server has its own, which only that server can empty.
            experiment: Name of the experiment of pipeline runs.

        Raises:
            InputError: The store cannot be opened.
        """
        self._client = open_client(tracking_uri)
        self._root = artifact_root
        self._experiment = experiment

    def versions(self, name: str, numbers: Iterable[str]) -> None:
        """Remove registered versions of a model, with the aliases that name them."""
        wanted = set(numbers)
        for version in self._client.search_model_versions(f"name = '{name}'"):
            if str(version.version) not in wanted:
                continue
            aliases = self._client.get_registered_model(name).aliases
            for alias in [alias for alias, number in aliases.items() if str(number) == str(version.version)]:
                self._client.delete_registered_model_alias(name, alias)
            self._client.delete_model_version(name, version.version)

    def models(self, sha256s: Iterable[str]) -> None:
        """Remove the logged models of artifacts."""
        experiment = self._client.get_experiment_by_name(self._experiment)
        if experiment is None:
            return
        for sha256 in sha256s:
            found: list[Any] = self._client.search_logged_models(
                [experiment.experiment_id], filter_string=f"tags.{ARTIFACT_TAG} = '{sha256}'"
            )
            for model in found:
                self._client.delete_logged_model(model.model_id)
                self._remove_files("models", model.model_id)

    def runs(self, run_ids: Iterable[str]) -> None:
        """Remove runs with their files."""
        from mlflow.exceptions import MlflowException

        for run_id in run_ids:
            try:
                self._client.delete_run(run_id)
            except MlflowException as error:
                # It was removed before a kill.
                if error.error_code not in {"RESOURCE_DOES_NOT_EXIST", "INVALID_PARAMETER_VALUE", "INVALID_STATE"}:
                    raise
            self._remove_files(run_id)

    def traces(self, theirs: Callable[[str], bool]) -> int:
        """Remove the traces, of any experiment, whose JSON is somebody's; return their number.

        Args:
            theirs: Whether the JSON of a trace is.
        """
        removed = 0
        for experiment in self._client.search_experiments():
            gone: list[str] = []
            token: str | None = None
            while True:
                page = self._client.search_traces(
                    locations=[experiment.experiment_id], max_results=TRACES_A_PAGE, page_token=token
                )
                gone += [trace.info.trace_id for trace in page if theirs(trace.to_json())]
                token = page.token
                if not token:
                    break
            for start in range(0, len(gone), TRACES_A_PAGE):
                removed += self._client.delete_traces(
                    experiment.experiment_id, trace_ids=gone[start : start + TRACES_A_PAGE]
                )
        return removed

    def _remove_files(self, *names: str) -> None:
        if self._root is not None:
            shutil.rmtree(self._root.joinpath(*names), ignore_errors=True)
