"""Folders that an export writes: merged weights, or an adapter, which names its base so that PEFT finds it.

The base is on the model hub, or beside the adapter.
"""

import json
import shutil
from pathlib import Path
from typing import Final, NamedTuple

from tasks.policy.adapters import ADAPTER_FOLDER
from tasks.policy.merge import CHECK_FILE
from tasks.policy.published import PUBLISHED_FILE
from tasks.serve.package import write_decoding
from tasks.serve.served_model import Decoding

BASE_FOLDER: Final = "base"
ADAPTER_CONFIG: Final = "adapter_config.json"
TOKENIZER_FILES: Final = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "chat_template.jinja")
ADAPTER_FILES: Final = (ADAPTER_CONFIG, "adapter_model.safetensors")
WARM_START_FILE: Final = "warm_start.json"
"""File of a base whose weights a warm start changed, if no adapter lies beside it."""


def write_folder(weights: Path, output: Path, decoding: Decoding) -> None:
    """Copy a model folder, with the decoding that was evaluated.

    Args:
        weights: The model, as the store has it.
        output: New or empty folder.
        decoding: The decoding.
    """
    left_out = shutil.ignore_patterns(CHECK_FILE)
    shutil.copytree(weights, output, ignore=left_out, copy_function=shutil.copyfile, dirs_exist_ok=True)
    write_decoding(output, decoding)


class PublishedBase(NamedTuple):
    """A hub's model, whose weights a base has as they are."""

    name: str
    commit: str | None


def published_base(base: Path) -> PublishedBase | None:
    """Return the hub's model that a base is; None where its weights are on no hub."""
    file = base / PUBLISHED_FILE
    if not file.exists():
        return None
    published = json.loads(file.read_text(encoding="utf-8"))
    changed = (base / WARM_START_FILE).exists() and not (base / ADAPTER_FOLDER).is_dir()
    if published["commit"] is None or changed:
        return None
    return PublishedBase(published["name"], published["commit"])


def write_adapter_folder(adapter: Path, base: Path, output: Path) -> None:
    """Copy an adapter, with the tokenizer that it was trained with.

    Args:
        adapter: The version's adapter.
        base: Folder of its base.
        output: New or empty folder.
    """
    output.mkdir(parents=True, exist_ok=True)
    for folder, names in ((adapter, ADAPTER_FILES), (base, TOKENIZER_FILES)):
        for name in names:
            if (folder / name).exists():
                shutil.copyfile(folder / name, output / name)


def write_base(base: Path, output: Path) -> None:
    """Copy a base without what the store says of it.

    Args:
        base: Folder of the base.
        output: Missing folder.
    """
    left_out = shutil.ignore_patterns(PUBLISHED_FILE, WARM_START_FILE, ADAPTER_FOLDER)
    shutil.copytree(base, output, ignore=left_out, copy_function=shutil.copyfile)


def name_base(adapter: Path, name: str, commit: str | None) -> None:
    """Write into an adapter's configuration which base it is of.

    Args:
        adapter: Folder of the adapter.
        name: A hub's name or a folder.
        commit: The hub's commit; None for a folder.
    """
    file = adapter / ADAPTER_CONFIG
    own = json.loads(file.read_text(encoding="utf-8"))
    named = own | {"base_model_name_or_path": name, "revision": commit}
    file.write_text(json.dumps(named, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def base_of(adapter: Path) -> str | None:
    """Return the base that an adapter names: a hub's name or a folder; None for none."""
    named: str | None = json.loads((adapter / ADAPTER_CONFIG).read_text(encoding="utf-8")).get(
        "base_model_name_or_path"
    )
    return named
