"""Session of the pipeline in a state folder: writable, exclusively locked, with its stores, Prefect and MLflow."""

import json
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from flows.runtime.prefect_server import prove_prefect_usable, reachable, session_server, shown
from flows.runtime.signals import interruptible
from schemas.config.config import Config, StateConfig, SynthesizeConfig
from schemas.errors import BYTES_OF_A_FULL_DISK, InputError, TucanoError, full_disk_error, is_of_full_disk
from tasks.lineage.mlflow.client import SQLITE_PREFIX, files_folder, prove_usable
from tasks.lineage.mlflow.recorder import Recorder
from tasks.lineage.mlflow.registry import Registry
from tasks.lineage.store.artifacts import ArtifactStore

if TYPE_CHECKING:
    from tasks.audit.report import PastAudit
    from tasks.synthesize.own.opened import OwnFiles

BYTES_NEEDED = 1_000_000_000
BYTES_FOR_A_STAGE = 100_000_000
"""Free disk space below which no stage begins: enough for both databases to record that it was refused."""
LOCK_FILE = "retrain.lock"
UI_FILE = "ui.json"
ARTIFACTS_FOLDER = "artifacts"
UI_LOCK = "ui.lock"
EXPERIMENT = "tucano2-commerce"
INTERRUPTED = "interrupted; run the same command again to resume from here"
OTHERS = stat.S_IRWXG | stat.S_IRWXO
"""Rights of a file's group and of all others."""


class StateFolderHeld(InputError):
    """Another run works in the state folder."""


def artifacts_folder(config: Config) -> Path:
    """Return the folder of the artifact store."""
    return config.state.root.resolve() / ARTIFACTS_FOLDER


def mirror_address(config: Config) -> str:
    """Return where checkpoints are mirrored."""
    return config.state.mirror or str(config.state.root.resolve() / "mirror")


def work_folder(config: Config, name: str) -> Path:
    """Return the folder in which a stage's child process works."""
    return config.state.root.resolve() / "work" / name


def mlflow_store(state: StateConfig) -> tuple[str, Path | None]:
    """Return the address of MLflow's store, and the folder of its artifacts; None where the server has its own."""
    if state.mlflow is not None and not state.mlflow.startswith(SQLITE_PREFIX):
        return state.mlflow, None
    file = Path(state.mlflow.removeprefix(SQLITE_PREFIX)) if state.mlflow else state.root / "mlflow" / "mlflow.db"
    file = file.resolve()
    refuse_question_mark(file)
    return f"{SQLITE_PREFIX}{file}", files_folder(file)


def refuse_question_mark(path: Path) -> None:
    """Refuse a path after whose question mark Prefect and MLflow would read options: their databases go elsewhere."""
    if "?" in str(path.resolve()):
        raise InputError(
            f"{path.resolve()} has a question mark, which no path of a database may have; rename that folder, or use "
            "another with --set state.root=FOLDER"
        )


def prefect_folder(root: Path) -> Path:
    """Return Prefect's home."""
    return root / "prefect"


@contextmanager
def session(config: Config, *, bytes_needed: int) -> Iterator[None]:
    """Lock the state folder for one run, and point Prefect at the server that runs go to, if there is one."""
    root = config.state.root
    with interruptible(INTERRUPTED), state_folder(config, bytes_needed=bytes_needed), ExitStack() as stack:
        configure_prefect(root)
        if has_server():
            address = os.environ["PREFECT_API_URL"]
            if not reachable(address):
                raise InputError(
                    f"no Prefect server answers at PREFECT_API_URL={shown(address)}; start it, correct the address, or "
                    "unset the variable to use a server of the run's own"
                )
            # Prefect reads the session's settings when it is imported.
            from flows.runtime.prefect_client import team_server  # noqa: PLC0415

            stack.enter_context(team_server(address, partial(_is_disk_full, root)))
        yield


def has_server() -> bool:
    """Return whether runs go to a Prefect server."""
    return "PREFECT_API_URL" in os.environ


