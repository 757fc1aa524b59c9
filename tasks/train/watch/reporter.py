"""Trainer callback that reports each step to the parent."""

import math
from typing import Any

from transformers import TrainerCallback

from tasks.policy.child import Channel
from tasks.train.sizing.estimate import cost_usd


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
        numbers = {name: value for name, value in logs.items() if isinstance(value, int | float)}
        values = {name: float(value) for name, value in numbers.items() if math.isfinite(value)}
        # All steps count, also those before a resume: the Trainer's state keeps their log. Only GRPO logs the time.
        seconds = sum(entry.get("step_time") or 0.0 for entry in state.log_history)
        if self._price_per_hour and seconds:
            values["cost_usd"] = cost_usd(seconds, self._price_per_hour)
        self._channel.metrics(state.global_step, values)
        shown = "reward" if "reward" in values else "loss"
        self._channel.progress(state.global_step, self._steps, f"{shown} {values.get(shown, math.nan):.3f}")
