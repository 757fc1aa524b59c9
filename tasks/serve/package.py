"""Package of a promoted model for MLflow: a child process, since it imports torch."""

import json
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from tasks.commerce.registry import TASKS
from tasks.lineage.mlflow.registry import save_chat_model
from tasks.policy.child import Channel, as_child
from tasks.policy.generate import as_messages
from tasks.serve.questions import question_of
from tasks.serve.served_model import Decoding


class PackageRequest(BaseModel):
    """Request of the promote stage to its child process."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    weights: Path
    card: Path
    """The model card."""
    max_tokens: int
    identities: dict[str, str]
    """The sha256 of each artifact that it was made from, by role."""
    output: Path
    """Missing or empty folder for the package."""


def main(request_file: Path, channel: Channel) -> None:
    """Write the package."""
    request = PackageRequest.model_validate_json(request_file.read_text(encoding="utf-8"))
    channel.progress(0, 1, "packaging for MLflow")
    row = question_of("sentiment", {"review": "Chegou quebrado e ninguém responde."})
    save_chat_model(
        request.weights,
        request.output,
        card=request.card.read_text(encoding="utf-8"),
        example={"messages": as_messages(row.system, row.prompt), "max_tokens": request.max_tokens},
        metadata={**request.identities, "systems": {name: task.system for name, task in TASKS.items()}},
    )


def write_decoding(model: Path, decoding: Decoding) -> None:
    """Write the decoding that was evaluated into a model's generation configuration, which loaders use by default."""
    file = model / "generation_config.json"
    own = json.loads(file.read_text(encoding="utf-8"))
    sampling = {"do_sample": True, "temperature": decoding.temperature, "top_p": 1.0, "top_k": 0}
    evaluated = own | sampling | {"max_new_tokens": decoding.max_tokens}
    file.write_text(json.dumps(evaluated, indent=2, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    with as_child() as (request_file, channel):
        main(request_file, channel)
