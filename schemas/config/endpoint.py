"""A language model at an endpoint of OpenAI's form (vLLM, Ollama, and others): where it is, and how it is asked."""

import re
from typing import Final
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from schemas.section import Section

HOW_IT_IS_REACHED: Final = frozenset({"key_variable", "concurrency", "timeout_seconds", "max_attempts"})
"""Fields of an endpoint that decide nothing of what it says, and so are in no key."""


class EndpointSection(Section):
    """A chat model at an endpoint; the key stays in the environment."""

    url: str
    """Base address of the endpoint, such as `http://127.0.0.1:8000/v1`."""
    model: str = Field(min_length=1)
    """The model, by the name that the endpoint knows it by."""
    key_variable: str | None = None
    """NAME of the environment variable that holds the endpoint's key; none where it asks for none."""
    concurrency: int = Field(default=4, ge=1, le=64)
    """Requests under way at once."""
    timeout_seconds: float = Field(default=30.0, gt=0)
    """The longest that one request may take."""
    max_attempts: int = Field(default=4, ge=1, le=10)
    """How often one request is sent where the endpoint is busy, broken or slow."""

    @field_validator("url")
    @classmethod
    def _url_is_an_address_without_secrets(cls, url: str) -> str:
        try:
            parts = urlsplit(url)
            plain = parts.scheme in {"http", "https"} and parts.hostname and (parts.port is None or parts.port > 0)
        except ValueError:
            plain = False
        # Not repeated in the message: what is too much in it may be a password.
        if not plain or parts.username is not None or parts.query or parts.fragment:
            raise ValueError(
                "must be an http or https address with no user, query or fragment, such as http://127.0.0.1:8000/v1"
            )
        return url.rstrip("/")

    @field_validator("key_variable")
    @classmethod
    def _key_variable_is_a_name(cls, name: str | None) -> str | None:
        if name is not None and not re.fullmatch(r"[A-Z_][A-Z0-9_]*", name):
            raise ValueError(
                "must be the NAME of an environment variable, in capitals; the key itself is never written"
            )
        return name
