"""What happens beside the arithmetic of training: publishing checkpoints and reporting steps."""

import math
from pathlib import Path
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from tasks.checkpoints.mirror import Mirror
from tasks.policy.child import Channel
from tasks.train.validation import Selection


class Publisher(TrainerCallback):  # type: ignore[misc]
    """Mirrors each checkpoint that the Trainer saved, whole or not at all."""

    def __init__(self, mirror: Mirror, selection: Selection, keep: int) -> None:
        self._mirror = mirror
        self._selection = selection
        self._keep = keep

    def on_save(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **named: Any) -> None:
        """Complete the saved folder with the validation state and publish it."""
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        self._selection.save(folder)
        self._mirror.publish(folder, state.global_step)
        self._mirror.prune(self._keep)


class StepReporter(TrainerCallback):  # type: ignore[misc]
    """Tells the parent about every step."""

    def __init__(self, channel: Channel, steps: int) -> None:
        self._channel = channel
        self._steps = steps

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **named: Any,
    ) -> None:
        """Report the step's metrics; those that no row of the batch had are left out."""
        values = {
            name: float(value)
            for name, value in (logs or {}).items()
            if isinstance(value, int | float) and math.isfinite(value)
        }
        if "reward" not in values:
            return
        self._channel.metrics(state.global_step, values)
        self._channel.progress(state.global_step, self._steps, f"reward {values['reward']:.3f}")


class LossReporter(TrainerCallback):  # type: ignore[misc]
    """Tells the parent how supervised fine-tuning goes."""

    def __init__(self, channel: Channel, steps: int) -> None:
        self._channel = channel
        self._steps = steps

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **named: Any,
    ) -> None:
        """Report the loss."""
        if logs and "loss" in logs:
            self._channel.metrics(state.global_step, {"loss": float(logs["loss"])})
            self._channel.progress(state.global_step, self._steps, f"loss {float(logs['loss']):.3f}")
