"""First lines of module docstrings: a noun phrase or an imperative, never a question."""

import ast
from pathlib import Path
from typing import Final

import pytest

REPOSITORY: Final = Path(__file__).parents[1]
PACKAGES: Final = ("benchmarks", "flows", "schemas", "tasks")
QUESTION_WORDS: Final = {"how", "what", "when", "where", "whether", "which", "who", "whose", "why"}


def asks(docstring: str) -> bool:
    """Return whether a docstring begins with a question word."""
    words = docstring.split(maxsplit=1)
    return bool(words) and words[0].strip(",:;.'’`").lower() in QUESTION_WORDS


def docstrings_of(package: str) -> dict[str, str]:
    """Return the docstring of each module that has code or a docstring, by the module's path."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in (REPOSITORY / package).rglob("*.py")}
    documented = {path.relative_to(REPOSITORY): ast.get_docstring(tree) for path, tree in trees.items() if tree.body}
    return {str(path): docstring or "" for path, docstring in sorted(documented.items())}


@pytest.mark.parametrize("package", PACKAGES)
def test_the_docstring_of_each_module_begins_with_no_question_word(package: str) -> None:
    docstrings = docstrings_of(package)
    assert docstrings, f"{package} has no modules"
    assert not [name for name, docstring in docstrings.items() if not docstring]
    assert not [f"{name}: {docstring.splitlines()[0]}" for name, docstring in docstrings.items() if asks(docstring)]
