"""What happens beside the arithmetic of training: checkpoints are published, steps reported, alarms raised."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from tasks.checkpoints.mirror import Mirror
from tasks.policy.child import Channel
from tasks.train.alarms import Alarms, is_finite
from tasks.train.estimate import cost_usd
from tasks.train.validation import Selection


class Stateful(Protocol):
    """A part of the training that keeps something from step to step, in files of its own in each checkpoint."""

    def save(self, folder: Path) -> None:
        """Write its state into a checkpoint's folder."""

    def restore(self, folder: Path) -> None:
        """Read back what `save` wrote."""


class Publisher(TrainerCallback):  # type: ignore[misc]
    """Mirrors each checkpoint that the Trainer saved, whole or not at all."""

    def __init__(self, mirror: Mirror, parts: Sequence[Stateful], keep: int) -> None:
        """Publish to a mirror.

        Args:
            mirror: Where checkpoints are mirrored.
            parts: What the Trainer does not save itself.
            keep: Newest checkpoints that the mirror keeps.
        """
        self._mirror = mirror
        self._parts = parts
        self._keep = keep
        self.newest: int | None = None
        """Step of the newest checkpoint; None where there is none yet."""

    def restore(self, folder: Path, step: int) -> None:
        """Let every part go on from a checkpoint that was published after so many steps."""
        for part in self._parts:
            part.restore(folder)
        self.newest = step

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **named: Any) -> None:
        """Complete the saved folder with the state of every part, and publish it."""
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        for part in self._parts:
            part.save(folder)
        self._mirror.publish(folder, state.global_step)
        self._mirror.prune(self._keep)
        self.newest = state.global_step


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
        step, history = state.global_step, self._selection.history
        found = self._alarms.step(step, logs)
        if history and history[-1].step == step:
            found += self._alarms.validation(history[0], history[-1])
        for alarm in found:
            self._channel.alarm(alarm.name, alarm.step, alarm.text)
        if self._alarms.stopped_by is not None:
            control.should_training_stop = True
            # Between two steps on the same completions a checkpoint would lack them.
            control.should_save = control.should_save or step % self._alarms.iterations == 0
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
