"""Scale of the check: an L4's recipe on models of Tucano2's shapes, or everything as small as a test needs it."""

import json
from dataclasses import asdict, dataclass
from typing import Final, Literal

from tasks.train.sizing.shape import KNOWN_SHAPES, DecoderShape

POLICY: Final = "Polygl0t/Tucano2-qwen-0.5B-Instruct"
TINY: Final = DecoderShape("qwen3", 2, 64, 4, 2, 32, 128, 1024, tied=True)
"""Shape with the smallest head that vLLM computes on a CPU."""
SEED: Final = 7


@dataclass(frozen=True)
class Scale:
    """Sizes of models and batches, device, and share of the GPU."""

    shape: Literal["l4", "tiny"] = "l4"
    device: Literal["cuda", "cpu"] = "cuda"
    gigabytes: float = 24.0
    """Memory of the card that the recipe is written for, in 10^9 bytes."""
    share: float = 1.0
    """That memory as a share of this GPU's, at most 1."""

    @property
    def is_tiny(self) -> bool:
        """Return whether everything is as small as a test needs it."""
        return self.shape == "tiny"

    @property
    def on_gpu(self) -> bool:
        """Return whether there is a GPU."""
        return self.device == "cuda"

    @property
    def policy(self) -> DecoderShape:
        """Return the shape of the model that is trained."""
        return TINY if self.is_tiny else KNOWN_SHAPES[POLICY]

    def as_json(self) -> str:
        """Return it as a command line argument."""
        return json.dumps(asdict(self))

    def cap_memory(self) -> None:
        """Limit this process to its share of the GPU's memory."""
        if self.on_gpu:
            import torch

            torch.cuda.set_per_process_memory_fraction(self.share)

    def allocator_settings(self) -> dict[str, str]:
        """Return the environment that gives a child process the same limit, before it imports torch."""
        setting = f"per_process_memory_fraction:{self.share:.4f}"
        return {"PYTORCH_ALLOC_CONF": setting} if self.on_gpu and self.share < 1 else {}
