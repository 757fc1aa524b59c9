"""Child process of an export: writes the files, reads them back, and refuses them where they are not the version."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

from schemas.disk import write_whole
from schemas.errors import InputError
from schemas.progress import Progress
from schemas.tables.prompts import TEST_FILE, PromptRow, read_prompts
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.policy.child import Channel, as_child
from tasks.serve.export.folders import BASE_FOLDER, name_base, write_adapter_folder, write_base, write_folder
from tasks.serve.export.gguf_file import PRECISIONS, write_gguf
from tasks.serve.export.modelfile import ollama_reads, write_modelfile
from tasks.serve.export.original import ask_original, load_exact, placed, some_of
from tasks.serve.export.proof import ExportProof, prove_adapter, prove_folder, prove_gguf
from tasks.serve.served_model import Decoding

ExportFormat = Literal["safetensors", "gguf", "peft"]
MODELFILE: Final = "Modelfile"


class ExportRequest(BaseModel):
    """Request of an export to its child process."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: ExportFormat
    name: str
    """The model's name, for people and file names."""
    weights: Path
    """Folder of the model that is exported; of an adapter's base for `peft`."""
    adapters: dict[str, Path] = {}
    """Folder of each task's adapter for `peft`; of one for all tasks, by an empty name."""
    base_on_hub: bool = False
    """Whether the base need not be written beside its adapters."""
    dataset: Path
    """Folder of the version's dataset, whose test prompts are answered."""
    store: Path | None
    """Folder of the store that queries are run on; None where sql_qa's answers cannot be scored."""
    temperature: float
    max_tokens: int
    output: Path
    """Empty folder for the export."""
    proofs: Path
    """File for the proofs."""


class Proofs(BaseModel):
    """What the child process found."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rewards: dict[str, list[float | None]]
    """Rewards of the version's own answers, by the name of what was compared with them."""
    proofs: list[ExportProof]


def main(request_file: Path, channel: Channel) -> None:
    """Write and prove an export."""
    request = ExportRequest.model_validate_json(request_file.read_text(encoding="utf-8"))
    channel.progress(0, 1, "loading torch")

    import transformers

    transformers.utils.logging.disable_progress_bar()
    rows = read_prompts(request.dataset / TEST_FILE)
    databases = Databases.open(request.store) if request.store is not None else None
    if request.format == "peft":
        found = _export_adapters(request, rows, databases, channel.progress)
    else:
        found = _export_model(request, some_of(rows), databases, channel.progress)
    write_whole(request.proofs, found.model_dump_json())


def _export_model(
    request: ExportRequest, rows: Sequence[PromptRow], databases: Databases | None, progress: Progress
) -> Proofs:
    decoding = Decoding(request.temperature, request.max_tokens)
    parts = 1 + (len(PRECISIONS) if request.format == "gguf" else 1)
    own = load_exact(request.weights)
    first = _part(progress, 0, parts)
    original = ask_original(own, request.weights, rows, databases, request.max_tokens, first)
    del own
    if request.format == "safetensors":
        write_folder(request.weights, request.output, decoding)
        proofs = [prove_folder(original, request.output, _part(progress, 1, parts))]
    else:
        proofs = []
        for number, precision in enumerate(PRECISIONS, start=1):
            file = request.output / f"{request.name}-{precision}.gguf"
            write_gguf(request.weights, file, precision, name=request.name)
            beside = None
            if ollama_reads(request.weights, original.texts):
                beside = request.output / f"{MODELFILE}-{precision}"
                write_modelfile(request.weights, beside, file.name, decoding)
            proofs.append(prove_gguf(original, file, beside, precision, _part(progress, number, parts)))
    rewards = original.rewards_of(original.answers)
    return Proofs(rewards={proof.name: rewards for proof in proofs}, proofs=proofs)


def _part(progress: Progress, number: int, parts: int) -> Progress:
    """Return the progress of one of several passes over the same prompts."""
    return lambda done, total, text: progress(number * total + done, parts * total, text)


def _export_adapters(
    request: ExportRequest, rows: Sequence[PromptRow], databases: Databases | None, progress: Progress
) -> Proofs:
    from peft import PeftModel

    base = request.weights
    if not request.base_on_hub:
        base = request.output / BASE_FOLDER
        write_base(request.weights, base)
    proofs, rewards = [], {}
    parts = 2 * len(request.adapters)
    for number, (task, adapter) in enumerate(request.adapters.items()):
        folder = request.output / task
        write_adapter_folder(adapter, request.weights, folder)
        name_base(folder, str(base), None)
        some = some_of([row for row in rows if task in {"", row.task}])
        if not some:
            raise InputError(f"the dataset {request.dataset} has no test prompt of {task}, so its adapter is unproven")
        own = placed(PeftModel.from_pretrained(load_exact(request.weights), adapter).eval())
        first = _part(progress, 2 * number, parts)
        original = ask_original(own, request.weights, some, databases, request.max_tokens, first)
        del own
        proof = prove_adapter(original, folder, adapter, task or ".", _part(progress, 2 * number + 1, parts))
        proofs.append(proof)
        rewards[proof.name] = original.rewards_of(original.answers)
    return Proofs(rewards=rewards, proofs=proofs)


if __name__ == "__main__":
    with as_child() as (request_file, channel):
        main(request_file, channel)
