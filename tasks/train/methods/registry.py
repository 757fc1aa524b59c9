"""Registry of the methods: every module of this package but two, so that a new method is one file."""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Final

from schemas.config.train import TrainConfig
from tasks.train.methods.method import Method

# Declared, so that a stage's key knows that it depends on all of them.
FOUND_MODULES: Final = ("tasks.train.methods.*",)
NO_METHODS: Final = frozenset({"method", "registry"})
"""Modules of the package that are no method."""


def all_methods() -> dict[str, Method]:
    """Return every method by the name of its module, in the order in which they act."""
    names = sorted({module.name for module in iter_modules([str(Path(__file__).parent)])} - NO_METHODS)
    found: dict[str, Method] = {name: import_module(f"tasks.train.methods.{name}").METHOD for name in names}
    by_order = {method.order: name for name, method in found.items()}
    if len(by_order) < len(found):
        orders = ", ".join(f"{name} {method.order}" for name, method in found.items())
        raise ValueError(f"two methods have the same order ({orders}); give each its own")
    return {by_order[order]: found[by_order[order]] for order in sorted(by_order)}


def methods_of(recipe: TrainConfig) -> tuple[Method, ...]:
    """Return the methods that a recipe switches on, in the order in which they act."""
    return tuple(method for method in all_methods().values() if method.is_on(recipe))