@contextmanager
def recorded(config: Config, meanwhile: Callable[[], object] | None = None) -> Iterator[None]:
    """Record what a session does in Prefect: on the server that runs go to, or on one of its own during the block."""
    if has_server():
        yield
        return
    prove_prefect_usable(Path(os.environ["PREFECT_HOME"]))
    with ExitStack() as stack:
        log_file = config.state.root / "prefect.log"
        address = stack.enter_context(session_server(log_file, meanwhile))
        os.environ["PREFECT_API_URL"] = address
        stack.callback(os.environ.pop, "PREFECT_API_URL")
        # Prefect reads the session's settings when it is imported, which `session_server` does while the server starts.
        from flows.runtime.prefect_client import own_server  # noqa: PLC0415

        stack.enter_context(own_server(partial(_is_disk_full, config.state.root)))
        yield


@contextmanager
def state_folder(config: Config, *, bytes_needed: int, patience: float = 0.0) -> Iterator[None]:
    """Lock the state folder for a command or a run of a deployment."""
    root = config.state.root
    prove_writable(root)
    prove_space(root, bytes_needed, "the run")
    lock = FileLock(root / LOCK_FILE, mode=0o600)
    try:
        lock.acquire(timeout=patience)
    except Timeout:
        raise StateFolderHeld(
            f"another tucano is at work in the state folder {root}; wait for its end, or use another folder "
            "with --set state.root=FOLDER"
        ) from None
    named = [Path(each) for each in (config.state.mirror, config.state.artifacts) if each and "://" not in each]
    shared = not all(folder.resolve().is_relative_to(root.resolve()) for folder in named)
    try:
        with private_files(root, shared=shared), disk_full_errors(root):
            prove_usable(mlflow_store(config.state)[0])
            yield
    finally:
        lock.release()


@contextmanager
def private_files(root: Path, *, shared: bool = False) -> Iterator[None]:
    """Close a state folder to other users, and what this process and its children write there during the block."""
    status = root.stat()
    # Not a folder of the system, such as /tmp, nor what is mounted for reading.
    is_ours = status.st_uid == os.geteuid() and not status.st_mode & stat.S_ISVTX and os.access(root, os.W_OK)
    if is_ours and status.st_mode & OTHERS:
        root.chmod(stat.S_IMODE(status.st_mode) & ~OTHERS)
    if shared:
        yield
        return
    before = os.umask(OTHERS)
    try:
        yield
    finally:
        os.umask(before)


@contextmanager
def disk_full_errors(root: Path) -> Iterator[None]:
    """Translate what fails in the block on a full disk into one sentence; what has its own sentence keeps it."""
    try:
        yield
    except Exception as error:
        if getattr(error, "exit_code", TucanoError.exit_code) != TucanoError.exit_code:
            raise
        # A full disk has many faces: Prefect's server fails in its own process, and says no more than that it did.
        if is_of_full_disk(error) or _is_disk_full(root):
            raise full_disk_error(root, error) from None
        raise


def _is_disk_full(root: Path) -> bool:
    return shutil.disk_usage(root).free < BYTES_OF_A_FULL_DISK


def prove_space(root: Path, bytes_needed: int, what: str) -> None:
    """Refuse work for which the disk of the state folder has too little space."""
    free = shutil.disk_usage(root).free
    if free < bytes_needed:
        raise InputError(
            f"the disk of the state folder {root} has {free / 1e6:.0f} MB free and {what} needs "
            f"{bytes_needed / 1e6:.0f}; free some space and run the same command again: what was finished is kept"
        )


def prove_writable(root: Path) -> None:
    """Make a state folder, and try to write in it."""
    refuse_question_mark(root)
    probe = root / f".probe-{os.getpid()}"
    try:
        root.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(bytes(4096))
        probe.unlink()
    except OSError as error:
        with suppress(OSError):
            probe.unlink()
        if is_of_full_disk(error):
            raise full_disk_error(root, error) from None
        raise InputError(
            f"the state folder {root} cannot be written ({error.strerror}); free space or permissions, or use another "
            "with --set state.root=FOLDER"
        ) from None


