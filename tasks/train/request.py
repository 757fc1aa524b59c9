"""Request of one training run, common to all algorithms."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from schemas.config.train import TrainConfig
from schemas.config.workers import MachinePrice
from schemas.tasks import SpecName, TaskName


class TrainRequest(BaseModel):
    """Request of the train stage to its child process."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    config: TrainConfig
    """The recipe."""
    spec: SpecName
    """The reward specification to train on."""
    tasks: tuple[TaskName, ...] = ()
    """Tasks to train; all of the dataset's if empty."""
    validation_temperature: float
    """Sampling temperature of the validation answers, equal to the evaluation's."""
    validation_batch_size: int
    """Validation prompts answered at once."""
    max_prompt_tokens: int
    """The longest prompt that curation allowed, in tokens with the chat template."""
    context: int | None = None
    """Tokens that the model was trained on, where the configuration says so."""
    seed: int
    """Decides the adapter's initial weights, the order of the prompts and every sampled token."""
    base: Path
    """Folder of the base model."""
    base_sha256: str
    """Digest of the base model, recorded in its checkpoints."""
    dataset: Path
    """Folder of the dataset artifact."""
    store: Path
    """Folder of the store on which SQL is executed."""
    audit: Path
    """Folder of the audit that permits this training."""
    mirror: str
    """Checkpoint mirror: a folder or `gs://bucket/prefix`."""
    training: str
    """Key of this training in the mirror: equal inputs, equal key."""
    fresh: str | None = None
    """Id of the run that restarts this training and removes existing checkpoints, once; None resumes."""
    prices: dict[str, MachinePrice] = Field(default_factory=dict)
    """Prices of machines, by device, for the cost report of the training machine."""
    output: Path
    """Empty folder for the adapter and the training summary."""
