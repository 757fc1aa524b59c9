"""Laptop stand-in for a downloaded base model: a small Qwen3 that `tasks.stand_in` trained, shipped with its card."""

import json
from pathlib import Path
from typing import Final

from schemas.config.policy import PolicyConfig
from schemas.digests import file_sha256
from schemas.errors import InputError
from schemas.source import REPOSITORY

FOLDER: Final = REPOSITORY / "data" / "stand_in"
"""The shipped stand-in, as `save_pretrained` writes it."""
TEMPLATE_FILE: Final = "chat_template.jinja"
TOKENIZER_FILE: Final = "tokenizer.json"
CARD_FILE: Final = "card.json"
"""File of how it was trained, with the sha256 of each other file."""
KNOWN_FILE: Final = "known_prompts.parquet"
"""File of hashes of the prompts that it was trained on."""


def shipped() -> Path:
    """Return the folder of the shipped stand-in, whose files are those that its card names."""
    digests()
    return FOLDER


def digests() -> dict[str, str]:
    """Return the sha256 of each file of the shipped stand-in but its card, which are those that the card names."""
    remedy = "restore data/stand_in, or train it by `make stand-in`"
    try:
        files: dict[str, str] = dict(json.loads((FOLDER / CARD_FILE).read_text(encoding="utf-8"))["files"])
        found = {file.name: file_sha256(file) for file in FOLDER.iterdir() if file.name != CARD_FILE}
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "its card is no card"
        raise InputError(f"the stand-in in {FOLDER} cannot be read ({reason}); {remedy}") from error
    altered = sorted(name for name in files | found if files.get(name) != found.get(name))
    if altered or not files:
        what = altered[0] if altered else CARD_FILE
        raise InputError(f"{what} of the stand-in in {FOLDER} is not what its card names; {remedy}")
    return files


def located(policy: PolicyConfig) -> PolicyConfig:
    """Return the policy by a name: the stand-in's is its folder, whose files are verified."""
    return PolicyConfig(name=str(shipped())) if policy.stand_in else policy
