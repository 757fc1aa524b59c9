"""Base class of the configuration's sections: strict, immutable, identified by a digest; and two that others share."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


class Section(BaseModel):
    """A part of the configuration: no unknown key, and immutable once read."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)

    def digest(self) -> str:
        """Return the sha256 of the section's values, equal for equal values."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    def without_paths(self) -> dict[str, Any]:
        """Return the values, as JSON has them, by which machines can be compared: all but files and folders.

        They are one machine's, and often in a folder that bears its user's name.
        """
        return _without_paths(self.model_dump(), self.model_dump(mode="json"))


def parts_are_whole(section: Any) -> Any:
    """Refuse an `accumulation` that does not divide the `batch_size`."""
    if section.batch_size % section.accumulation:
        raise ValueError(
            f"accumulation {section.accumulation} does not divide batch_size {section.batch_size}; set one that does"
        )
    return section


def _without_paths(values: Mapping[str, Any], as_json: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _without_paths(value, as_json[name]) if isinstance(value, Mapping) else as_json[name]
        for name, value in values.items()
        if not _is_path(value)
    }


def _is_path(value: object) -> bool:
    # A model's name is a text, and may be that of a folder.
    return isinstance(value, Path) or (isinstance(value, str) and (Path(value).is_absolute() or value[:5] == "file:"))


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


Language = Literal["en", "pt"]


def language_of(chosen: Language | None, source: str) -> Language:
    """Return the language of reports: the chosen one, or by where the prompts come from (`synthesize.source`)."""
    return chosen or ("en" if source == "simulated" else "pt")


class ReportConfig(Section):
    """Reports for people."""

    language: Language | None = None
    """Language of reports; English for simulated data, else Portuguese."""
