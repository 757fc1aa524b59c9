"""An object store in a bucket of Google Cloud Storage."""

from pathlib import Path
from typing import TYPE_CHECKING

from tasks.checkpoints.object_store import ObjectMissing

if TYPE_CHECKING:
    from google.cloud.storage import Client

# The generation of an object that does not exist: with it as the condition, an upload only creates.
ABSENT = 0


class GcsStore:
    """An `ObjectStore` whose objects are those of a bucket."""

    def __init__(self, bucket: str, client: "Client | None" = None) -> None:
        """Use a bucket that exists.

        Args:
            bucket: Name of the bucket.
            client: How to reach it; by the environment's own credentials where None.
        """
        from google.cloud.storage import Client

        self._bucket = (client or Client()).bucket(bucket)

    def put_new(self, key: str, content: Path | bytes) -> bool:
        """Create an object from a file or from bytes, unless there is one; tell whether it was created."""
        from google.api_core.exceptions import PreconditionFailed

        blob = self._bucket.blob(key)
        try:
            if isinstance(content, bytes):
                blob.upload_from_string(content, "application/octet-stream", if_generation_match=ABSENT)
            else:
                blob.upload_from_filename(content, if_generation_match=ABSENT)
        except PreconditionFailed:
            return False
        return True

    def read(self, key: str) -> bytes:
        """Return an object's bytes.

        Raises:
            ObjectMissing: There is no such object.
        """
        from google.api_core.exceptions import NotFound

        try:
            return bytes(self._bucket.blob(key).download_as_bytes())
        except NotFound:
            raise self._missing(key) from None

    def download(self, key: str, path: Path) -> None:
        """Write an object's bytes to a file whose folder exists.

        Raises:
            ObjectMissing: There is no such object; the file is not made.
        """
        from google.api_core.exceptions import NotFound

        try:
            self._bucket.blob(key).download_to_filename(path)
        except NotFound:
            raise self._missing(key) from None

    def keys(self, prefix: str) -> list[str]:
        """Return the keys that start with the prefix, sorted."""
        return sorted(blob.name for blob in self._bucket.list_blobs(prefix=prefix))

    def delete(self, key: str) -> None:
        """Delete an object; one that is not there is no error."""
        from google.api_core.exceptions import NotFound

        try:
            self._bucket.blob(key).delete()
        except NotFound:
            return

    def _missing(self, key: str) -> ObjectMissing:
        return ObjectMissing(f"the bucket {self._bucket.name} has no object {key}; pull another checkpoint")
