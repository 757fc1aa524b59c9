"""Requests to Google's interfaces, by the account of this machine: the only module here that imports its libraries."""

from functools import cached_property
from typing import Any, Final

from requests import RequestException

from flows.l4.service import Unreachable
from schemas.errors import InputError

SCOPE: Final = "https://www.googleapis.com/auth/cloud-platform"
PROJECT_VARIABLE: Final = "GOOGLE_CLOUD_PROJECT"
SECONDS_TO_ANSWER: Final = 60.0
SIGN_IN: Final = "run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS"
ASK_AGAIN: Final = frozenset({408, 429})
"""Statuses below 500 after which the same request may be answered."""


class Missing(InputError):
    """Google has nothing of that name."""


class Google:
    """Requests of one project."""

    def __init__(self, project: str | None, session: Any = None) -> None:
        """Ask for a project, that of the credentials if none is named; a session is opened at the first request."""
        self._named, self._given = project, session

    @property
    def project(self) -> str:
        """Id of the project."""
        if not (project := self._named or self._opened[1]):
            raise InputError(f"no Google project is named; give --project PROJECT, or set {PROJECT_VARIABLE}")
        return project

    @cached_property
    def _opened(self) -> tuple[Any, str | None]:
        """The session, and the credentials' own project."""
        if self._given is not None:
            return self._given, None
        from google.auth import default  # noqa: PLC0415 - a quarter of a second
        from google.auth.exceptions import DefaultCredentialsError  # noqa: PLC0415
        from google.auth.transport.requests import AuthorizedSession  # noqa: PLC0415

        try:
            credentials, project = default(scopes=[SCOPE])
        except DefaultCredentialsError:
            raise InputError(f"no Google credentials are found; {SIGN_IN}") from None
        return AuthorizedSession(credentials), project

    def ask(self, method: str, url: str, body: Any = None, headers: dict[str, str] | None = None) -> Any:
        """Return the answer's JSON.

        Raises:
            Missing: There is nothing of that name.
            InputError: Another refusal, in Google's words, as of missing or expired credentials or for want of a quota.
            Unreachable: No answer, or none of Google's; a request that changes something may have been carried out.
        """
        from google.auth.exceptions import GoogleAuthError, TransportError  # noqa: PLC0415 - as above

        host = url.split("/")[2]
        try:
            answer = self._opened[0].request(method, url, json=body, headers=headers, timeout=SECONDS_TO_ANSWER)
            document = answer.json()
        except (TransportError, RequestException, ValueError) as error:
            raise Unreachable(f"{host} does not answer ({type(error).__name__})") from None
        except GoogleAuthError as error:
            reason = str(error.args[0] if error.args else error).partition("\n")[0]
            raise InputError(f"Google's credentials are not accepted any more ({reason}); {SIGN_IN}") from None
        if answer.ok:
            return document
        fault = document.get("error") if isinstance(document, dict) else None
        message = fault.get("message") if isinstance(fault, dict) else None
        said = f"{host} says: {str(message or answer.reason).partition(chr(10))[0].rstrip('.')}"
        status = answer.status_code
        if status == 429 and "quota" in said.lower():
            raise InputError(f"{said}; ask for the quota in the console under IAM & Admin, Quotas")
        if status >= 500 or status in ASK_AGAIN:
            raise Unreachable(f"{host} does not answer (HTTP {status})")
        if status == 401:
            raise InputError(f"{said}; {SIGN_IN}")
        if status == 404:
            raise Missing(f"{said}; correct the name")
        raise InputError(f"{said} (HTTP {status}); give the account what it lacks, and run it again")
