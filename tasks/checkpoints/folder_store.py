"""Object store in a local folder."""

import fcntl
import io
import os
import secrets
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final

from schemas.disk import synchronize
from schemas.errors import InputError
from tasks.checkpoints.object_store import CHUNK, ObjectMissing, StoredObject, disk_refusal, written_whole

INCOMING_FOLDER: Final = ".incoming"
ABANDONED_AFTER: Final = 24 * 3600 * 1_000_000_000
"""Age in nanoseconds at which an unfinished file is attributed to a killed writer."""
_MILLISECOND: Final = 1_000_000


class FolderStore:
    """An `ObjectStore` whose objects are files, named by their keys.

    An object is written and synced under a temporary name and then linked to its own: unlike a rename, a link fails if
    the name is taken. Temporary files of killed writers are never read. A file's modification time is its generation
    and, to the millisecond, its creation time by the file system's clock.
    """

    def __init__(self, root: Path) -> None:
        """Use the store in `root`; the folder is created with the first object."""
        self._root = root

    def put_new(self, key: str, content: Path | bytes) -> StoredObject | None:
        """Create an object from a file or from bytes; return None if its name is taken."""
        path = self._root / key
        with self._explained("written"):
            if path.exists():
                return None
        with _open(content) as source, self._explained("written"), self._incoming() as incoming:
            _write(source, incoming)
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(incoming, path)
            except FileExistsError:
                return None
            synchronize(path.parent)
            return self._describe(key, incoming)

    def read(self, key: str) -> bytes:
        """Return an object's bytes."""
        with self._explained("read", key):
            return (self._root / key).read_bytes()

    def download(self, key: str, path: Path) -> None:
        """Copy an object to a new file in an existing folder; on failure no file is left."""
        with self._explained("read", key):
            source = (self._root / key).open("rb")
        with source, written_whole(path) as target:
            shutil.copyfileobj(source, target, CHUNK)

    def list(self, prefix: str) -> list[StoredObject]:
        """Return the objects whose keys start with the prefix, sorted by key."""
        found = []
        with self._explained("read"):
            for path in _files(self._root / prefix.rpartition("/")[0]):
                key = path.relative_to(self._root).as_posix()
                if key.startswith(prefix):
                    try:
                        found.append(self._describe(key, path))
                    except FileNotFoundError:
                        continue  # deleted meanwhile
        return sorted(found, key=lambda stored: stored.key)

    def erase(self, prefix: str) -> int:
        """Delete the objects whose keys start with the prefix for good; return their number."""
        return sum(map(self.delete, self.list(prefix)))

    def delete(self, stored: StoredObject) -> bool:
        """Delete exactly this object; return False if it is gone, or if another has its name now."""
        path = self._root / stored.key
        with self._explained("written"):
            try:
                file = path.open("r+b")
            except FileNotFoundError:
                return False
            with file:
                # Only a deletion frees a name, and deletions of one file wait for each other here: the object found
                # under the name after that still has it when it is removed.
                fcntl.flock(file, fcntl.LOCK_EX)
                status = os.fstat(file.fileno())
                try:
                    if status.st_mtime_ns != stored.generation or not os.path.samestat(status, path.stat()):
                        return False
                except FileNotFoundError:
                    return False
                path.unlink()
        return True

    def _describe(self, key: str, path: Path) -> StoredObject:
        status = path.stat()
        return StoredObject(
            key=key,
            generation=status.st_mtime_ns,
            size=status.st_size,
            checksum=self._root / key,
            created_at=datetime.fromtimestamp(status.st_mtime_ns / 1e9, UTC),
        )

    @contextmanager
    def _incoming(self) -> Iterator[Path]:
        folder = self._root / INCOMING_FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        incoming = folder / uuid.uuid4().hex
        incoming.touch(exist_ok=False)
        try:
            _remove_abandoned(folder, incoming.stat().st_mtime_ns - ABANDONED_AFTER)
            yield incoming
        finally:
            incoming.unlink(missing_ok=True)

    @contextmanager
    def _explained(self, done: str, key: str = "") -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if key and isinstance(error, FileNotFoundError | IsADirectoryError):
                raise ObjectMissing(
                    f"the checkpoint mirror {self._root} has no object {key}; use another checkpoint"
                ) from None
            raise disk_refusal(f"the checkpoint mirror {self._root} cannot be {done}", error) from error


def _files(folder: Path) -> Iterator[Path]:
    """Yield all files but hidden ones, which are no objects: unfinished ones, and those that NFS keeps while open."""

    def refuse(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    for parent, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(parent, name) for name in names if not name.startswith("."))


def _open(content: Path | bytes) -> BinaryIO:
    return io.BytesIO(content) if isinstance(content, bytes) else content.open("rb")


def _write(source: BinaryIO, path: Path) -> None:
    with path.open("r+b") as target:
        target.writelines(_pieces(source))
        target.flush()
        # The file system's clock ticks every few milliseconds, so two objects of one name could share a time. Random
        # digits below the millisecond make it a generation.
        written = os.fstat(target.fileno()).st_mtime_ns
        generation = written - written % _MILLISECOND + secrets.randbelow(_MILLISECOND)
        os.utime(target.fileno(), ns=(generation, generation))
        os.fsync(target.fileno())


def _pieces(source: BinaryIO) -> Iterator[bytes]:
    """Yield a file's bytes; report a failed read as the file's and not the mirror's."""
    try:
        while piece := source.read(CHUNK):
            yield piece
    except OSError as error:
        raise InputError(f"{source.name} cannot be read ({error.strerror}); publish a whole folder") from error


def _remove_abandoned(folder: Path, before: int) -> None:
    for path in folder.iterdir():
        with suppress(FileNotFoundError):
            if path.stat().st_mtime_ns < before:
                path.unlink()
