"""Where a mirror is, as people write it: a folder, or `gs://bucket/prefix`."""

from pathlib import Path

from schemas.errors import InputError
from tasks.checkpoints.folder_store import FolderStore
from tasks.checkpoints.mirror import Mirror

BUCKET_SCHEME = "gs://"


def open_mirror(address: str, training: str) -> Mirror:
    """Open the mirror of one training.

    Args:
        address: A folder, or `gs://bucket/prefix`.
        training: Key of the training, under which its checkpoints are kept.

    Raises:
        InputError: The address is of another scheme, names no bucket, or no credentials are found for it.
    """
    if not address.startswith(BUCKET_SCHEME):
        if "://" in address:
            raise InputError(f"the mirror {address!r} is neither a folder nor gs://bucket/prefix")
        return Mirror(FolderStore(Path(address)), training)
    bucket, _, prefix = address.removeprefix(BUCKET_SCHEME).partition("/")
    if not bucket:
        raise InputError(f"the mirror {address!r} names no bucket; write gs://bucket/prefix")

    from google.auth.exceptions import DefaultCredentialsError

    from tasks.checkpoints.gcs_store import GcsStore

    try:
        store = GcsStore(bucket)
    except DefaultCredentialsError:
        raise InputError(
            f"no Google credentials are found for the mirror {address}; run `gcloud auth application-default login` or "
            "set GOOGLE_APPLICATION_CREDENTIALS"
        ) from None
    return Mirror(store, "/".join(part for part in (prefix.strip("/"), training) if part))
