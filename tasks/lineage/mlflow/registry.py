"""Model registry: a version for each evaluation of a policy, and the aliases that name the serving one.

A version is registered whatever the gate's verdict. A policy becomes the champion automatically once, on the gate's
verdict; after that only people change it: by a manual promotion, with a reason if the gate refused, or by a rollback.
Evaluated again it gets another version, but is the same policy: events of one version count for all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any, Final

from schemas.artifact import ArtifactRecord
from schemas.errors import InputError
from tasks.lineage.mlflow.client import SQLITE_PREFIX, local_rows, milliseconds_now, open_client
from tasks.lineage.mlflow.recorder import log_model, origin_tags

LONGEST_DESCRIPTION: Final = 5_000
"""Characters that MLflow's databases keep of a version's description."""
CUT_OFF: Final = "\n\nThe whole card is README.md of the promotion's artifact."
WHAT_IT_IS: Final = (
    "A small Portuguese model for Brazilian shops. A version is an evaluated policy; its description is its **model "
    "card**, and its tag `verdict` the gate's word. The alias names the version that serves. Ask it with `tucano ask "
    "TASK`, serve it with `tucano serve`, or load `models:/NAME@ALIAS` with MLflow."
)
"""Description of the registered model."""
LONGEST_REASON: Final = 300
"""Maximum characters of a reason."""
POLICY_TAG: Final = "policy_sha256"
"""Tag of a version: its policy."""
_EVALUATION: Final = "evaluation_sha256"
_BASELINE: Final = "baseline_"
_PROMOTED_AT: Final = "promoted_at"
_ROLLED_BACK_AT: Final = "rolled_back_at"
_LOGGED_MODEL: Final = "models:/"
_COMMIT: Final = "mlflow.source.git.commit"
_ALIAS_ROWS: Final = "SELECT alias, version FROM registered_model_aliases WHERE name = ?"
_VERSION_ROWS: Final = (
    "SELECT version FROM model_versions WHERE name = ? AND current_stage != 'Deleted_Internal' ORDER BY version DESC"
)
_TAG_ROWS: Final = "SELECT version, key, value FROM model_version_tags WHERE name = ?"
CHAT: Final = "llm/v1/chat"
LIBRARIES: Final = ("mlflow", "torch", "transformers")
"""What loads and answers; each is pinned to the version that made the weights."""

Tags = Mapping[str, str]


@dataclass(frozen=True)
class PolicyVersion:
    """Version of the registered model."""

    version: str
    policy: str
    evaluation: str
    verdict: str
    base_model: str | None
    load_in_4bit: bool
    forced: str | None
    promoted_at: str | None
    """When it last became the champion, by a promotion or a rollback to it, in ISO 8601; None: never."""
    rolled_back_at: str | None
    """When a person rolled it back, in ISO 8601; None if that has not happened since."""
    baselines: Mapping[str, str] = field(default_factory=dict)
    """By task that a bag of words answers in its place, the sha256 of the evaluation that has it."""


@dataclass(frozen=True)
class Rollback:
    """Result of a rollback."""

    left: PolicyVersion
    back: PolicyVersion


def checked_reason(text: str) -> str:
    """Return a person's reason as it is recorded."""
    reason = text.strip()
    if not reason:
        raise InputError("the reason of --force is empty; say in one line why the gate's word does not count here")
    if not reason.isprintable():
        raise InputError(f"the reason {reason[:40]!r} is not one line of plain text; write it in one line")
    if len(reason) > LONGEST_REASON:
        raise InputError(f"the reason has {len(reason)} characters, and at most {LONGEST_REASON} are kept; shorten it")
    return reason


