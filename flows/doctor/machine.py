"""Checks of this machine: libraries here and in the trainer's environment, GPU, disk, and the state folder."""

import json
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import distributions
from typing import Literal

from filelock import FileLock, Timeout
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from flows.runtime.session import BYTES_NEEDED, LOCK_FILE
from schemas.config.config import Config
from schemas.errors import TucanoError
from schemas.source import REPOSITORY
from tasks.checkpoints.address import nearest_folder
from tasks.policy.batch import host_memory
from tasks.train.sizing.memory import BFLOAT16_BYTES, on_cpu, read_shape

LAPTOP = REPOSITORY / "constraints" / "laptop.txt"
TRAINER = REPOSITORY / "constraints" / "trainer-linux-cuda.txt"
SECONDS_TO_LIST = 15.0
MOST_NAMED = 5
BYTES_FOR_A_MODEL = 10_000_000_000
"""Disk for a model of unknown size: half a billion parameters, merged copies, several adapters and some runs."""
MEMORY_OF_A_PARAMETER = 36  # Bytes of a CPU's memory for each one that is trained there, with all processes of a run.
COPIES_OF_A_MODEL = 5  # The hub's download, the published model, the base, a merged policy, and one being written.
_LIST = (
    "import importlib.metadata as m, json; print(json.dumps([[d.metadata['Name'], d.version] for d in "
    "m.distributions()]))"
)
Verdict = Literal["ok", "warning", "fault"]


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's output: what was checked, what was found, and the remedy."""

    check: str
    verdict: Verdict
    """A `warning` lets a run start; a `fault` ends it, sooner or later."""
    found: str
    remedy: str = ""
    unused: bool = False
    """Whether the profile has no use for what was to be checked, so that there is nothing to tell."""


Check = Callable[[Config], list[Finding]]


def refused(check: str, error: TucanoError | str) -> Finding:
    """Return a fault from one of the project's messages, which name the remedy after the last semicolon."""
    found, _, remedy = str(error).rpartition("; ")
    return Finding(check, "fault", found or remedy, remedy if found else "")


def check_libraries(config: Config) -> list[Finding]:
    """Compare this environment with constraints/laptop.txt."""
    check, lines = "libraries", (line.partition("#")[0].strip() for line in LAPTOP.read_text("utf-8").splitlines())
    pinned = [line for line in lines if line and not line.startswith("-")]
    found = Finding(check, "ok", f"all as {LAPTOP.name} pins them")
    if differing := _unmet(pinned, _versions(), may_miss=True):
        remedy = f"run `make setup`, or install tucano2-commerce again, by pip with --constraint {LAPTOP}"
        found = Finding(check, "warning", f"{differing} in {LAPTOP.name}", remedy)
    return [found, *check_gpu_packages(config)]


def check_gpu_packages(config: Config) -> list[Finding]:
    """Look for what the backend needs of this environment, where it trains in this one."""
    if config.workers.training is not None or config.train.interpreter is not None:
        return []
    return gpu_packages(config, _versions())


