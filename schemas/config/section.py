"""Base class of the configuration's sections: strict, immutable, and identified by a digest."""

import hashlib

from pydantic import BaseModel, ConfigDict


class Section(BaseModel):
    """A part of the configuration: no unknown key, and immutable once read."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True)

    def digest(self) -> str:
        """Return the sha256 of the section's values, equal for equal values."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()
