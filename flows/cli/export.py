"""Command `tucano export`: a version as files for other programs, proven by reading them back."""

import json
from pathlib import Path
from typing import Annotated, Literal

import typer

from flows.cli.options import Json, Overrides, Profile, StateFolder, configured, emit
from flows.cli.output_folder import new_folder
from flows.cli.tables.export import print_export
from flows.runtime.console import stage_progress
from schemas.disk import write_whole

PROOF_FILE = "proof.json"


def export(
    version: Annotated[str, typer.Argument(help="A version by its number, or `champion`.")],
    out: Annotated[Path, typer.Option(help="The folder for it, which is new or empty.")],
    kind: Annotated[
        Literal["safetensors", "gguf", "peft"],
        typer.Option(
            "--format", help="Merged weights; GGUF in F16 and Q8_0, each with a Modelfile for Ollama; or the adapter."
        ),
    ],
    profile: Profile = "local",
    overrides: Overrides = [],  # noqa: B006 - Typer reads the default and never changes it
    state: StateFolder = None,
    as_json: Json = False,
) -> None:
    """Export a version for other programs, proven by reading it back; exit code 3 where it differs."""
    config = configured(profile, overrides, state)
    with new_folder(out) as draft, stage_progress("export") as progress:
        # Torch, transformers and MLflow take seconds to import, and a mistake above none.
        from flows.stages.export import export_version  # noqa: PLC0415

        number = None if version == config.promote.alias else version
        document = export_version(config, number, kind, draft, out, progress)
        write_whole(draft / PROOF_FILE, json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    emit({**document, "folder": str(out)}, as_json=as_json)
    if not as_json:
        print_export(document, out)
