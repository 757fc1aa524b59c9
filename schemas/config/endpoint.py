"""Configuration of a language model at an OpenAI-compatible endpoint (vLLM, Ollama, and others)."""

import re
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from schemas.config.section import Section


def _without_secrets(url: str) -> str:
    """Return the address of a server without a trailing slash."""
    try:
        parts = urlsplit(url)
        plain = parts.scheme in {"http", "https"} and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        plain = False
    # Not repeated in the message: the superfluous part may be a password.
    if not plain or parts.username is not None or parts.query or parts.fragment:
        raise ValueError(
            "must be an http or https address with no user, query or fragment, such as http://127.0.0.1:8000/v1"
        )
    return url.rstrip("/")


def _is_a_name(name: str) -> str:
    if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", name):
        raise ValueError("must be the NAME of an environment variable, in capitals; what it holds is never written")
    return name


ServerUrl = Annotated[str, AfterValidator(_without_secrets)]
VariableName = Annotated[str, AfterValidator(_is_a_name)]
HOW_IT_IS_REACHED: Final = frozenset({"key_variable", "concurrency", "timeout_seconds", "max_attempts"})
"""Fields of an endpoint that do not affect its answers, and so are in no key."""


class EndpointSection(Section):
    """A chat model at an OpenAI-compatible endpoint; the key stays in the environment."""

    url: ServerUrl
    """Base URL, such as `http://127.0.0.1:8000/v1`."""
    model: str = Field(min_length=1)
    """Name of the model there."""
    key_variable: VariableName | None = None
    """NAME of the environment variable with the key."""
    concurrency: int = Field(default=4, ge=1, le=64)
    """Concurrent requests."""
    timeout_seconds: float = Field(default=30.0, gt=0)
    """Time limit of one request."""
    max_attempts: int = Field(default=4, ge=1, le=10)
    """Attempts at one request."""
