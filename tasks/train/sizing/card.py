"""GPU and library checks of this machine against the recipe's requirements."""

import sys
from typing import Final

from schemas.config.train import TrainConfig
from schemas.errors import InputError
from tasks.train.backend.pins import unpinned
from tasks.train.sizing.memory import GIGABYTE

KEPT_BACK: Final = 0.05
"""Share of a GPU's nominal memory that its driver may reserve: torch sees some 23.6 GB of an L4's 24 GB."""


def refuse_small_card(config: TrainConfig) -> None:
    """Refuse a GPU smaller than the recipe's, before weights are read.

    Raises:
        InputError: It is smaller.
    """
    import torch

    if config.device_memory_gb is None or not torch.cuda.is_available():
        return
    there_is = torch.cuda.get_device_properties(0).total_memory / GIGABYTE
    if there_is < config.device_memory_gb * (1 - KEPT_BACK):
        name = torch.cuda.get_device_name(0)
        raise InputError(
            f"the recipe is written for a GPU of {config.device_memory_gb:g} GB, and {name} has {there_is:.1f}; train "
            f"on a larger one, or set train.device_memory_gb={there_is:.0f} and let "
            "`tucano train --dry-run` say what makes it fit"
        )


def refuse_unfit_machine(config: TrainConfig) -> None:
    """Refuse a machine whose GPU could not train the recipe, before any work on weights is paid for.

    The stages before training may run on it for hours: a warm start, the completions that people score. A machine
    without a GPU passes, since it only fetches what another machine trains.

    Raises:
        InputError: Its GPU is smaller than the recipe's, or a pinned package version is missing.
    """
    import torch

    if not torch.cuda.is_available():
        return
    refuse_small_card(config)
    needed = ["unsloth", "unsloth-zoo"] if config.backend == "unsloth" else []
    needed += ["vllm"] if config.vllm.enabled and config.vllm.server_url is None else []
    if lacking := unpinned(*needed):
        raise InputError(
            f"the recipe needs {lacking} in {sys.executable}; set train.interpreter to a Python with "
            "constraints/trainer-linux-cuda.txt installed"
        )
