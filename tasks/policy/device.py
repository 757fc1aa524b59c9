"""Device of the machine that works on weights; its price depends on it."""

from typing import Final

CPU: Final = "cpu"


def machine_device() -> str:
    """Return the name of the machine's first visible GPU, as torch calls it, such as `NVIDIA L4`; `cpu` without one."""
    import torch

    return str(torch.cuda.get_device_name(0)) if torch.cuda.is_available() else CPU
