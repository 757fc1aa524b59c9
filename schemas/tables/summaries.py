"""Summaries of prompts and of a dataset: the counts beside an artifact's tables, as `summary.json`."""

import json
from pathlib import Path
from typing import Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field

from schemas.tasks import TaskName

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


class StoreSize(BaseModel):
    """Rows of the store that the prompts were made from."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    orders: int
    reviews: int
    products: int


class PromptsSummary(Summary):
    """Counts of synthesized prompts."""

    source: str
    seed: int
    store: StoreSize
    asked: dict[TaskName, int]
    made: dict[TaskName, int]
    """Prompts made, of every task."""
    origins: dict[TaskName, dict[str, int]] = Field(default_factory=dict)
    """All prompts of every task by where they came from: `simulated`, `olist`, `files` or `logs`."""
    without_reference: dict[TaskName, int] = Field(default_factory=dict)
    """Prompts of which nothing of the right answer is known, by task."""
    served: dict[TaskName, int] | None = None
    """Prompts added from a served model's logs, by task; None where no logs were given."""
    minority_floor: int
    minorities: dict[TaskName, int]
    """Prompts of each task with fewer."""
    scrubbed: dict[str, int] = Field(default_factory=dict, exclude_if=lambda counts: not counts)
    """Personal data replaced in the store's texts and in prompts, by kind."""
    warnings: list[str]


class GeneralSummary(BaseModel):
    """General instructions beside the splits, for the warm start."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    name: str
    licence: str
    share: float
    """Their wanted share in all training rows."""
    rows: int
    """Rows written, repeated ones too."""
    read: int
    drawn: int
    too_long: int
    copies: int
    """Further instructions with the prompt of a chosen one."""
    held_out: int
    """Other instructions that contain a prompt of validation or test."""
    scrubbed: dict[str, int]
    """Personal data replaced in the chosen ones, by kind."""


class DatasetSummary(Summary):
    """Counts of a dataset."""

    split_seed: int
    held_out_share: float
    """Share of customers that are never trained on."""
    train: int
    validation: int
    test: int
    quarantined: int
    tasks: dict[TaskName, dict[str, int]]
    reasons: dict[str, dict[str, int]]
    """Dropped rows by reason and task, which may be unknown."""
    scrubbed: dict[str, int]
    sources: dict[str, int]
    without_reference: dict[TaskName, dict[str, int]] = Field(default_factory=dict)
    """Rows of each split of which nothing of the right answer is known, by task; tasks without such are left out."""
    references_by_people: dict[TaskName, dict[str, int]] = Field(default_factory=dict)
    """Rows of validation and test whose reference people gave or completed, by task; tasks without such are left
    out."""
    references_left_out: int = 0
    """Prompts that people gave references for, and that are neither in validation nor in test."""
    general: GeneralSummary | None

    @property
    def rows(self) -> dict[str, int]:
        """Return the rows of each split, by its name."""
        return {"train": self.train, "validation": self.validation, "test": self.test}

    @property
    def warnings(self) -> list[str]:
        """Return what is to be known of references: those that are missing, and people's that name no prompt."""
        warnings = [
            f"{task} has rows without a reference: {', '.join(f'{split} {count}' for split, count in splits.items())}; "
            "in training and validation they are scored by form alone, and in the test split they count for nothing "
            "until people give them a reference"
            for task, splits in self.without_reference.items()
        ]
        if self.references_left_out:
            warnings.append(
                f"curate.references names {self.references_left_out} prompts that are neither in validation nor in "
                "test of this dataset; what people gave for them was left out"
            )
        return warnings
