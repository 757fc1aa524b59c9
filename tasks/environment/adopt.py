"""Adoption of an adapter or a whole model that another trainer made: checked and validated, a child process."""

import json
import re
import shutil
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field

from schemas.artifact import ArtifactRecord
from schemas.errors import InputError
from schemas.tables.prompts import VALIDATION_FILE, read_prompts
from schemas.tasks import SpecName
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.lineage.store.artifacts import ArtifactStore, file_digests
from tasks.policy.child import Channel, as_child
from tasks.policy.load import ADAPTER_FOLDER, load_policy, load_tokenizer
from tasks.policy.merge import MODEL_FOLDER
from tasks.train.preflight.inputs import require_audit
from tasks.train.resume.adapter_files import CONFIG_FILE, WEIGHTS_FILE
from tasks.train.summaries import SUMMARY_FILE

MODEL_FILE, MODEL_WEIGHTS, INDEX_FILE = "config.json", "model.safetensors", "model.safetensors.index.json"
KINDS: Final = {".json", ".safetensors"}
SHAPE: Final = ("model_type", "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers")
"""Fields of a configuration that are equal for all models of one base."""


class Adoption(BaseModel):
    """A model that a trainer NAME@COMMIT made elsewhere, and the sha256 of the package that it learned from."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    folder: Path
    trained_by: str = Field(pattern=r"^[A-Za-z0-9][\w.-]{0,60}@[\w.-]{1,64}$")
    environment: str = Field(pattern="^[0-9a-f]{64}$")


class AdoptRequest(Adoption):
    """Request of an adoption to its child process."""

    files: dict[str, str]  # The sha256 of each, by its name.
    base: Path
    base_name: str  # On a hub, if it has one.
    dataset: Path
    store: Path
    audit: Path
    spec: SpecName
    decoding: dict[str, Any]
    output: Path


def require_environment(store: ArtifactStore, sha256: str, dataset: str | None = None) -> ArtifactRecord:
    """Return the record of a package of a dataset; InputError where this store has none of the digest."""
    found = store.record(sha256)
    if found.kind != "environment" or dataset not in {None, found.inputs["dataset"]}:
        raise InputError(
            f"{found.kind} {sha256[:12]} is no environment of this profile's dataset; give the sha256 that `tucano "
            "environment write` printed, with the profile and the settings that it was given"
        )
    return found


def files_of(folder: Path) -> list[Path]:
    """Return the configuration and the weights of an adapter or a whole model; InputError where it is neither."""
    found = [folder / CONFIG_FILE, folder / WEIGHTS_FILE]
    if not found[0].is_file():
        index, names = folder / INDEX_FILE, {MODEL_WEIGHTS}
        if index.is_file():
            names = {INDEX_FILE, *map(str, _read_object(index, "weight_map").values())}
        found = [folder / MODEL_FILE, *(folder / name for name in sorted(names))]
    # A pickle of weights would run code, and a shard elsewhere would not be in the artifact.
    if lost := [file.name for file in found if not file.is_file() or file.parent != folder or file.suffix not in KINDS]:
        raise InputError(
            f"{folder} is neither an adapter of PEFT nor a whole model: it has no {' and no '.join(lost)}; give the "
            "folder that save_pretrained wrote, with safetensors"
        )
    return found


def main(request_file: Path, channel: Channel) -> None:
    """Write the policy: its weights, and a summary with the validation of the base and of what was trained."""
    request = AdoptRequest.model_validate_json(request_file.read_text(encoding="utf-8"))
    rows = read_prompts(request.dataset / VALIDATION_FILE)
    audit = require_audit(request.audit, request.spec, {row.task for row in rows})
    weights = _copy_weights(request)
    channel.progress(0, 3, "loading torch")

    from tasks.policy.unpacked import unknown_to_engine
    from tasks.train.watch.validation import validate

    tokenizer, databases = load_tokenizer(request.base), Databases.open(request.store)
    trained = (weights, None) if weights.name == MODEL_FOLDER else (request.base, weights)
    history = []
    for step, (base, adapter) in enumerate(((request.base, None), trained)):
        channel.progress(1 + step, 3, "validating")
        model: Any = load_policy(base, adapter, four_bit=False)
        if not all(each.isfinite().all() for each in model.parameters()):
            raise InputError(f"weights in {request.folder} are no numbers; adopt an earlier checkpoint of the training")
        history.append(validate(model, tokenizer, rows, databases, request.spec, step=step, **request.decoding))
    summary = {
        "seed": request.decoding["seed"],
        "algorithm": request.trained_by,
        "environment": request.environment,
        "audit": audit.model_dump(mode="json", include={"spec", "reward_version", "sheet_sha256", "raters"}),
        "steps": 1,  # How many the other trainer took is not known.
        "chosen_step": 1,
        "stopped_early": False,
        "unknown_to_engine": unknown_to_engine(model),
        "validation": [validation.model_dump() for validation in history],
        "log": [],
    }
    (request.output / SUMMARY_FILE).write_text(json.dumps(summary, indent=1, sort_keys=True), encoding="utf-8")


def _copy_weights(request: AdoptRequest) -> Path:
    """Copy the weights and their configuration, without paths; refuse those that say that they are of another base."""
    files = files_of(request.folder)
    goal = request.output / (ADAPTER_FOLDER if files[0].name == CONFIG_FILE else MODEL_FOLDER)
    goal.mkdir(parents=True)
    copies = [Path(shutil.copyfile(file, goal / file.name)) for file in files]
    if file_digests(copies) != request.files:
        raise InputError(f"{request.folder} changed while it was read; adopt it once nothing writes there any more")
    known, other = _read_object(copies[0]), ""
    # A model's configuration may name code of a hub, and other kinds of PEFT read further folders.
    if goal.name == ADAPTER_FOLDER:
        named = [str(known.get("base_model_name_or_path")), request.base_name]
        if named[0] != named[1] and all(re.fullmatch(r"[\w.-]+/[\w.-]+", name) for name in named):
            other = ", and ours is ".join(named)
        written = known | {"base_model_name_or_path": None, "inference_mode": True, "peft_type": "LORA"}
    else:
        written = _read_object(request.base / MODEL_FILE)
        differ = [key for key in SHAPE if known.get(key) != written.get(key)]
        other = "; ".join(f"{key} {known.get(key)!r}, and ours has {written.get(key)!r}" for key in differ)
    if other:
        raise InputError(f"what is in {request.folder} is of another base: {other}; train it on this base")
    copies[0].write_text(json.dumps(written, indent=2, sort_keys=True), encoding="utf-8")
    return goal


def _read_object(file: Path, *place: str) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        for name in place:
            found = found[name]
        return dict(found)
    except (OSError, ValueError, TypeError, LookupError, RecursionError) as error:
        raise InputError(f"{file} is no such JSON object ({type(error).__name__}); give a whole folder") from None


if __name__ == "__main__":
    with as_child() as (request_file, channel):
        main(request_file, channel)
