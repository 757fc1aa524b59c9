"""Object store in a bucket of Google Cloud Storage."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from json import JSONDecodeError
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from schemas.errors import InputError
from tasks.checkpoints.object_store import ObjectMissing, StoredObject, written_whole

if TYPE_CHECKING:
    from google.cloud.storage import Blob, Client
    from requests import Response

# Otherwise Google's client requests the bucket itself, in a separate thread and even without tracing: a request that
# Storage Object User is refused.
os.environ.setdefault("DISABLE_GCS_PYTHON_CLIENT_OTEL_BUCKET_METADATA", "true")

ABSENT: Final = 0
"""Generation of an object that does not exist: as a condition, it makes an upload create only."""
UPLOAD_CHUNK: Final = 32 << 20
"""Bytes per request of a large upload: the unit of a retry, and of a thread's memory."""
REQUEST_SECONDS: Final = 60
"""Time to connect, to send one request or to wait for more of its answer: 8 threads need 4.5 MB/s to send a chunk."""
PAGE: Final = "a page of HTML in place of an answer, from"
_LISTED: Final = "items(name,generation,size,crc32c,timeCreated),nextPageToken"


class GcsStore:
    """An `ObjectStore` in a bucket. One store serves about eight threads at once."""

    def __init__(self, bucket: str, client: "Client | None" = None, *, seconds_to_retry: float = 120) -> None:
        from google.auth.exceptions import DefaultCredentialsError
        from google.cloud.storage import Client
        from google.cloud.storage.retry import DEFAULT_RETRY

        try:
            self._client = client or Client(project=None)  # A bucket's name says all.
        except DefaultCredentialsError:
            raise InputError(
                f"no Google credentials are found for the bucket {bucket}; run `gcloud auth application-default login` "
                "or set GOOGLE_APPLICATION_CREDENTIALS"
            ) from None
        http = self._client._http  # noqa: SLF001 - no public way to see an answer before Google's client reads it
        for session in (http, http._auth_request.session):  # noqa: SLF001
            session.hooks["response"] = [_refuse_page]
        self._bucket = self._client.bucket(bucket)
        self._seconds_to_retry = seconds_to_retry
        retry = DEFAULT_RETRY.with_delay(initial=0.5, maximum=20, multiplier=2).with_timeout(seconds_to_retry)
        self._request: dict[str, Any] = {"retry": retry, "timeout": REQUEST_SECONDS}

    def put_new(self, key: str, content: Path | bytes) -> StoredObject | None:
        """Create an object from a file or from bytes; return None if its name is taken."""
        from google.api_core.exceptions import PreconditionFailed

        blob = self._bucket.blob(key, chunk_size=UPLOAD_CHUNK)
        how = self._request | {
            "if_generation_match": ABSENT,
            "checksum": "crc32c",
            "content_type": "application/octet-stream",
        }
        with self._explained():
            try:
                if isinstance(content, bytes):
                    blob.upload_from_string(content, **how)
                else:
                    blob.upload_from_filename(content, **how)
            except PreconditionFailed:
                return None
        return _describe(blob)

    def read(self, key: str) -> bytes:
        """Return an object's bytes."""
        with self._explained(key):
            # In one request and unchecked: the reader verifies them by its own digest.
            content = self._bucket.blob(key).download_as_bytes(
                checksum=None, raw_download=True, single_shot_download=True, **self._request
            )
        return bytes(content)

    def download(self, key: str, path: Path) -> None:
        """Write an object's bytes to a new file in an existing folder; on failure no file is left."""
        with self._explained(key), written_whole(path) as target:
            self._bucket.blob(key).download_to_file(target, checksum=None, raw_download=True, **self._request)

    def list(self, prefix: str) -> list[StoredObject]:
        """Return the objects whose keys start with the prefix, sorted by key."""
        with self._explained():
            blobs = self._client.list_blobs(self._bucket, prefix=prefix, fields=_LISTED, **self._request)
            return sorted((_describe(blob) for blob in blobs), key=lambda stored: stored.key)

    def delete(self, stored: StoredObject) -> bool:
        """Delete exactly this object; return False if it is gone, or if another has its name now."""
        from google.api_core.exceptions import NotFound, PreconditionFailed

        with self._explained():
            try:
                self._bucket.blob(stored.key).delete(if_generation_match=stored.generation, **self._request)
            except (NotFound, PreconditionFailed):
                return False
        return True

    def erase(self, prefix: str) -> int:
        """Delete the objects whose keys start with the prefix, and all earlier generations; return their number."""
        from google.api_core.exceptions import NotFound

        erased = 0
        with self._explained():
            for blob in self._client.list_blobs(
                self._bucket, prefix=prefix, versions=True, fields=_LISTED, **self._request
            ):
                with suppress(NotFound):
                    # By its generation, since a bucket with versions would keep what is deleted by its name.
                    blob.delete(**self._request)
                    erased += 1
        return erased

    @contextmanager
    def _explained(self, key: str = "") -> Iterator[None]:
        """Translate errors into one sentence; with a key, "not found" means that object."""
        from google.api_core.exceptions import Forbidden, GoogleAPICallError, NotFound, RetryError, Unauthorized
        from google.auth.exceptions import GoogleAuthError
        from google.cloud.storage.exceptions import DataCorruption

        name = self._bucket.name
        try:
            yield
        except NotFound:
            if key:
                raise ObjectMissing(f"the bucket {name} has no object {key}; use another checkpoint") from None
            raise InputError(f"there is no bucket {name}; create it or correct the mirror's address") from None
        except (Unauthorized, GoogleAuthError):
            raise InputError(
                f"the Google credentials for the bucket {name} are refused; run `gcloud auth application-default "
                "login`, and see that this machine's clock is right"
            ) from None
        except Forbidden as error:
            refusal = f"there is no permission to use the bucket {name}; give the account the role Storage Object User"
            if "quota" in str(error).lower():
                refusal = f"the quota for the bucket {name} is used up; raise it and run again"
            raise InputError(refusal) from None
        except RetryError as error:
            raise InputError(
                f"the bucket {name} could not be reached within {self._seconds_to_retry:g} seconds of retries "
                f"({_reason(error.cause)}); check the network and the service's quota, and run the same command again"
            ) from None
        except DataCorruption:
            # Google's client has removed the object again.
            raise InputError(
                f"what was sent to the bucket {name} arrived altered; check the network, and run the same command again"
            ) from None
        except JSONDecodeError:
            raise InputError(
                f"what answers for the bucket {name} is not Google's storage, for it gives no JSON; see what stands "
                "between, as a proxy, and run the same command again"
            ) from None
        except GoogleAPICallError as error:
            raise InputError(
                f"the bucket {name} refused a request ({_reason(error)}); look the status up in the documentation of "
                "Cloud Storage, mend it and run the same command again"
            ) from error


def _refuse_page(response: "Response", **_: object) -> None:
    """Take a page of a proxy or of a network that asks to sign in for no answer; so the request is sent again.

    Google's client would return the page as the object's bytes, or fail in reading it as JSON.
    """
    from requests import ConnectionError as NotConnected

    # Google names the type of all that it sends.
    unnamed = "text/html" if int(response.headers.get("content-length", 0)) else ""
    if response.ok and response.headers.get("content-type", unnamed).startswith("text/html"):
        raise NotConnected(f"{PAGE} {urlsplit(response.url).netloc}")


def _describe(blob: "Blob") -> StoredObject:
    return StoredObject(blob.name, int(blob.generation), int(blob.size), blob.crc32c, blob.time_created)


def _reason(error: Exception) -> str:
    if PAGE in str(error):
        return str(error)
    code = getattr(error, "code", None) or getattr(getattr(error, "response", None), "status_code", None)
    return f"HTTP status {int(code)}" if code else type(error).__name__
