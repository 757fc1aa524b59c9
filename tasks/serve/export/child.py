"""Child process of an export: writes the files, reads them back, and refuses them where they are not the version.

An adapter names its base so that PEFT finds it: the base is on the model hub, or beside the adapter.
"""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter

from schemas.disk import write_whole
from schemas.errors import InputError
from schemas.progress import Progress
from schemas.tables.prompts import TEST_FILE, PromptRow, read_prompts
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.policy.child import Channel, as_child
from tasks.policy.load import ADAPTER_FOLDER
from tasks.policy.merge import CHECK_FILE, spread_evenly
from tasks.policy.published import PUBLISHED_FILE
from tasks.serve.export.gguf_file import PRECISIONS, modelfile, write_gguf
from tasks.serve.export.proof import (
    ExportProof,
    ask_original,
    load_exact,
    placed,
    prove_adapter,
    prove_folder,
    prove_gguf,
)
from tasks.serve.package import write_decoding
from tasks.serve.served_model import Decoding

ExportFormat = Literal["safetensors", "gguf", "peft"]
PROOFS: Final = TypeAdapter(list[ExportProof])
PROMPTS: Final = 200
"""Test prompts that an export answers, where there are so many."""
BASE_FOLDER: Final = "base"
ADAPTER_CONFIG: Final = "adapter_config.json"
TOKENIZER_FILES: Final = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja")
ADAPTER_FILES: Final = (ADAPTER_CONFIG, "adapter_model.safetensors")
WARM_START_FILE: Final = "warm_start.json"
"""File of a base whose weights a warm start changed, if no adapter lies beside it."""


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
    decoding: Decoding
    output: Path
    """Empty folder for the export."""
    proofs: Path
    """File for the proofs."""


def main(request_file: Path, channel: Channel) -> None:
    """Write and prove an export."""
    request = ExportRequest.model_validate_json(request_file.read_text(encoding="utf-8"))
    channel.progress(0, 1, "loading torch")

    import transformers

    transformers.utils.logging.disable_progress_bar()
    rows = read_prompts(request.dataset / TEST_FILE)
    databases = Databases.open(request.store) if request.store is not None else None
    export = _export_adapters if request.format == "peft" else _export_model
    write_whole(request.proofs, PROOFS.dump_json(export(request, rows, databases, channel.progress)).decode())


def _export_model(
    request: ExportRequest, rows: Sequence[PromptRow], databases: Databases | None, progress: Progress
) -> list[ExportProof]:
    own, longest = load_exact(request.weights), request.decoding.max_tokens
    original = ask_original(own, request.weights, spread_evenly(rows, PROMPTS), databases, longest, progress)
    del own
    if request.format == "safetensors":
        write_folder(request.weights, request.output, request.decoding)
        return [prove_folder(original, request.output, progress)]
    proofs = []
    for precision in PRECISIONS:
        file = request.output / f"{request.name}-{precision}.gguf"
        write_gguf(request.weights, file, precision, name=request.name)
        beside = request.output / f"Modelfile-{precision}"
        text = modelfile(request.weights, original.conversations, original.texts, file.name, request.decoding)
        if text is not None:
            beside.write_text(text, encoding="utf-8")
        proofs.append(prove_gguf(original, file, None if text is None else beside.name, precision, progress))
    return proofs


def _export_adapters(
    request: ExportRequest, rows: Sequence[PromptRow], databases: Databases | None, progress: Progress
) -> list[ExportProof]:
    from peft import PeftModel

    base, longest = request.weights, request.decoding.max_tokens
    if not request.base_on_hub:
        base = request.output / BASE_FOLDER
        # Without what the store says of it.
        left_out = shutil.ignore_patterns(PUBLISHED_FILE, WARM_START_FILE, ADAPTER_FOLDER)
        shutil.copytree(request.weights, base, ignore=left_out, copy_function=shutil.copyfile)
    proofs = []
    for task, adapter in request.adapters.items():
        folder = request.output / task
        write_adapter_folder(adapter, request.weights, folder)
        name_base(folder, str(base), None)
        some = spread_evenly([row for row in rows if task in {"", row.task}], PROMPTS)
        if not some:
            raise InputError(f"the dataset {request.dataset} has no test prompt of {task}, so its adapter is unproven")
        own = placed(PeftModel.from_pretrained(load_exact(request.weights), adapter).eval())
        original = ask_original(own, request.weights, some, databases, longest, progress)
        del own
        proofs.append(prove_adapter(original, folder, task or ".", progress))
    return proofs


def write_folder(weights: Path, output: Path, decoding: Decoding) -> None:
    """Copy a model folder of the store to a new or empty one, with the decoding that was evaluated."""
    ignored = shutil.ignore_patterns(CHECK_FILE)
    shutil.copytree(weights, output, ignore=ignored, copy_function=shutil.copyfile, dirs_exist_ok=True)
    write_decoding(output, decoding)


def write_adapter_folder(adapter: Path, base: Path, output: Path) -> None:
    """Copy an adapter, with the tokenizer of its base that it was trained with."""
    output.mkdir(parents=True, exist_ok=True)
    for folder, names in ((adapter, ADAPTER_FILES), (base, TOKENIZER_FILES)):
        for name in names:
            if (folder / name).exists():
                shutil.copyfile(folder / name, output / name)


def published_base(base: Path) -> tuple[str, str] | None:
    """Return the name and the commit of the hub's model that a base is; None where its weights are on no hub."""
    file = base / PUBLISHED_FILE
    published: dict[str, Any] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {"commit": None}
    changed = (base / WARM_START_FILE).exists() and not (base / ADAPTER_FOLDER).is_dir()
    return None if published["commit"] is None or changed else (published["name"], published["commit"])


def name_base(adapter: Path, name: str, commit: str | None) -> None:
    """Write an adapter's base into its configuration: a hub's name and commit, or a folder."""
    file = adapter / ADAPTER_CONFIG
    own = json.loads(file.read_text(encoding="utf-8"))
    named = own | {"base_model_name_or_path": name, "revision": commit}
    file.write_text(json.dumps(named, indent=2, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    with as_child() as (request_file, channel):
        main(request_file, channel)
