"""Base class of the configuration's sections: strict, immutable, and identified by a digest."""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict


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


def _without_paths(values: Mapping[str, Any], as_json: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: _without_paths(value, as_json[name]) if isinstance(value, Mapping) else as_json[name]
        for name, value in values.items()
        if not _is_path(value)
    }


def _is_path(value: object) -> bool:
    # A model's name is a text, and may be that of a folder.
    return isinstance(value, Path) or (isinstance(value, str) and (Path(value).is_absolute() or value[:5] == "file:"))
