"""Packages of the trainer's environment that are installed for a test, and no others."""

from importlib.metadata import PackageNotFoundError

import pytest

from tasks.train.backend import trainable


def install(monkeypatch: pytest.MonkeyPatch, versions: dict[str, str]) -> None:
    """Let only these packages be installed, by name, in these versions."""

    def version(name: str) -> str:
        if name not in versions:
            raise PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(trainable, "version", version)
