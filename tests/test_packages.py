"""The product imports exactly the packages that pyproject.toml declares."""

import ast
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import files, packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from schemas.source import PACKAGES, REPOSITORY

NOT_IMPORTED = {"sqlalchemy": "Prefect's server imports it; the bounds are ours"}


def project(folder: Path) -> dict[str, Any]:
    read: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return read


def names(requirements: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(each).name) for each in requirements}


def imported() -> Iterator[tuple[str, str]]:
    """Yield each third party's module, with the file that imports it."""
    for package in PACKAGES:
        for file in (REPOSITORY / package).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if isinstance(node, ast.ImportFrom) and not node.level and node.module:
                    modules = [node.module]
                for module in modules:
                    if module.partition(".")[0] not in PACKAGES | sys.stdlib_module_names:
                        yield module, file.relative_to(REPOSITORY).as_posix()


def owners(module: str, made_by: dict[str, list[str]]) -> set[str]:
    """Return the distributions that a module may come from; one that is not installed goes by the module's name."""
    top = module.partition(".")[0]
    found = set(made_by.get(top, [top]))
    if len(found) > 1:
        # A name that several share, such as `google`.
        place = module.replace(".", "/")
        found = {each for each in found if any(str(file).startswith(place) for file in files(each) or ())}
    return {canonicalize_name(each) for each in found}


@pytest.mark.slow
def test_each_import_is_declared_and_each_declaration_is_imported() -> None:
    ours, made_by = project(REPOSITORY), dict(packages_distributions())
    base, extras = names(ours["dependencies"]), ours["optional-dependencies"]
    asked_for = names(extras["gpu"])
    found = {(module, file, frozenset(owners(module, made_by))) for module, file in imported()}
    undeclared = {f"{file} imports {module}" for module, file, theirs in found if not theirs & (base | asked_for)}
    assert undeclared == set()
    assert base - {each for _, _, theirs in found for each in theirs} == set(NOT_IMPORTED)
