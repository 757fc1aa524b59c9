"""What a training is asked: the same for every algorithm."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from schemas.tasks import SpecName, TaskName
from schemas.train_config import TrainConfig


class TrainRequest(BaseModel):
    """What the train stage asks of its child."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    config: TrainConfig
    """The recipe."""
    spec: SpecName
    """The reward specification that is trained on."""
    tasks: tuple[TaskName, ...] = ()
    """Tasks that are trained; all that the dataset has where none is named."""
    validation_temperature: float
    """Temperature of the answers that choose the checkpoint: the evaluation's own."""
    validation_batch_size: int
    """Validation prompts answered at once."""
    max_prompt_tokens: int
    """The longest prompt that curation let through, in tokens with the chat template."""
    seed: int
    """Decides the adapter's first weights, the order of the prompts and every sampled token."""
    base: Path
    """Folder of the base model."""
    base_sha256: str
    """Digest of the base model, which its checkpoints name."""
    dataset: Path
    """Folder of the dataset artifact."""
    store: Path
    """Folder of the store that SQL is executed on."""
    audit: Path
    """Folder of the audit that lets this training start."""
    mirror: str
    """Where checkpoints are mirrored: a folder or `gs://bucket/prefix`."""
    training: str
    """Key of this training in the mirror: equal inputs, equal key."""
    fresh: str | None = None
    """The run that starts this training anew, and removes the checkpoints that there are, once; None goes on."""
    output: Path
    """Empty folder for the adapter and the training summary."""
