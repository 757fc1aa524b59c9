"""An object store in a local folder."""

import io
import os
import shutil
import uuid
from pathlib import Path
from typing import BinaryIO, Final

from schemas.errors import InputError
from tasks.checkpoints.object_store import ObjectMissing

INCOMING_FOLDER: Final = ".incoming"


class FolderStore:
    """An `ObjectStore` whose objects are files, by their keys.

    An object is written and synced under another name and then linked to its own: unlike a rename, a link fails where
    the name is taken. What a killed writer leaves under the other name is never read.
    """

    def __init__(self, root: Path) -> None:
        """Use the store in `root`; the folder is made with the first object."""
        self._root = root

    def put_new(self, key: str, content: Path | bytes) -> bool:
        """Create an object from a file or from bytes, unless there is one; tell whether it was created.

        Raises:
            InputError: The folder cannot be written or its disk is full.
        """
        path = self._root / key
        if path.exists():
            return False
        with _open(content) as source:
            try:
                self._link_new(source, path)
            except FileExistsError:
                return False
            except OSError as error:
                raise InputError(
                    f"the checkpoint mirror {self._root} cannot be written ({error.strerror}); free space or "
                    "permissions there, and run the same command again"
                ) from error
        return True

    def read(self, key: str) -> bytes:
        """Return an object's bytes.

        Raises:
            ObjectMissing: There is no such object.
        """
        try:
            return (self._root / key).read_bytes()
        except FileNotFoundError:
            raise self._missing(key) from None

    def download(self, key: str, path: Path) -> None:
        """Copy an object to a file whose folder exists.

        Raises:
            ObjectMissing: There is no such object; the file is not made.
        """
        source = self._root / key
        if not source.exists():
            raise self._missing(key)
        shutil.copyfile(source, path)

    def keys(self, prefix: str) -> list[str]:
        """Return the keys that start with the prefix, sorted."""
        keys = (path.relative_to(self._root).as_posix() for path in self._root.rglob("*") if path.is_file())
        return sorted(key for key in keys if key.startswith(prefix) and not key.startswith(INCOMING_FOLDER))

    def delete(self, key: str) -> None:
        """Delete an object; one that is not there is no error."""
        (self._root / key).unlink(missing_ok=True)

    def _link_new(self, source: BinaryIO, path: Path) -> None:
        incoming = self._root / INCOMING_FOLDER / uuid.uuid4().hex
        incoming.parent.mkdir(parents=True, exist_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with incoming.open("xb") as target:
                shutil.copyfileobj(source, target)
                target.flush()
                os.fsync(target.fileno())
            os.link(incoming, path)
            _synchronize(path.parent)
        finally:
            incoming.unlink(missing_ok=True)

    def _missing(self, key: str) -> ObjectMissing:
        return ObjectMissing(f"the checkpoint mirror {self._root} has no object {key}; pull another checkpoint")


def _open(content: Path | bytes) -> BinaryIO:
    return io.BytesIO(content) if isinstance(content, bytes) else content.open("rb")


def _synchronize(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
