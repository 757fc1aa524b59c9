"""Reader of a model registry in a SQLite file: MLflow's own client takes seconds to import."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final, Protocol

from schemas.errors import InputError
from tasks.lineage.mlflow.client import SQLITE_PREFIX
from tasks.lineage.mlflow.registry import PolicyVersion, as_policy_version, chosen_version, is_of, is_ours

_ALIAS: Final = "SELECT version FROM registered_model_aliases WHERE name = ? AND alias = ?"
_VERSIONS: Final = (
    "SELECT version FROM model_versions WHERE name = ? AND current_stage != 'Deleted_Internal' ORDER BY version DESC"
)
_TAGS: Final = "SELECT version, key, value FROM model_version_tags WHERE name = ?"


class RegistryReader(Protocol):
    """What is read of a registry."""

    def holder(self, name: str, alias: str) -> PolicyVersion | None:
        """Return the version of an alias; None if the model or the alias does not exist yet."""

    def version(self, name: str, number: str | None) -> PolicyVersion:
        """Return a version by its number, or the newest for None."""

    def versions(self, name: str) -> list[PolicyVersion]:
        """Return all versions that this pipeline registered, the newest first; empty for an unknown model."""

    def knows(self, name: str, version: str, policy: str, evaluation: str) -> bool:
        """Return whether a version is registered for this policy and evaluation (their sha256)."""


class LocalRegistry:
    """Registry in MLflow's SQLite file, read-only; a file that is not there yet has no versions."""

    def __init__(self, tracking_uri: str) -> None:
        """Read `sqlite:///FILE`."""
        self._uri = tracking_uri
        self._file = Path(tracking_uri.removeprefix(SQLITE_PREFIX))

    def holder(self, name: str, alias: str) -> PolicyVersion | None:
        """Return the version of an alias; None if the model or the alias does not exist yet.

        Raises:
            InputError: The version was not registered by this pipeline, or the file cannot be read.
        """
        rows = self._rows(_ALIAS, name, alias)
        listed = {each.version: each for each in self._listed(name)}
        return as_policy_version(listed[str(rows[0][0])]) if rows else None

    def version(self, name: str, number: str | None) -> PolicyVersion:
        """Return a version by its number, or the newest for None.

        Raises:
            InputError: There is no such version, or none at all, or it was not registered by this pipeline.
        """
        return chosen_version(self._listed(name), name, number, self._uri)

    def versions(self, name: str) -> list[PolicyVersion]:
        """Return all versions that this pipeline registered, the newest first; empty for an unknown model."""
        return [as_policy_version(known) for known in self._listed(name) if is_ours(known)]

    def knows(self, name: str, version: str, policy: str, evaluation: str) -> bool:
        """Return whether a version is registered for this policy and evaluation (their sha256)."""
        return any(is_of(known, version, policy, evaluation) for known in self._listed(name))

    def _listed(self, name: str) -> list[Any]:
        """Return all versions as MLflow's client would, the newest first."""
        tags: dict[str, dict[str, str]] = {}
        for version, key, value in self._rows(_TAGS, name):
            tags.setdefault(str(version), {})[key] = value
        numbers = [str(version) for (version,) in self._rows(_VERSIONS, name)]
        return [SimpleNamespace(name=name, version=number, tags=tags.get(number, {})) for number in numbers]

    def _rows(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        if not self._file.is_file():
            return []
        with self._readable(), closing(sqlite3.connect(f"{self._file.as_uri()}?mode=ro", uri=True)) as database:
            return database.execute(query, values).fetchall()

    @contextmanager
    def _readable(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise InputError(
                f"MLflow's store {self._file} cannot be read ({error}); free its permissions, or move the file away to "
                "start a new one"
            ) from None
