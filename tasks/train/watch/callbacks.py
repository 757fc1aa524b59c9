"""Trainer callbacks: progress reports and alarms."""

import math
from typing import Any

from transformers import TrainerCallback

from tasks.policy.child import Channel
from tasks.train.sizing.estimate import cost_usd
from tasks.train.watch.alarms import Alarms, is_finite
from tasks.train.watch.validation import Selection


class AlarmWatch(TrainerCallback):  # type: ignore[misc]
    """Callback that feeds the alarms, reports new ones to the parent, and stops the training if they ask for it."""

    def __init__(self, alarms: Alarms, selection: Selection, channel: Channel) -> None:
        self._alarms = alarms
        self._selection = selection
        self._channel = channel

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **named: Any) -> None:
        """Check a step and its validation, if any; runs before the Trainer saves the same step."""
        if not logs or "loss" not in logs:
            return
        history = self._selection.history
        found = self._alarms.step(state.global_step, logs)
        if history and history[-1].step == state.global_step:
            found += self._alarms.validation(history[0], history[-1])
        for alarm in found:
            self._channel.alarm(alarm.name, alarm.step, alarm.text)
        if self._alarms.stopped_by is not None:
            control.should_training_stop = True
        if not is_finite(logs):
            # The previous checkpoint has the last finite weights.
            control.should_save = False


class StepReporter(TrainerCallback):  # type: ignore[misc]
    """Callback that reports every step to the parent."""

    def __init__(self, channel: Channel, steps: int, price_per_hour: float = 0.0) -> None:
        self._channel = channel
        self._steps = steps
        self._price_per_hour = price_per_hour

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **named: Any) -> None:
        """Report the step's metrics; non-numbers, such as the mean of no rows, are left out."""
        if not logs or "loss" not in logs:
            return
        values = {
            name: float(value)
            for name, value in logs.items()
            if isinstance(value, int | float) and math.isfinite(value)
        }
        # All steps count, also those before a resume: the Trainer's state keeps their log. Only GRPO logs the time.
        seconds = sum(entry.get("step_time") or 0.0 for entry in state.log_history)
        if self._price_per_hour and seconds:
            values["cost_usd"] = cost_usd(seconds, self._price_per_hour)
        self._channel.metrics(state.global_step, values)
        shown = "reward" if "reward" in values else "loss"
        self._channel.progress(state.global_step, self._steps, f"{shown} {values.get(shown, math.nan):.3f}")
