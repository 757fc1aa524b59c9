"""A model in MLflow's format, so that a registered version can be loaded, asked and served."""

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import tasks.lineage.mlflow.client  # noqa: F401 - before MLflow's import, which reads what it sets

TASK: Final = "llm/v1/chat"
LIBRARIES: Final = ("mlflow", "torch", "transformers")
"""What loads and answers; each is pinned to the version that made the weights."""


def save_chat_model(
    weights: Path, output: Path, *, card: str, example: Mapping[str, Any], metadata: Mapping[str, Any]
) -> None:
    """Save a model as MLflow's flavours `transformers` and `python_function`, for its chat interface.

    Args:
        weights: Folder of the model, its tokenizer and its generation configuration, which are copied.
        output: Missing or empty folder.
        card: The model card, in Markdown.
        example: Request that the model can answer.
        metadata: What a reader of the model's file is to know.
    """
    import mlflow.transformers
    from huggingface_hub import ModelCard

    mlflow.transformers.save_model(
        str(weights),
        str(output),
        task=TASK,
        model_card=ModelCard(card),
        # A local label of a build, such as +cpu, is of no package index.
        pip_requirements=[f"{name}=={version(name).partition('+')[0]}" for name in LIBRARIES],
        input_example=dict(example),
        metadata=dict(metadata),
    )
