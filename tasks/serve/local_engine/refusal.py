"""Refusal of a request: one sentence with its status, in OpenAI's form."""

from typing import Any


class RefusedRequest(Exception):
    """Request that gets no answer."""

    def __init__(self, message: str, status: int = 400) -> None:
        """Say why.

        Args:
            message: One sentence.
            status: HTTP status.
        """
        super().__init__(message)
        self.status = status


def as_openai_error(message: str, status: int) -> dict[str, Any]:
    """Return the body of an error."""
    kind = "invalid_request_error" if status < 500 else "server_error"
    return {"error": {"message": message, "type": kind, "param": None, "code": status}}
