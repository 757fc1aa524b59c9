"""What happens beside the arithmetic of training: steps are reported, alarms raised."""

import math
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from tasks.policy.child import Channel
from tasks.train.alarms import Alarms, is_finite
from tasks.train.estimate import cost_usd
from tasks.train.validation import Selection


class AlarmWatch(TrainerCallback):  # type: ignore[misc]
    """Shows the alarms what happens, tells the parent of those that begin, and stops the training where they ask it."""

    def __init__(self, alarms: Alarms, selection: Selection, channel: Channel) -> None:
        """Watch by some limits.

        Args:
            alarms: What is wrong, and what of it stops the training.
            selection: Whose validations are watched.
            channel: Where alarms are told.
        """
        self._alarms = alarms
        self._selection = selection
        self._channel = channel

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **named: Any,
    ) -> None:
        """Watch a step, and its validation where it had one; runs before the Trainer saves the same step."""
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
            # The checkpoint before has the last weights that are numbers.
            control.should_save = False


class StepReporter(TrainerCallback):  # type: ignore[misc]
    """Tells the parent about every step."""

    def __init__(self, channel: Channel, steps: int, price_per_hour: float = 0.0) -> None:
        """Report to a parent.

        Args:
            channel: The way to it.
            steps: Optimizer steps in all.
            price_per_hour: Of the machine, in US dollars; where it is 0 no cost is reported.
        """
        self._channel = channel
        self._steps = steps
        self._price_per_hour = price_per_hour

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **named: Any,
    ) -> None:
        """Report the step's metrics; what is no number, such as the mean of no row, is left out."""
        if not logs or "loss" not in logs:
            return
        values = {
            name: float(value)
            for name, value in logs.items()
            if isinstance(value, int | float) and math.isfinite(value)
        }
        # Of all steps, also of those before a resume: the Trainer's state has their log. Only GRPO logs the time.
        seconds = sum(entry.get("step_time") or 0.0 for entry in state.log_history)
        if self._price_per_hour and seconds:
            values["cost_usd"] = cost_usd(seconds, self._price_per_hour)
        self._channel.metrics(state.global_step, values)
        shown = "reward" if "reward" in values else "loss"
        self._channel.progress(state.global_step, self._steps, f"{shown} {values.get(shown, math.nan):.3f}")
