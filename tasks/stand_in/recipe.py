"""Recipe of the stand-in's training: all that decides its weights, beside the code and the machine's rounding."""

from collections.abc import Mapping
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from schemas.tasks import TaskName
from tasks.stand_in.model import StandInShape

PROMPTS: Final[Mapping[TaskName, int]] = {
    "extraction": 500,
    "sql_qa": 600,
    "insights": 1400,
    "push": 500,
    "sentiment": 300,
    "churn": 700,
}


class Recipe(BaseModel):
    """That of a stand-in from random weights, where nothing else is given."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    seed: int = 1
    """Decides stores, prompts, their order and faults, and the first weights."""
    start_sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$")
    """Digest of the weights that it goes on from; random ones if not set."""
    steps: int = Field(default=1600, ge=1)
    """Optimizer steps on right answers."""
    demonstrated_steps: int = Field(default=240, ge=0)
    """Optimizer steps on imperfect demonstrations afterwards, by optimizers without a memory."""
    batch_size: int = Field(default=32, ge=1)
    """Answered prompts a step."""
    orders: int = Field(default=2500, ge=1)
    """Orders of each simulated store."""
    prompts: Mapping[TaskName, int] = PROMPTS
    """Prompts of each store, by task."""
    matrix_rate: float = Field(default=0.012, gt=0)
    """Peak learning rate of Muon, for the matrices of the layers."""
    other_rate: float = Field(default=2e-3, gt=0)
    """Peak learning rate of AdamW, for embeddings and norms."""
    warmup_steps: int = Field(default=40, ge=1)
    """Steps in which the rates rise."""
    demonstrated_rate: float = Field(default=0.3, gt=0)
    """Share of the peak rates at which the imperfect demonstrations begin."""
    prompt_weight: float = Field(default=0.15, ge=0)
    """Weight of a prompt's tokens in the loss, of which an answer's have 1: to predict them teaches to copy."""
    shape: StandInShape = StandInShape()
    """Size of the model."""
