"""Training as the browser of completions shows it, from the policy that it made."""

from pathlib import Path

from flows.stages.runner import StageResult
from schemas.config.train import TrainConfig
from tasks.evaluate.completions.rows import LoggedTraining, RaisedAlarm
from tasks.train.grpo.rollout_log import ROLLOUTS_FOLDER
from tasks.train.summaries import SUMMARY_FILE, TASKS_FOLDER, read_summary
from tasks.train.watch.alarms import past_alarms


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
        tuple(log for folder in alone or [policy.path] for log in _logs(folder)),
        {entry["step"]: entry["by_task"] for entry in read_summary(policy.path)["validation"]},
        tuple(sorted(alarms, key=lambda alarm: alarm.step)),
    )


def _logs(folder: Path) -> list[Path]:
    return sorted((folder / ROLLOUTS_FOLDER).glob("*.parquet"))
