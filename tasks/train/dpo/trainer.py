"""TRL's DPO trainer with what it lacks on a CPU and on resume."""

from typing import Any

from trl import DPOTrainer

from tasks.train.plain_head import add_plain_head
from tasks.train.portable import hold_adapter_in_full_precision
from tasks.train.resumable import ResumableTrainer


class PreferenceTrainer(ResumableTrainer, DPOTrainer):  # type: ignore[misc]
    """DPO (2305.18290) on an adapter, which trains on a CPU as on a GPU; the base without it is the reference."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        hold_adapter_in_full_precision(self)
        if self.accelerator.device.type == "cpu":
            add_plain_head(self.model.get_base_model())

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Log as TRL does, without the count of tokens, which a resumed run would start at 0."""
        for figures in self._metrics.values():
            figures.pop("num_tokens", None)
        super().log(logs, start_time)
