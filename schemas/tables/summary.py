"""Summaries of prompts and of a dataset: the counts beside an artifact's tables, as `summary.json`."""

import json
from pathlib import Path
from typing import Any, Final, Self

from pydantic import BaseModel, ConfigDict

SUMMARY_FILE: Final = "summary.json"


class Summary(BaseModel):
    """Counts of an artifact's tables; `read` raises OSError without a file, and ValueError for another content."""

    # Artifacts are kept; those of a later version may have more fields.
    model_config = ConfigDict(extra="ignore", frozen=True)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the summary in an artifact's folder."""
        return cls.model_validate_json((folder / SUMMARY_FILE).read_bytes())

    def write(self, folder: Path) -> None:
        """Write the summary into an artifact's folder; equal counts give equal bytes."""
        text = json.dumps(self.as_document(), indent=2, ensure_ascii=False) + "\n"
        (folder / SUMMARY_FILE).write_text(text, encoding="utf-8")

    def as_document(self) -> dict[str, Any]:
        """Return what the file holds."""
        return self.model_dump(mode="json")
