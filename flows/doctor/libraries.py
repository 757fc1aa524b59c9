"""Checks of Python and libraries against the constraints, here and in the trainer's environment."""

import json
import platform
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from flows.doctor.finding import CheckOutcome, Finding, Verdict, single, unused
from schemas.config.config import Config
from schemas.source import REPOSITORY

LAPTOP = REPOSITORY / "constraints" / "laptop.txt"
TRAINER = REPOSITORY / "constraints" / "trainer-linux-cuda.txt"
SECONDS_TO_LIST = 15.0
MOST_NAMED = 5
_INSTALL = (
    "run `make setup`"
    if (REPOSITORY / "Makefile").is_file()
    else f"install tucano2-commerce again, by pip with --constraint {LAPTOP}"
)
_LIST = (
    "import importlib.metadata as m, json, platform; "
    "print(json.dumps([platform.python_version(), [[d.metadata['Name'], d.version] for d in m.distributions()]]))"
)


def check_python(config: Config) -> CheckOutcome:  # noqa: ARG001 - every check is given the configuration
    """Compare this Python with the oldest one that the project runs on."""
    wanted, version = _project()["requires-python"], platform.python_version()
    if SpecifierSet(wanted).contains(version, prereleases=True):
        return single("Python", "ok", f"{version} at {sys.executable}")
    remedy = "make the environment with a newer one: `make setup PYTHON=python3.11`"
    return single("Python", "fault", f"{version} at {sys.executable}; {wanted} is needed", remedy)


def check_libraries(config: Config) -> CheckOutcome:
    """Compare this environment with the project's requirements and with constraints/laptop.txt."""
    installed = _versions((package.metadata["Name"], package.version) for package in distributions())
    findings = [_against("libraries", installed, _project()["dependencies"], LAPTOP, _INSTALL, "")]
    if config.workers.training is None and config.train.interpreter is None:
        findings += _gpu_packages(config, installed)
    return CheckOutcome(tuple(findings))


def check_trainer(config: Config) -> CheckOutcome:
    """Compare the trainer's own environment, where it has one, with constraints/trainer-linux-cuda.txt."""
    interpreter, name = config.train.interpreter, "trainer"
    if config.workers.training is not None:
        return unused(name, f"training runs on {config.workers.training}")
    if interpreter is None:
        return unused(name, "trains in this environment; train.interpreter is not set")
    remedy = f"install {TRAINER} there, or set train.interpreter to another Python"
    try:
        listed = subprocess.run(
            [str(interpreter), "-c", _LIST], capture_output=True, text=True, check=True, timeout=SECONDS_TO_LIST
        )
        python, packages = json.loads(listed.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        return single(name, "fault", f"train.interpreter {interpreter} does not run as a Python ({reason})", remedy)
    installed = _versions(packages)
    needed = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]["trainer"]
    where = f"Python {python} at {interpreter}: "
    return CheckOutcome((_against(name, installed, needed, TRAINER, remedy, where), *_gpu_packages(config, installed)))


def check_gpu_packages(config: Config) -> CheckOutcome:
    """Look for what the backend needs of this environment, where it trains in this one."""
    if config.workers.training is not None or config.train.interpreter is not None:
        return CheckOutcome(())
    installed = _versions((package.metadata["Name"], package.version) for package in distributions())
    return CheckOutcome(tuple(_gpu_packages(config, installed)))


def needs_gpu(config: Config) -> bool:
    """Return whether training on this machine needs a GPU."""
    return config.workers.training is None and (config.train.backend == "unsloth" or config.train.vllm.enabled)


def _against(
    check: str, installed: Mapping[str, str], needed: Iterable[str], pins: Path, remedy: str, where: str
) -> Finding:
    unmet = [text for requirement in needed if (text := _unmet(Requirement(requirement), installed))]
    differing = [
        f"{pin.name} {version}, pinned {pin.specifier}"
        for pin in _read_pins(pins)
        if (version := installed.get(canonicalize_name(pin.name))) and not _fits(version, pin.specifier)
    ]
    pinned = f"{pins.parent.name}/{pins.name}"
    if unmet:
        return Finding(check, "fault", f"{where}{_some(unmet)}", remedy)
    if differing:
        return Finding(check, "warning", f"{where}{_some(differing)} in {pinned}", remedy)
    return Finding(check, "ok", f"{where}all as {pinned} pins them")


def _gpu_packages(config: Config, installed: Mapping[str, str]) -> list[Finding]:
    """Report what the backend needs and this environment lacks: a torch for GPUs, Unsloth, vLLM."""
    if not needs_gpu(config):
        return []
    wanted = [("unsloth", config.train.backend == "unsloth"), ("vllm", config.train.vllm.enabled)]
    lacking = [f"{name} is not installed" for name, needed in wanted if needed and name not in installed]
    if Version(installed.get("torch", "0")).local == "cpu":
        lacking.append(f"torch {installed['torch']} is the build without GPU")
    if not lacking:
        return []
    remedy = "set train.interpreter to a Python with constraints/trainer-linux-cuda.txt installed"
    verdict: Verdict = "fault"
    return [Finding("GPU libraries", verdict, ", ".join(lacking), remedy)]


def _unmet(requirement: Requirement, installed: Mapping[str, str]) -> str | None:
    if requirement.marker is not None and not requirement.marker.evaluate():
        return None
    version = installed.get(canonicalize_name(requirement.name))
    if version is None:
        return f"{requirement.name} is not installed"
    if not _fits(version, requirement.specifier):
        return f"{requirement.name} is {version}, needed {requirement.specifier}"
    return None


def _fits(version: str, specifier: SpecifierSet) -> bool:
    try:
        return specifier.contains(Version(version), prereleases=True)
    except InvalidVersion:
        return False


def _read_pins(file: Path) -> list[Requirement]:
    lines = (line.partition("#")[0].strip() for line in file.read_text(encoding="utf-8").splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith("-")]


def _versions(packages: Iterable[tuple[str, str]]) -> dict[str, str]:
    versions: dict[str, str] = {}
    for name, version in packages:
        # The first on the path is imported; a broken installation may lack its name.
        if name:
            versions.setdefault(canonicalize_name(name), version)
    return versions


def _some(texts: list[str]) -> str:
    more = f", and {len(texts) - MOST_NAMED} more" if len(texts) > MOST_NAMED else ""
    return "; ".join(texts[:MOST_NAMED]) + more


@cache
def _project() -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return project
