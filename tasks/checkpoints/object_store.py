"""What the mirror asks of a place that keeps bytes by name."""

from pathlib import Path
from typing import Protocol

from schemas.errors import InputError


class ObjectMissing(InputError):
    """There is no object of that name."""


class ObjectStore(Protocol):
    """A folder or a bucket. An object is there as a whole or not at all, and is never changed, only deleted.

    Keys are like relative paths: `manifests/00000010.json`.
    """

    def put_new(self, key: str, content: Path | bytes) -> bool:
        """Create an object from a file or from bytes, unless there is one; tell whether it was created.

        Of several writers at once exactly one creates it. When this returns, the object survives a crash.
        """

    def read(self, key: str) -> bytes:
        """Return an object's bytes.

        Raises:
            ObjectMissing: There is no such object.
        """

    def download(self, key: str, path: Path) -> None:
        """Write an object's bytes to a file whose folder exists.

        Raises:
            ObjectMissing: There is no such object; the file is not made.
        """

    def keys(self, prefix: str) -> list[str]:
        """Return the keys that start with the prefix, sorted."""

    def delete(self, key: str) -> None:
        """Delete an object; one that is not there is no error."""
