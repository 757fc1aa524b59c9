"""Summary of synthesized prompts: what was asked for, what was made, and what is to be known of it."""

from pydantic import BaseModel, ConfigDict, Field

from schemas.tables.summary import Summary
from schemas.tasks import TaskName


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
