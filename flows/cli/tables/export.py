"""Output of `tucano export`: what was written, and how it was proven."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flows.runtime.console import print_table, show


def print_export(document: Mapping[str, Any], folder: Path) -> None:
    """Print each file's proof, and how it is used."""
    files = document["files"]
    print_table(
        f"Version {document['version']} of {document['model']}, read back by {files[0]['read_by']}",
        ("file", "MB", "answers equal", "nats apart", "reward lost, 95 % interval"),
        [
            (
                _label(file["name"]),
                f"{file['bytes'] / 1e6:.1f}",
                f"{file['equal']} of {file['prompts']}" + (f" + {file['tied']} ties" if file["tied"] else ""),
                f"{file['difference']:.1e}",
                _lost(file),
            )
            for file in files
        ],
    )
    show(f"exported: {folder}")
    if document["format"] == "gguf" and files[0]["modelfile"] is None:
        show("no Modelfile: Ollama has a tokenizer of its own for this model, which reads the prompts as other tokens")
    show(f"use it: {_use(document, folder)}")


def _label(name: str) -> str:
    """Return a file's name without the model's, which the title has."""
    return name.rpartition("-")[2] if name.endswith(".gguf") else name.replace(".", "folder", 1)


def _lost(file: Mapping[str, Any]) -> str:
    if file["reward_lost"] is None:
        return "not scored"
    if file["lost_low"] is None:
        return f"{file['reward_lost']:+.4f}"
    return f"{file['reward_lost']:+.4f} ({file['lost_low']:+.4f} to {file['lost_high']:+.4f})"


def _use(document: Mapping[str, Any], folder: Path) -> str:
    if document["format"] == "safetensors":
        return f"vllm serve {folder}"
    if document["format"] == "gguf":
        last = document["files"][-1]
        if last["modelfile"] is None:
            return f"llama-server --jinja -m {folder / last['name']}"
        return f"ollama create {document['model']} -f {folder / last['modelfile']}"
    return f"AutoPeftModelForCausalLM.from_pretrained({str(folder)!r}) of PEFT"
