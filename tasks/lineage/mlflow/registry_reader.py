"""Reader of a model registry in a SQLite file: MLflow's own client takes seconds to import."""

from types import SimpleNamespace
from typing import Any, Final, Protocol

from tasks.lineage.mlflow.client import local_rows
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

    def holder(self, name: str, alias: str) -> PolicyVersion | None:
        """Return the version of an alias; None if the model or the alias does not exist yet.

        Raises:
            InputError: The version was not registered by this pipeline, or the file cannot be read.
            InUse: Another process holds the file, of which every method here says the same.
        """
        rows = local_rows(self._uri, _ALIAS, name, alias)
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
        for version, key, value in local_rows(self._uri, _TAGS, name):
            tags.setdefault(str(version), {})[key] = value
        numbers = [str(version) for (version,) in local_rows(self._uri, _VERSIONS, name)]
        return [SimpleNamespace(name=name, version=number, tags=tags.get(number, {})) for number in numbers]