def configure_prefect(root: Path) -> None:
    """Set what Prefect reads from the environment when it is imported; what the user has set stays."""
    home = prefect_folder(root).resolve()
    home.mkdir(parents=True, exist_ok=True)
    settings = {
        "PREFECT_HOME": str(home),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        # No data leaves the machine: Prefect's client would report its use, and say so on a terminal.
        "DO_NOT_TRACK": "1",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        # The terminal shows our own lines, and no traceback for a user's mistake; the run's page shows Prefect's.
        "PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL": "CRITICAL",
        "PREFECT_LOCAL_STORAGE_PATH": str(home / "storage"),
        "PREFECT_PROFILES_PATH": str(home / "profiles.toml"),
    }
    server = running_server(root)
    if server is not None:
        settings["PREFECT_API_URL"] = server
    for name, value in settings.items():
        os.environ.setdefault(name, value)
    read_no_settings_here()


def read_no_settings_here() -> None:
    """Keep Prefect, not yet imported, from `.env` and TOML files of the current folder, which may name code to run."""
    # A quarter of a second, which most commands do without.
    from pydantic_settings import DotEnvSettingsSource  # noqa: PLC0415
    from pydantic_settings.sources import ConfigFileSourceMixin  # noqa: PLC0415

    ConfigFileSourceMixin._read_files = lambda *_, **__: {}  # type: ignore[method-assign] # noqa: SLF001
    DotEnvSettingsSource._read_env_files = lambda *_: {}  # type: ignore[method-assign] # noqa: SLF001


def running_server(root: Path) -> str | None:
    """Return the API address of the Prefect server that `tucano ui` serves over this folder, where one answers."""
    try:
        address = str(json.loads((root / UI_FILE).read_text(encoding="utf-8"))["prefect_api"])
    except (OSError, ValueError, TypeError, KeyError):
        return None
    try:
        # A file that a kill left behind may name another folder's server.
        with FileLock(root / UI_LOCK, timeout=0):
            return None
    except Timeout:
        return address if reachable(address) else None


def open_store(config: Config) -> ArtifactStore:
    """Open the artifact store of the state folder."""
    return ArtifactStore(artifacts_folder(config))


def existing_store(config: Config, consequence: str) -> ArtifactStore:
    """Open the artifact store of a state folder that has one."""
    if not artifacts_folder(config).is_dir():
        raise InputError(
            f"the state folder {config.state.root} has no artifacts, so {consequence}; run `tucano retrain` first, or "
            "name another folder with --set state.root=FOLDER"
        )
    return open_store(config)


def open_recorder(config: Config) -> Recorder:
    """Open MLflow's store in the state folder."""
    return Recorder(*mlflow_store(config.state), EXPERIMENT, state=str(config.state.root.resolve()))


def open_registry(config: Config) -> Registry:
    """Open the model registry of the state folder; one in a SQLite file is read without MLflow."""
    address, _ = mlflow_store(config.state)
    return Registry(address)


def past_audits(config: Config) -> "tuple[PastAudit, ...]":
    """Return the audits of the state folder, the newest first; none where it has no artifacts yet."""
    # The report of an audit, which few commands need.
    from schemas.audit_record import read_audit_record  # noqa: PLC0415
    from tasks.audit.report import PastAudit  # noqa: PLC0415

    store = open_store(config)
    audits: list[PastAudit] = []
    for record in store.records("audit"):
        # An audit of an older format cannot be compared; it must not prevent this one.
        with suppress(InputError):
            audits.append(PastAudit(record.created_at, read_audit_record(store.path(record.sha256))))
    return tuple(audits)


def served_logs(config: Config) -> Path:
    """Return the folder of the state folder with the gateway's logs."""
    return config.state.root / "logs"


def logs_to_monitor(config: Config, given: Path | None) -> Path:
    """Return the file or folder of the logs."""
    named = given or config.monitor.logs or served_logs(config)
    if named == served_logs(config) and not named.is_dir():
        raise InputError(
            f"no logs are given, and `tucano serve` has written none into {named}; name a file or folder of them, or "
            "add --set monitor.logs=PATH"
        )
    return named


def own_files(config: SynthesizeConfig, state: Path) -> "OwnFiles | None":
    """Return the files of `synthesize.files`; None where another source is set."""
    if config.files is None:
        return None
    # All rewards and patterns, which most runs of this command do without.
    from tasks.commerce.registry import TASKS  # noqa: PLC0415
    from tasks.synthesize.own.identities import open_key  # noqa: PLC0415
    from tasks.synthesize.own.opened import open_own_files  # noqa: PLC0415

    return open_own_files(config.files, partial(open_key, state), {name: task.inputs for name, task in TASKS.items()})
