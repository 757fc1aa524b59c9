"""Training alarms: entropy collapse, reward hacking and the like.

An alarm is raised once, when a condition has lasted long enough, and again only after it cleared in between.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from schemas.config.train_sections import AlarmName, AlarmsSection
from schemas.errors import GateRefused
from tasks.commerce.text.lexicons import read_data

DATA_FILES: Final = ("data/training/alarms.toml",)


class Validation(BaseModel):
    """Result of the validation split after one step."""

    model_config = ConfigDict(frozen=True)

    step: int
    mean_reward: float
    """Mean over the tasks, each counting the same, in [0, 1]; the checkpoint is chosen by it."""
    by_task: dict[str, float]
    """Mean reward of each task, in [0, 1]."""
    ground_truth: dict[str, dict[str, float]]
    """Each task's metrics other than rewards, in [0, 1]; never used to choose."""
    variety: dict[str, float] = Field(default_factory=dict)
    """Variety of each task's answers as a share of its references', in [0, 1]; empty in older checkpoints."""


@dataclass(frozen=True)
class Alarm:
    """A detected problem."""

    name: AlarmName
    step: int
    text: str
    """One sentence without the full stop: the value, the limit and the remedy."""


class Alarms:
    """Alarm rules over metrics and validations. Their state is saved with the checkpoint."""

    def __init__(self, section: AlarmsSection, iterations: int = 1) -> None:
        self._limits = section
        self.iterations = iterations
        self.stopped_by: Alarm | None = None
        """The alarm that stops the training; None if none does."""
        self._streaks: dict[str, int] = {}

    def step(self, step: int, metrics: Mapping[str, Any]) -> list[Alarm]:
        """Return the alarms that begin at a step."""
        limits, patience = self._limits, self._limits.patience
        found = [self._entropy_collapse(step, metrics)]
        shares: dict[AlarmName, tuple[str, float]] = {
            "ceiling": ("completions/clipped_ratio", limits.max_ceiling_share),
            "zero_variance": ("zero_variance", limits.max_zero_variance),
        }
        for name, (metric, limit) in shares.items():
            if (share := metrics.get(metric)) is not None:
                found.append(self._judge(name, step, share >= limit, patience, value=share, limit=limit))
        losses = {name: metrics.get(name) for name in ("loss", "grad_norm")}
        found.append(self._judge("non_finite", step, not is_finite(metrics), 1, **losses))
        return [alarm for alarm in found if alarm is not None]

    def validation(self, first: Validation, latest: Validation) -> list[Alarm]:
        """Return the alarms that begin at a validation."""
        found = [
            rule(task, first, latest) for task in latest.by_task for rule in (self._reward_hacking, self._one_answer)
        ]
        return [alarm for alarm in found if alarm is not None]

    def require_none_stopped(self, newest: int | None) -> None:
        """Raise GateRefused if an alarm stopped the training, so that it does not count as finished."""
        if self.stopped_by is None:
            return
        kept = "no checkpoint was saved" if newest is None else f"its checkpoints are kept, the newest of step {newest}"
        text = f"alarm {self.stopped_by.name} stopped the training, and {kept}: {self.stopped_by.text}"
        if self.stopped_by.name != "non_finite":
            text += f", or to continue as it is take {self.stopped_by.name} out of train.alarms.stop_on"
        raise GateRefused(text)

    def state_dict(self) -> dict[str, Any]:
        """Return the state as JSON-compatible values."""
        return {
            "limits": self._limits.model_dump(mode="json"),
            "streaks": dict(self._streaks),
            "stopped_by": None if self.stopped_by is None else asdict(self.stopped_by),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore `state`; if the limits have changed, restart all streaks."""
        before, now = state["limits"], self._limits.model_dump(mode="json")
        judged_alike = {**before, "stop_on": ()} == {**now, "stop_on": ()}
        self._streaks = dict(state["streaks"]) if judged_alike else {}
        # After any change the training continues; a condition that persists stops it again.
        stopped_by = state["stopped_by"] if before == now else None
        self.stopped_by = None if stopped_by is None else Alarm(**stopped_by)

    def _entropy_collapse(self, step: int, metrics: Mapping[str, Any]) -> Alarm | None:
        """Detect low entropy in a policy that no longer moves.

        With one optimizer step on the same completions, the probability ratio is 1 and the clip ratio 0 whatever the
        policy does, so entropy alone decides. With several, the first step of each batch is like that too, so a streak
        must be long enough to include another.
        """
        entropy = metrics.get("entropy")
        if entropy is None:
            return None
        limit, needed = self._limits.min_entropy, max(self._limits.patience, self.iterations)
        clipped = metrics.get("clip_ratio/region_mean") or 0.0
        still = "" if self.iterations == 1 else " and no probability ratio was clipped"
        wrong = entropy < limit and clipped == 0.0
        return self._judge("entropy_collapse", step, wrong, needed, value=entropy, limit=limit, still=still)

    def _reward_hacking(self, task: str, first: Validation, latest: Validation) -> Alarm | None:
        """Detect a task whose reward rises while its ground truth, the mean of its metrics, falls."""
        before, now = first.ground_truth.get(task, {}), latest.ground_truth.get(task, {})
        shared = before.keys() & now.keys()
        if not shared:
            return None
        # Differences of numbers that may have gone through JSON.
        rise = round(latest.by_task[task] - first.by_task[task], 9)
        fall = round(fmean(before[name] for name in shared) - fmean(now[name] for name in shared), 9)
        limit, fall_limit = self._limits.min_hacking_rise, self._limits.min_hacking_fall
        said = {"task": task, "value": rise, "limit": limit, "fall": fall, "fall_limit": fall_limit}
        wrong = rise >= limit and fall >= fall_limit
        return self._judge("reward_hacking", latest.step, wrong, self._limits.hacking_patience, **said)

    def _one_answer(self, task: str, first: Validation, latest: Validation) -> Alarm | None:
        """Detect a task whose answers became as good as one text for all prompts, whatever it earns."""
        before, now = first.variety.get(task), latest.variety.get(task)
        if before is None or now is None:
            return None
        limit = self._limits.min_variety
        # A dozen prompts cannot tell a small fall from none, and what began as one answer did not become one.
        wrong = now < limit and now <= before / 2 and now < before
        said = {"task": task, "value": now, "before": before, "limit": limit}
        return self._judge("one_answer", latest.step, wrong, self._limits.hacking_patience, **said)

    def _judge(self, name: AlarmName, step: int, wrong: bool, needed: int, **said: Any) -> Alarm | None:
        streak_of = f"{name}/{said['task']}" if "task" in said else name
        streak = self._streaks[streak_of] = self._streaks.get(streak_of, 0) + 1 if wrong else 0
        alarm = Alarm(name, step, read_data("training/alarms.toml")[name].format(step=step, patience=needed, **said))
        if wrong and streak >= needed and self.stopped_by is None and name in self._limits.stop_on:
            self.stopped_by = alarm
        return alarm if streak == needed else None


def is_finite(metrics: Mapping[str, Any]) -> bool:
    """Return whether a step's loss and gradient norm, if known, are finite."""
    return all(math.isfinite(metrics[name]) for name in ("loss", "grad_norm") if metrics.get(name) is not None)


def past_alarms(summary: Mapping[str, Any], section: AlarmsSection, iterations: int) -> list[Alarm]:
    """Return the alarms of a training, by step."""
    alarms = Alarms(section, iterations)
    found: list[Alarm] = []
    if not summary.get("log"):
        return found
    first, *_ = history = [Validation.model_validate(each) for each in summary["validation"]]
    by_step = {each.step: each for each in history}
    for entry in summary["log"]:
        found += alarms.step(entry["step"], entry)
        if entry["step"] in by_step:
            found += alarms.validation(first, by_step[entry["step"]])
    return found
