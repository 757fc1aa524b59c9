"""The repository's files of `tucano infra`, in a folder where a test may change them."""

import shutil
from pathlib import Path

from flows.deploy.apply import AUTOMATIONS_FOLDER, DEPLOYMENTS_FILE, POOLS_FILE
from schemas.source import REPOSITORY


def copied(folder: Path) -> Path:
    """Copy them to a folder."""
    (folder / "infra").mkdir(parents=True)
    for file in (DEPLOYMENTS_FILE, POOLS_FILE):
        shutil.copy(REPOSITORY / file, folder / file)
    shutil.copytree(REPOSITORY / AUTOMATIONS_FOLDER, folder / AUTOMATIONS_FOLDER)
    return folder


def replace(file: Path, old: str, new: str) -> None:
    """Change a file where it says something once or more."""
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")