class Registry:
    """MLflow's registry: named models, each with versions and aliases.

    A SQLite file is read without MLflow, whose import takes seconds; one that is not made yet has no versions. Every
    method raises an InputError where the store cannot be used or holds a version that this pipeline did not register,
    and InUse where another process holds the file.
    """

    def __init__(self, tracking_uri: str) -> None:
        """Use `sqlite:///FILE`, or the address of an MLflow server."""
        self._uri = tracking_uri

    @cached_property
    def _client(self) -> Any:
        return open_client(self._uri)

    def holder(self, name: str, alias: str) -> PolicyVersion | None:
        """Return the version of an alias; None if the model or the alias does not exist yet."""
        number = self.aliases(name).get(alias)
        return None if number is None else _as_policy_version(name, number, self._listed(name)[number])

    def version(self, name: str, number: str | None) -> PolicyVersion:
        """Return a version by its number, or the newest for None."""
        listed = self._listed(name)
        if not listed:
            raise InputError(
                f"no version of {name} is registered in {self._uri}; register one with `tucano retrain`, or name "
                "another model with --set promote.model_name=NAME"
            )
        chosen = next(iter(listed)) if number is None else number
        if chosen not in listed:
            raise InputError(f"{name} has no version {number}; it has {', '.join(listed)}: give one of these numbers")
        return _as_policy_version(name, chosen, listed[chosen])

    def versions(self, name: str) -> list[PolicyVersion]:
        """Return all versions that this pipeline registered, the newest first; empty for an unknown model."""
        listed = self._listed(name).items()
        return [_as_policy_version(name, number, tags) for number, tags in listed if POLICY_TAG in tags]

    def register(
        self,
        run_id: str,
        name: str,
        *,
        policy: ArtifactRecord,
        evaluation: ArtifactRecord,
        verdict: str,
        metrics: Mapping[str, float],
        base_model: str | None,
        load_in_4bit: bool,
    ) -> PolicyVersion:
        """Register a policy as a version, or return the earlier version of the same evaluation."""
        import mlflow
        from mlflow.entities import Metric
        from mlflow.exceptions import MlflowException

        try:
            self._client.create_registered_model(name, description=WHAT_IT_IS)
        except MlflowException as error:
            if error.error_code != "RESOURCE_ALREADY_EXISTS":
                raise
        for each in self.versions(name):
            if (each.policy, each.evaluation) == (policy.sha256, evaluation.sha256):
                return each
        tags = {POLICY_TAG: policy.sha256, _EVALUATION: evaluation.sha256, "verdict": verdict}
        tags |= {"load_in_4bit": str(load_in_4bit)} | ({} if base_model is None else {"base_model": base_model})
        model_id, now = log_model(self._client, run_id, policy), milliseconds_now()
        scores = [Metric(key, value, now, 0, model_id=model_id) for key, value in metrics.items()]
        self._client.log_batch(run_id, metrics=scores)
        # If the source is a logged model, MLflow looks for it in the store that the process is set to.
        mlflow.set_tracking_uri(self._uri)
        made = self._client.create_model_version(
            name, source=f"{_LOGGED_MODEL}{model_id}", run_id=run_id, tags=tags, model_id=model_id
        )
        return _as_policy_version(name, str(made.version), tags)

    def describe(self, name: str, number: str, card: str) -> None:
        """Describe a version by its model card, and note the commit of the code; said again, nothing changes."""
        text = card.partition("\n---\n")[2].strip() or card
        if len(text) > LONGEST_DESCRIPTION:
            beginning, _, _ = text[: LONGEST_DESCRIPTION - len(CUT_OFF)].rpartition("\n\n")
            text = f"{beginning}{CUT_OFF}"
        self._client.update_model_version(name, number, description=text)
        if (commit := origin_tags().get(_COMMIT)) is not None:
            self._tag(name, number, _COMMIT, commit)

    def add_model(self, name: str, number: str, model: Path) -> None:
        """Add to a version what MLflow loads and serves it from; repeated, nothing more changes."""
        source = self._client.get_model_version(name, number).source
        self._client.log_model_artifacts(source.removeprefix(_LOGGED_MODEL), str(model))

    def promote(
        self, name: str, alias: str, previous_alias: str, version: str, *, promotion: str, forced: str | None = None
    ) -> PolicyVersion | None:
        """Move the alias to a version, and keep the policy that held it under another alias.

        If that is the same policy from an earlier evaluation, the other alias stays: a rollback goes to another policy.
        No version of a promoted policy counts as rolled back any more. Repeating it, also after a kill, changes nothing
        more.
        """
        self._tag(name, version, "promotion_sha256", promotion)
        if forced is not None:
            self._tag(name, version, "forced", forced)
        known, before = self.version(name, version), self.holder(name, alias)
        moved = before is None or before.version != version
        if moved:
            if before is not None and before.promoted_at is None:
                # A kill came before the tag below, or the alias was set in MLflow by hand: it was the champion too.
                self._tag(name, before.version, _PROMOTED_AT, _now())
            if before is not None and before.policy != known.policy:
                self._client.set_registered_model_alias(name, previous_alias, before.version)
            self._client.set_registered_model_alias(name, alias, version)
        if moved or known.promoted_at is None:
            self._tag(name, version, _PROMOTED_AT, _now())
        for other in self.versions(name):
            if other.policy == known.policy and other.rolled_back_at is not None:
                self._client.delete_model_version_tag(name, other.version, _ROLLED_BACK_AT)
        for task in known.baselines:
            self._client.delete_model_version_tag(name, version, f"{_BASELINE}{task}")
        return before if moved else None

    def promote_baseline(self, name: str, alias: str, version: str, task: str, evaluation: str) -> PolicyVersion:
        """Let the bag of words of an evaluation answer a task for the champion, which is this version if none is."""
        champion = self.holder(name, alias)
        number = version if champion is None else champion.version
        self._tag(name, number, f"{_BASELINE}{task}", evaluation)
        if champion is None:
            self._client.set_registered_model_alias(name, alias, number)
            self._tag(name, number, _PROMOTED_AT, _now())
        return self.version(name, number)

    def roll_back(self, name: str, alias: str, previous_alias: str) -> Rollback:
        """Move the alias back to the previous version, which then has none before it.

        The version that held it is marked: no rerun and no new evaluation of its policy promotes that again
        automatically. The other is marked as champion from now on: answers until then are not its own.
        """
        left, back = self.holder(name, alias), self.holder(name, previous_alias)
        if left is None:
            raise InputError(f"no version of {name} is `{alias}`, so nothing can be rolled back")
        if back is None or back.policy == left.policy:
            raise InputError(
                f"`{alias}` of {name} is version {left.version}, and no other policy before it is known; promote "
                "another with `tucano promote VERSION`"
            )
        now = _now()
        self._tag(name, left.version, _ROLLED_BACK_AT, now)
        self._tag(name, back.version, _PROMOTED_AT, now)
        self._client.set_registered_model_alias(name, alias, back.version)
        self._client.delete_registered_model_alias(name, previous_alias)
        return Rollback(replace(left, rolled_back_at=now), replace(back, promoted_at=now))

    def _listed(self, name: str) -> dict[str, Tags]:
        """Return the tags of all versions by their numbers, the newest first."""
        if not self._uri.startswith(SQLITE_PREFIX):
            found = self._client.search_model_versions(f"name = '{name}'")
            return {str(each.version): each.tags for each in sorted(found, key=lambda each: -int(each.version))}
        listed: dict[str, dict[str, str]] = {
            str(number): {} for (number,) in local_rows(self._uri, _VERSION_ROWS, name)
        }
        for number, key, value in local_rows(self._uri, _TAG_ROWS, name):
            listed.get(str(number), {})[key] = value
        return dict(listed)

    def aliases(self, name: str) -> dict[str, str]:
        """Return the version of each alias of a model; none of an unknown model."""
        if self._uri.startswith(SQLITE_PREFIX):
            return {alias: str(version) for alias, version in local_rows(self._uri, _ALIAS_ROWS, name)}
        from mlflow.exceptions import MlflowException

        try:
            found = self._client.get_registered_model(name).aliases
        except MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            found = {}
        return {alias: str(version) for alias, version in found.items()}

    def _tag(self, name: str, version: str, tag: str, value: str) -> None:
        self._client.set_model_version_tag(name, version, tag, value)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _as_policy_version(name: str, number: str, tags: Tags) -> PolicyVersion:
    """Return a version of MLflow's as this pipeline registered it."""
    try:
        return PolicyVersion(
            version=number,
            policy=tags[POLICY_TAG],
            evaluation=tags[_EVALUATION],
            verdict=tags["verdict"],
            base_model=tags.get("base_model"),
            load_in_4bit=tags.get("load_in_4bit") == str(True),
            forced=tags.get("forced"),
            promoted_at=tags.get(_PROMOTED_AT),
            rolled_back_at=tags.get(_ROLLED_BACK_AT),
            baselines={key.removeprefix(_BASELINE): tags[key] for key in tags if key.startswith(_BASELINE)},
        )
    except KeyError:
        raise InputError(
            f"version {number} of the registered model {name} was not registered by tucano; give its "
            "alias to one that was, or use another name with --set promote.model_name=NAME"
        ) from None


def save_chat_model(
    weights: Path, output: Path, *, card: str, example: Mapping[str, Any], metadata: Mapping[str, Any]
) -> None:
    """Save a model as MLflow's flavours `transformers` and `python_function`, for its chat interface."""
    import mlflow.transformers
    from huggingface_hub import ModelCard

    mlflow.transformers.save_model(
        str(weights),
        str(output),
        task=CHAT,
        model_card=ModelCard(card),
        # A local label of a build, such as +cpu, is of no package index.
        pip_requirements=[f"{name}=={installed_version(name).partition('+')[0]}" for name in LIBRARIES],
        input_example=dict(example),
        metadata=dict(metadata),
    )
