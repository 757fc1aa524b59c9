"""Result of a validation, apart from how it is made, so that a summary is read without torch."""

from pydantic import BaseModel, ConfigDict, Field


class Validation(BaseModel):
    """Result of the validation split after one step."""

    model_config = ConfigDict(frozen=True)

    step: int
    mean_reward: float
    """Mean over the tasks, each counting the same, in [0, 1]; the checkpoint is chosen by it."""
    by_task: dict[str, float]
    """Mean reward of each task, in [0, 1]."""
    ground_truth: dict[str, dict[str, float]]
    """Each task's metrics other than rewards, in [0, 1]; never used to choose."""
    variety: dict[str, float] = Field(default_factory=dict)
    """Variety of each task's answers as a share of its references', in [0, 1]; empty in older checkpoints."""
