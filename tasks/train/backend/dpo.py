"""TRL's DPO trainer, made to train on a CPU and to resume; in no process of Unsloth, which would replace it."""

from typing import Any

from trl import DPOTrainer

from tasks.train.backend.cpu import checkpoint_gradients, keep_adapter_in_float32
from tasks.train.backend.fused_head import add_fused_head
from tasks.train.resume.resumable import ResumableTrainer


class CpuDPOTrainer(ResumableTrainer, DPOTrainer):  # type: ignore[misc]
    """TRL's DPO (2305.18290) on any device; the base without the adapter is the reference."""

    def __init__(self, **named: Any) -> None:
        super().__init__(**named)
        keep_adapter_in_float32(self.model)
        checkpoint_gradients(self)
        if self.accelerator.device.type == "cpu":
            add_fused_head(self.model.get_base_model())

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Log as TRL does, without the token count, which a resumed run would restart at 0."""
        for figures in self._metrics.values():
            figures.pop("num_tokens", None)
        super().log(logs, start_time)
