"""What a retraining installs is all that the product imports; tests and checks have packages of their own."""

import re
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from schemas.source import PACKAGES, REPOSITORY

IMPORTED = re.compile(r"^\s*(?:from|import) ([a-z_]\w*)", re.MULTILINE)
OPTIONAL = {"prefect-dask", "dask", "distributed"}
"""Of an extra, and asked for by a setting whose error names it."""


def needed(roots: list[str]) -> set[str]:
    """Return distributions with all that they need."""
    found: set[str] = set()
    left = [Requirement(root) for root in roots]
    while left:
        requirement = left.pop()
        name = canonicalize_name(requirement.name)
        if name in found:
            continue
        try:
            theirs = [Requirement(each) for each in requires(name) or ()]
        except PackageNotFoundError:
            continue
        found.add(name)
        extras = ["", *requirement.extras]
        left += [
            each for each in theirs if not each.marker or any(each.marker.evaluate({"extra": name}) for name in extras)
        ]
    return found


def test_the_product_imports_nothing_that_only_a_developer_installs() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    base, extras = needed(project["dependencies"]), project["optional-dependencies"]
    beside = needed([*extras["dev"], *extras["dask"], *extras["server"]]) - base - OPTIONAL
    assert "pytest" in beside
    made_by = packages_distributions()
    found = {
        f"{file.relative_to(REPOSITORY)} imports {name}"
        for package in PACKAGES
        for file in (REPOSITORY / package).rglob("*.py")
        for name in IMPORTED.findall(file.read_text(encoding="utf-8"))
        if (owners := {canonicalize_name(each) for each in made_by.get(name, ())}) and owners <= beside
    }
    assert found == set()
