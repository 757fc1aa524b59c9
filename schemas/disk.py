"""Files on the disk: digests, texts that people write, atomic writes with one writer at a time, and scratch folders."""

import fcntl
import hashlib
import os
import shutil
import stat
import tempfile
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from schemas.errors import InputError
from schemas.sqlite_file import SECONDS_TO_WAIT, in_use

LARGEST_TEXT: Final = 1_000_000
"""Most bytes of a text that people write."""
PREFIX: Final = "tucano-"
SECONDS_TO_BEGIN: Final = 3600
"""Age from which an unlocked scratch folder is a killed process's, and none's that is just beginning."""


def file_sha256(path: Path) -> str:
    """Return the sha256 of a file's content, in hexadecimal; the file may be larger than memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Read a document of TOML; FileNotFoundError where there is none."""
    try:
        return tomllib.loads(read_text_file(path, what))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{what} {path} is no TOML: {error}; correct it") from None


def read_text_file(path: Path, what: str) -> str:
    """Read a text, without a byte order mark and with line feeds alone; FileNotFoundError where there is none."""
    try:
        if path.stat().st_size > LARGEST_TEXT:
            raise InputError(f"{what} {path} is larger than {LARGEST_TEXT // 10**6} MB; give another file")
        content = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise InputError(f"{what} {path} cannot be read ({error.strerror}); check the path") from None
    if b"\0" in content:
        raise InputError(f"{what} {path} has a NUL byte, as UTF-16 does; save it as UTF-8")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InputError(f"{what} {path}: line {line} is not UTF-8; save it as UTF-8") from None
    # Some programs add a mark to a text that has one.
    return text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold a file of people's during the block, against other commands that change it."""
    from filelock import FileLock, Timeout

    lock = FileLock(file.with_name(f".{file.name}.lock"), timeout=SECONDS_TO_WAIT)
    try:
        lock.acquire()
    except Timeout:
        raise in_use(str(file)) from None
    try:
        yield
    finally:
        lock.release()


def synchronize(path: Path) -> None:
    """Wait until a file's bytes, or a folder's names, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_whole(path: Path, content: bytes) -> None:
    """Write a file of people's in place of another: it is the one or the other, whenever this process is killed.

    Its permissions stay, and a symbolic link remains one: both may share the file with others.
    """
    path = path.resolve()
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    _put(content, path.with_name(f".{path.name}.{os.getpid()}.draft"), path, mode)
    synchronize(path.parent)


def write_whole(path: Path, text: str, mode: int | None = None) -> None:
    """Write a text file by renaming a draft: a reader finds it whole, whenever this process or the machine ends."""
    _put(text.encode(), path.with_suffix(".draft"), path, mode)


def _put(content: bytes, draft: Path, path: Path, mode: int | None = None) -> None:
    """Write a draft and rename it, with these permissions if any; a failure, as of a full disk, leaves none."""
    try:
        # Nobody reads the draft who may not read the file.
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode or 0o666), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if mode is not None:
            draft.chmod(mode)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


@contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Path]:
    """Provide an empty folder, which only this user can read and which is removed with the block.

    It is made in `parent` or the system's temporary folder, where those of killed processes are removed.
    """
    parent = parent or Path(tempfile.gettempdir())
    for home in parent.glob(f"{PREFIX}????????"):
        # Another user's, no folder, of a running process, or gone meanwhile.
        with suppress(OSError):
            _remove_abandoned(home)
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=parent) as name:
        # The system releases it with the process, however that ends.
        lock = os.open(name, os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield Path(name)
        finally:
            os.close(lock)


def _remove_abandoned(home: Path) -> None:
    lock = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if time.time() - os.fstat(lock).st_mtime > SECONDS_TO_BEGIN:
            shutil.rmtree(home)
    finally:
        os.close(lock)
