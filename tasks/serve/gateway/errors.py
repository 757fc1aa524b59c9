"""Refusals of the gateway: a status, a sentence, and when to ask again, in the form of OpenAI's errors."""

from collections.abc import Mapping
from typing import Any, Final

from fastapi.responses import JSONResponse

KINDS: Final[Mapping[int, str]] = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    408: "timeout_error",
    413: "invalid_request_error",
    422: "invalid_request_error",
    429: "rate_limit_error",
}
"""OpenAI's `type` of an error by its status; `server_error` for any other."""
TWO_LENGTHS: Final = "two_lengths"
"""Code of a request that says its length in two ways."""


class RequestRefused(Exception):
    """A request that is not answered."""

    def __init__(
        self, status: int, code: str, message: str, *, param: str | None = None, retry_after: int | None = None
    ) -> None:
        """Say why.

        Args:
            status: HTTP status.
            code: Short name of the cause, for programs and metrics.
            message: One sentence for people.
            param: The request's field that is at fault; None where it is none alone.
            retry_after: Seconds after which the same request may be answered; None where it never will be.
        """
        super().__init__(message)
        self.status, self.code, self.message, self.param, self.retry_after = status, code, message, param, retry_after

    @property
    def body(self) -> dict[str, Any]:
        """The error in OpenAI's form."""
        kind = KINDS.get(self.status, "server_error" if self.status >= 500 else "invalid_request_error")
        return {"error": {"message": self.message, "type": kind, "code": self.code, "param": self.param}}

    def response(self) -> JSONResponse:
        """Return the answer to the client."""
        headers = {} if self.retry_after is None else {"Retry-After": str(self.retry_after)}
        if self.status == 401:
            headers["WWW-Authenticate"] = "Bearer"
        if self.code == TWO_LENGTHS:
            # Where the request ends is not sure, nor that what follows it is another one.
            headers["Connection"] = "close"
        return JSONResponse(self.body, self.status, headers=headers)