def check_trainer(config: Config) -> list[Finding]:
    """Look in the trainer's own environment, where it has one, for what a training needs."""
    interpreter, name = config.train.interpreter, "trainer"
    if config.workers.training is not None or interpreter is None:
        return [Finding(name, "ok", "no environment of its own on this machine", unused=True)]
    remedy = f"install {TRAINER} there, or set train.interpreter to another Python"
    try:
        command = [str(interpreter), "-c", _LIST]
        listed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=SECONDS_TO_LIST)
        installed = _versions(json.loads(listed.stdout))
    except (OSError, ValueError, TypeError, subprocess.SubprocessError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        found = f"train.interpreter {interpreter} does not run as a Python ({reason})"
        return [Finding(name, "fault", found, remedy)]
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    unmet = _unmet(project["dependency-groups"]["trainer"], installed, may_miss=False)
    has = Finding(name, "fault", unmet, remedy) if unmet else Finding(name, "ok", f"{interpreter} has what it needs")
    return [has, *gpu_packages(config, installed)]


def needs_gpu(config: Config) -> bool:
    """Return whether training on this machine needs a GPU."""
    return config.workers.training is None and (config.train.backend == "unsloth" or config.train.vllm.enabled)


def gpu_packages(config: Config, installed: Mapping[str, str]) -> list[Finding]:
    """Report what the backend needs and an environment lacks: a torch for GPUs, Unsloth, vLLM."""
    if not needs_gpu(config):
        return []
    wanted = {"unsloth": config.train.backend == "unsloth", "vllm": config.train.vllm.enabled}
    lacking = [f"{name} is not installed" for name, needed in wanted.items() if needed and name not in installed]
    if Version(installed.get("torch", "0")).local == "cpu":
        lacking.append(f"torch {installed['torch']} is the build without GPU")
    remedy = "set train.interpreter to a Python with constraints/trainer-linux-cuda.txt installed"
    return [Finding("GPU libraries", "fault", ", ".join(lacking), remedy)] if lacking else []


def _unmet(requirements: Iterable[str], installed: Mapping[str, str], *, may_miss: bool) -> str:
    """Return the first requirements that an environment does not meet; empty if it meets all."""
    unmet = []
    for each in map(Requirement, requirements):
        if each.marker is not None and not each.marker.evaluate():
            continue
        version = installed.get(canonicalize_name(each.name))
        try:
            fits = may_miss if version is None else each.specifier.contains(Version(version), prereleases=True)
        except InvalidVersion:
            fits = False
        if not fits:
            unmet.append(f"{each.name} is {version or 'not installed'}, needed {each.specifier}")
    more = f", and {len(unmet) - MOST_NAMED} more" if len(unmet) > MOST_NAMED else ""
    return "; ".join(unmet[:MOST_NAMED]) + more


def _versions(packages: Iterable[tuple[str, str]] | None = None) -> dict[str, str]:
    """Return the versions of packages, those of this environment where none are given."""
    versions: dict[str, str] = {}
    for name, version in packages or ((each.metadata["Name"], each.version) for each in distributions()):
        # The first on the path is imported; a broken installation may lack its name.
        if name:
            versions.setdefault(canonicalize_name(name), version)
    return versions


def check_gpu(config: Config) -> list[Finding]:
    """Name the GPUs, and report whether the training needs one."""
    query = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    try:
        listed = subprocess.run(query, capture_output=True, text=True, check=True, timeout=SECONDS_TO_LIST)
    except FileNotFoundError:
        return [_without_gpu(config)]
    except (OSError, subprocess.SubprocessError) as error:
        printed = getattr(error, "stdout", None) or getattr(error, "stderr", None) or type(error).__name__
        found, remedy = f"nvidia-smi fails: {str(printed).strip()}", "fix NVIDIA's driver: `nvidia-smi` must list it"
        return [Finding("GPU", "fault" if needs_gpu(config) else "warning", found, remedy)]
    cards = [line.strip() for line in listed.stdout.splitlines() if line.strip()]
    if not cards:
        return [_without_gpu(config)]
    return [Finding("GPU", "ok", "; ".join(cards))]


def _without_gpu(config: Config) -> Finding:
    if needs_gpu(config):
        remedy = "train on a machine with one, or set train.backend=transformers and train.vllm.enabled=false"
        return Finding("GPU", "fault", f"there is none, and the backend {config.train.backend} needs one", remedy)
    if config.policy.stand_in or config.workers.training is not None:
        return Finding("GPU", "ok", "there is none, and this machine needs none", unused=True)
    shape = read_shape(config.policy)
    if shape is not None and on_cpu(config, shape):
        needed, memory = MEMORY_OF_A_PARAMETER * shape.parameters / 1e9, host_memory() / 1e9
        if memory >= needed:
            return Finding("GPU", "ok", f"none: {shape.parameters / 1e6:.0f} million weights need none", unused=True)
        found = f"training {config.policy.name} takes some {needed:.1f} GB, and this machine has {memory:.1f}"
        return Finding("memory", "fault", found, "use a larger machine, or --set policy.stand_in=true")
    remedy = "use a machine with one, or --set policy.stand_in=true to try the pipeline"
    return Finding("GPU", "warning", f"there is none: {config.policy.name} would train for days", remedy)


def check_disk(config: Config) -> list[Finding]:
    """Compare the free disk space of the state folder with what a run needs."""
    root = config.state.root
    free = shutil.disk_usage(nearest_folder(root)).free
    found, remedy = f"{free / 1e9:.1f} GB free for {root}", "free some, or use another with --set state.root=FOLDER"
    if free < BYTES_NEEDED:
        return [Finding("disk", "fault", f"{found}; a run does not begin below {BYTES_NEEDED / 1e9:.0f}", remedy)]
    shape = None if config.policy.stand_in else read_shape(config.policy)
    needed = max(BYTES_FOR_A_MODEL, COPIES_OF_A_MODEL * BFLOAT16_BYTES * shape.parameters if shape else 0)
    if free < needed and not config.policy.stand_in:
        return [Finding("disk", "warning", f"{found}; {config.policy.name} takes some {needed / 1e9:.0f}", remedy)]
    return [Finding("disk", "ok", found)]


def check_state(config: Config) -> list[Finding]:
    """Try to write in the state folder, or in its future parent; look for a run or a forgetting under way there."""
    root, check = config.state.root, "state folder"
    folder = nearest_folder(root)
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        sentence = f"{folder} cannot be written ({error.strerror}); free permissions, or use --set state.root=FOLDER"
        return [refused(check, sentence)]
    if folder != root.absolute():
        return [Finding(check, "ok", f"{root} does not exist yet; the first run makes it")]
    # Only an existing file: a lock made by the doctor would be one more thing in the folder.
    if (root / LOCK_FILE).exists():
        try:
            with FileLock(root / LOCK_FILE, timeout=0):
                pass
        except Timeout:
            remedy = "wait for its end, or use --set state.root=FOLDER"
            return [Finding(check, "warning", f"another tucano is at work in {root}", remedy)]
    # Polars takes a quarter of a second, which `doctor` goes without.
    from tasks.lineage.erase.plan import unended  # noqa: PLC0415

    if begun := unended(root):
        found = f"the forgetting of a person was begun, and has not ended ({begun[0]})"
        return [Finding(check, "warning", found, "end it: tucano forget ID --apply, with the same ID")]
    return [Finding(check, "ok", f"{root} can be written, and no run holds it")]
