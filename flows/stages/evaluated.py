"""Material of an evaluation besides answers: the champion, trainings, and a sample for MLflow."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from flows.stages.runner import Session, StageResult
from schemas.artifact import ArtifactRecord
from schemas.config.train import TrainConfig
from schemas.errors import InputError
from tasks.evaluate.compare import BASE, TUNED
from tasks.evaluate.completions.rows import SHARES, LoggedTraining, RaisedAlarm
from tasks.lineage.mlflow.traces import TracedAnswer
from tasks.lineage.store.artifacts import ArtifactDamaged
from tasks.train.grpo.rollout_log import ROLLOUTS_FOLDER
from tasks.train.summaries import SUMMARY_FILE, TASKS_FOLDER, read_summary
from tasks.train.watch.alarms import past_alarms

MOST_A_TASK: Final = 5
"""Prompts of each task whose answers are traced: those with the first ids, which are digests, so a random sample."""


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
    # Limits decide no policy, so the run's own may have changed since; other fields may be those of an earlier version.
    recorded = policy.record.config.get("train", {})
    recipe = TrainConfig.model_validate({name: recorded[name] for name in ("alarms", "iterations") if name in recorded})
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


def traced_answers(rows: Mapping[str, Any]) -> Iterator[TracedAnswer]:
    """Yield base and tuned's first answers to the sampled prompts, prompt by prompt.

    Args:
        rows: The document of the page of completions.
    """
    prompts, answers, texts = rows["prompts"], rows["answers"], rows["texts"]["text"]
    first: dict[tuple[int, str], int] = {}
    for row, (prompt, model) in enumerate(zip(answers["prompt"], answers["model"], strict=True)):
        first.setdefault((prompt, rows["models"][model]), row)
    of_task: Counter[int] = Counter()
    for prompt in sorted(set(answers["prompt"]), key=lambda place: str(prompts["id"][place])):
        number = prompts["task"][prompt]
        of_task[number] += 1
        if of_task[number] > MOST_A_TASK:
            continue
        task, reference = rows["tasks"][number], prompts["reference"][prompt]
        for model in (BASE, TUNED):
            row = first[prompt, model]
            parts = zip(rows["components"][task], answers["parts"][row], strict=True)
            truth = answers["truth"][row]
            scores = {"reward": answers["reward"][row]}
            scores |= {f"reward.{name}": part for name, part in parts if part is not None}
            scores |= {} if truth is None else {"ground truth": truth}
            yield TracedAnswer(
                model,
                task,
                prompts["id"][prompt],
                texts[prompts["text"][prompt]],
                texts[answers["text"][row]],
                None if reference is None else texts[reference],
                {name: score / SHARES for name, score in scores.items()},
            )
