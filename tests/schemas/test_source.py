"""A key changes with the code and the data that decide, and with no word that is said of them."""

from hashlib import sha256
from pathlib import Path

import pytest

from schemas import source
from schemas.source import source_digest, source_files
from tests.cases import cases_of

CASES = cases_of(__file__)

FILES = {
    "tasks/__init__.py": "",
    "tasks/curate/__init__.py": '"""Curate."""\n',
    "tasks/curate/stage.py": (
        "from typing import TYPE_CHECKING, Final\n"
        "import polars\n"
        "from tasks.curate import words\n"
        "from tasks.curate.split import SHARE\n"
        "if TYPE_CHECKING:\n"
        "    from tasks.curate.types import Row\n"
        "else:\n"
        "    import tasks.curate.untyped\n"
        'DATA_FILES: Final = ("data/one.txt", "data/lists")\n'
        "def run():\n"
        "    try:\n"
        "        from .late import late\n"
        "    except ImportError:\n"
        "        pass\n"
    ),
    "tasks/curate/words.py": "WORDS = 1\n",
    "tasks/curate/split.py": "SHARE = 2\n",
    "tasks/curate/by_name.py": 'FOUND_MODULES = ("tasks.named.*.rule",)\n',
    "tasks/named/one/rule.py": "import tasks.curate.words\n",
    "tasks/named/other/rule.py": "",
    "tasks/named/other/unrelated.py": "",
    "tasks/curate/types.py": "Row = 3\n",
    "tasks/curate/untyped.py": "",
    "tasks/curate/late.py": "late = 4\n",
    "tasks/curate/unrelated.py": "x = 5\n",
    "data/one.txt": "1",
    "data/lists/two.txt": "2",
    "data/lists/.hidden": "",
    "data/lists/__pycache__/two.pyc": "",
    "data/other.txt": "3",
}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        write(tmp_path, name, text)
    monkeypatch.setattr(source, "REPOSITORY", tmp_path)
    return tmp_path


def write(repository: Path, name: str, text: str) -> None:
    file = repository / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    # A process keeps what it has read.
    for cached in (source._closure, source._module, source.module_file, source._data_files):
        cached.cache_clear()


def test_a_closure_has_all_that_is_imported_and_declared(repository: Path) -> None:
    assert list(source_files("tasks.curate.stage")) == [
        "data/lists/two.txt",
        "data/one.txt",
        "tasks",
        "tasks.curate",
        "tasks.curate.late",
        "tasks.curate.split",
        "tasks.curate.stage",
        "tasks.curate.untyped",
        "tasks.curate.words",
    ]
    assert list(source_files("tasks.curate.words")) == ["tasks", "tasks.curate", "tasks.curate.words"]


@pytest.mark.parametrize("changed", ["tasks/curate/late.py", "tasks/curate/__init__.py", "data/one.txt"])
def test_the_digest_changes_with_each_part(repository: Path, changed: str) -> None:
    before = source_digest("tasks.curate.stage")
    write(repository, changed, "x = 7\n")
    assert source_digest("tasks.curate.stage") != before


def test_a_file_that_the_environment_names_is_in_the_key_by_its_content_and_only_while_it_is_named(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = 'DATA_FILES = ("$TUCANO_OF_THE_TEST",)\n'
    digests = []
    for name, content in ((None, ""), ("one", "1"), ("two", "1"), ("one", "2")):
        if name is not None:
            (tmp_path / name).write_text(content, encoding="utf-8")
            monkeypatch.setenv("TUCANO_OF_THE_TEST", str(tmp_path / name))
        write(repository, "tasks/curate/words.py", text)
        digests.append(source_digest("tasks.curate.words"))
    assert digests[1] == digests[2]
    assert len(set(digests)) == 3


def code_digest(repository: Path, text: str) -> str:
    """Return the digest that a module of this text has in a key, under a name that no other text has."""
    name = f"m{sha256(text.encode()).hexdigest()[:16]}"
    write(repository, f"tasks/{name}.py", text)
    return source_files(f"tasks.{name}")[f"tasks.{name}"]


SAID = '''"""A module."""

import re  # for patterns


# A comment.
class A:
    r"""A class."""

    x: int = 1
    """An attribute
    in two lines."""

    def f(self):
        """A function."""; y = "# no comment"
        return f"""{y}

        kept   
        """  # a comment
'''  # noqa: W291 - blanks of a string


PLAIN = """import re
class A:
    x: int = (
        1
    )
    def f(self):
        y = "# no comment"
        return f"{y}\\n\\n        kept   \\n        "
"""


def test_comments_docstrings_and_layout_are_no_code(repository: Path) -> None:
    assert code_digest(repository, SAID) == code_digest(repository, PLAIN)


@pytest.mark.parametrize(("one", "other"), CASES["a_change_of_behaviour_changes_the_digest"])
def test_a_change_of_behaviour_changes_the_digest(repository: Path, one: str, other: str) -> None:
    assert code_digest(repository, one) != code_digest(repository, other)
