"""Summary of a dataset: its splits, what was dropped and why, and what was replaced."""

from pydantic import BaseModel, ConfigDict, Field

from schemas.tables.summary import Summary
from schemas.tasks import TaskName


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
