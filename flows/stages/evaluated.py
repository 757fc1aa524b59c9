"""Material of an evaluation besides answers: the champion and trainings."""

from contextlib import suppress
from dataclasses import dataclass

from flows.stages.runner import Session, StageResult
from schemas.artifact import ArtifactRecord
from schemas.config.train import TrainConfig
from schemas.errors import InputError
from tasks.evaluate.completions.rows import LoggedTraining, RaisedAlarm
from tasks.lineage.store.artifacts import ArtifactDamaged
from tasks.train.grpo.rollout_log import ROLLOUTS_FOLDER
from tasks.train.summaries import SUMMARY_FILE, TASKS_FOLDER, read_summary
from tasks.train.watch.alarms import past_alarms


@dataclass(frozen=True)
class Champion:
    """A promoted policy and the base that it was trained on."""

    policy: ArtifactRecord
    base: ArtifactRecord


def champion_for(session: Session, challenger: ArtifactRecord) -> Champion | None:
    """Return the registry's champion; None where there is none.

    A challenger that became the champion is compared with its predecessor, if that still exists: a repeated command
    then gives the same result.

    Raises:
        InputError: The champion's artifacts are gone, so that nothing can be compared with it.
    """
    store, registry = session.store, session.registry
    names = session.config.promote
    holder = registry.holder(names.model_name, names.alias)
    if holder is None:
        return None

    def load(sha256: str) -> Champion:
        store.verify(sha256)
        policy = store.record(sha256)
        return Champion(policy, store.record(policy.inputs["base"]))

    if holder.policy == challenger.sha256:
        known = {version.policy for version in registry.versions(names.model_name)}
        with suppress(ArtifactDamaged):
            before = store.record(holder.evaluation).inputs.get("champion")
            return load(before) if before is not None and before in known else None
        return None
    try:
        return load(holder.policy)
    except ArtifactDamaged as error:
        raise InputError(
            f"the champion, version {holder.version}, cannot be compared with: {error}; bring its artifact back, or "
            "leave it out with --set evaluate.against_champion=false"
        ) from error


def logged_training(seed: int, policy: StageResult) -> LoggedTraining:
    """Return a training's rollouts, validations and alarms; trainings of one task each count as one.

    Args:
        seed: The training's seed.
        policy: What it made.
    """
    # Limits decide no policy, so the run's own may have changed since.
    recipe = TrainConfig.model_validate(policy.record.config.get("train", {}))
    alone = [file.parent for file in sorted((policy.path / TASKS_FOLDER).glob(f"*/{SUMMARY_FILE}"))]
    alarms = [
        RaisedAlarm(alarm.step, alarm.name, alarm.text)
        for folder in alone or [policy.path]
        for alarm in past_alarms(read_summary(folder), recipe.alarms, recipe.iterations)
    ]
    return LoggedTraining(
        seed,
        tuple(log for folder in alone or [policy.path] for log in sorted((folder / ROLLOUTS_FOLDER).glob("*.parquet"))),
        {entry["step"]: entry["by_task"] for entry in read_summary(policy.path)["validation"]},
        tuple(sorted(alarms, key=lambda alarm: alarm.step)),
    )
