"""Checks of this machine: GPU, disk, and a state folder that is writable and free."""

import shutil
import subprocess
import sys
import tempfile

from filelock import FileLock, Timeout

from flows.doctor.finding import CheckOutcome, Finding, refused, single
from flows.doctor.libraries import needs_gpu
from flows.runtime.session import BYTES_NEEDED, LOCK_FILE
from schemas.config.config import Config
from tasks.checkpoints.permissions import nearest_folder
from tasks.lineage.erase.plan import unended
from tasks.train.sizing.shape import BFLOAT16_BYTES, read_shape

BYTES_FOR_A_MODEL = 10_000_000_000
"""Disk for a model of unknown size: half a billion parameters, merged copies, several adapters and some runs of
these."""
COPIES_OF_A_MODEL = 5
"""The hub's download, the published model, the base, a merged policy, and one that is being written."""
SECONDS_TO_LIST = 10.0
SECONDS_FOR_TORCH = 120.0
_USE_TORCH = (
    "import torch; assert torch.cuda.is_available(), f'torch {torch.__version__} finds no GPU that it can use'; "
    "x = torch.ones(256, 256, device='cuda', dtype=torch.bfloat16); assert (x @ x)[0, 0].item() == 256; "
    "print(f'torch {torch.__version__} computes on {torch.cuda.get_device_name()}')"
)


def check_gpu(config: Config) -> CheckOutcome:
    """Name the GPUs, and report whether the training needs one."""
    query = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader,nounits"]
    try:
        listed = subprocess.run(query, capture_output=True, text=True, check=True, timeout=SECONDS_TO_LIST)
    except FileNotFoundError:
        return CheckOutcome((_without_gpu(config),))
    except subprocess.CalledProcessError as error:
        reason = (error.stdout or error.stderr).strip().splitlines()[-1:] or [f"it ended with {error.returncode}"]
        return CheckOutcome((_broken_driver(config, reason[0]),))
    except (OSError, subprocess.TimeoutExpired) as error:
        return CheckOutcome((_broken_driver(config, type(error).__name__),))
    cards = [_card(line) for line in listed.stdout.splitlines() if line.strip()]
    if not cards:
        return CheckOutcome((_without_gpu(config),))
    processes = 1 if config.workers.training is not None else config.train.processes
    if len(cards) < processes:
        remedy = f"set train.processes={len(cards)}, or train where there are as many GPUs"
        return single("GPU", "fault", f"{'; '.join(cards)}; train.processes is {processes}, one a GPU", remedy)
    return single("GPU", "ok", "; ".join(cards))


def check_torch(config: Config) -> CheckOutcome:
    """Load the trainer's torch in a process of its own, and compute with it on the GPU."""
    python = str(config.train.interpreter or sys.executable)
    remedy = "install a torch for GPUs, and a driver that is new enough for it"
    try:
        ended = subprocess.run(
            [python, "-c", _USE_TORCH], capture_output=True, text=True, check=False, timeout=SECONDS_FOR_TORCH
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return single("torch", "fault", f"{python} cannot load it ({type(error).__name__})", remedy)
    if ended.returncode == 0:
        return single("torch", "ok", ended.stdout.strip())
    said = (ended.stderr.strip().splitlines() or ["it said nothing"])[-1].removeprefix("AssertionError: ")
    return single("torch", "fault" if needs_gpu(config) else "warning", said, remedy)


def check_disk(config: Config) -> CheckOutcome:
    """Compare the free disk space of the state folder with what a run needs."""
    root = config.state.root
    free = shutil.disk_usage(nearest_folder(root)).free
    found, remedy = f"{free / 1e9:.1f} GB free for {root}", "free some, or use another with --set state.root=FOLDER"
    if free < BYTES_NEEDED:
        return single("disk", "fault", f"{found}; a run does not begin below {BYTES_NEEDED / 1e9:.0f}", remedy)
    needed = _bytes_of_models(config)
    if free < needed:
        return single("disk", "warning", f"{found}; {config.policy.name} takes some {needed / 1e9:.0f}", remedy)
    return single("disk", "ok", found)


def _bytes_of_models(config: Config) -> float:
    if config.policy.stand_in:
        return 0
    shape = read_shape(config.policy)
    return max(BYTES_FOR_A_MODEL, COPIES_OF_A_MODEL * BFLOAT16_BYTES * shape.parameters if shape else 0)


def check_state(config: Config) -> CheckOutcome:
    """Try to write in the state folder, or in its future parent; look for a run or a forgetting under way there."""
    root = config.state.root
    folder = nearest_folder(root)
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        sentence = f"{folder} cannot be written ({error.strerror}); free permissions, or use --set state.root=FOLDER"
        return CheckOutcome((refused("state folder", sentence),))
    if folder != root.absolute():
        return single("state folder", "ok", f"{root} does not exist yet; the first run makes it")
    # Only an existing file: a lock made by the doctor would be one more thing in the folder.
    if (root / LOCK_FILE).exists():
        try:
            with FileLock(root / LOCK_FILE, timeout=0):
                pass
        except Timeout:
            found = f"another tucano is at work in {root}"
            return single("state folder", "warning", found, "wait for its end, or use --set state.root=FOLDER")
    if begun := unended(root):
        found = f"the forgetting of a person was begun, and has not ended ({begun[0]})"
        return single("state folder", "warning", found, "end it: tucano forget ID --apply, with the same ID")
    return single("state folder", "ok", f"{root} can be written, and no run holds it")


def _card(line: str) -> str:
    name, memory, driver = (part.strip() for part in line.rsplit(",", 2))
    size = f"{int(memory) / 1024:.1f} GiB" if memory.isdigit() else "memory unknown"
    return f"{name}, {size}, driver {driver}"


def _without_gpu(config: Config) -> Finding:
    if needs_gpu(config):
        remedy = "train on a machine with one, or set train.backend=transformers and train.vllm.enabled=false"
        return Finding("GPU", "fault", f"there is none, and the backend {config.train.backend} needs one", remedy)
    if config.policy.stand_in or config.workers.training is not None:
        return Finding("GPU", "ok", "there is none, and this machine needs none", unused=True)
    remedy = "use a machine with one, or --set policy.stand_in=true to try the pipeline"
    return Finding("GPU", "warning", f"there is none: {config.policy.name} would train for days", remedy)


def _broken_driver(config: Config, reason: str) -> Finding:
    remedy = "fix NVIDIA's driver: `nvidia-smi` must list the card"
    return Finding("GPU", "fault" if needs_gpu(config) else "warning", f"nvidia-smi fails: {reason}", remedy)
