"""Digest of the code that decides an artifact: an import closure without comments and docstrings, and its data files.

A key must change with all that decides what a stage makes and with nothing else: a comment retrains no model. So a
stage names its entry modules, and what they import is read from the source. A module that reads files of the repository
declares them in a constant of literals, by their paths from the repository's root; of a folder every file counts:

    DATA_FILES: Final = ("data/lexicons/refusals.txt", "data/reviews")

A user's own file is declared by the environment variable that names it, as "$TUCANO_PHRASES"; unset, there is none.

A module that imports others by a name that is known only at run time, such as a task's, declares them all by a pattern:

    FOUND_MODULES: Final = ("tasks.commerce.*.task",)
"""

import ast
import hashlib
import os
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from types import MappingProxyType
from typing import Final

from schemas.digests import file_sha256

REPOSITORY: Final = Path(__file__).resolve().parents[1]
PACKAGES: Final = frozenset({"flows", "tasks", "schemas"})
"""The packages whose modules count; of what is installed, the stages that it decides declare the pinned versions."""
NOT_IN_KEY: Final[Mapping[str, str]] = MappingProxyType(
    {
        "flows": "it runs, records and shows what a stage makes; a flow that writes into it is named as an entry",
        "schemas.errors": "exceptions and exit codes: what fails leaves no artifact",
        "schemas.progress": "the signature of a report to whoever waits",
        "schemas.source": "the digest itself, which decides no artifact",
        "tasks.lineage": "it keeps what a stage made, and records it; a module that decides something is an entry",
        "tasks.train.sizing": "what a run is expected to take and to cost, which is shown and decides nothing",
    }
)
"""Modules and packages that no closure follows into, each with the reason why; named as an entry, a module counts."""

_DATA_FILES: Final = "DATA_FILES"
_FOUND: Final = "FOUND_MODULES"
_SIMPLE: Final = (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return, ast.Import, ast.ImportFrom)
_BLOCKS: Final = ("body", "handlers", "cases", "orelse", "finalbody")
# As `tokenize` finds them, whose version in Python takes twenty times as long: a run waits for its keys. The syntax is
# that of Python 3.11, where no f-string holds its own quotes.
_STRING_OR_COMMENT: Final = re.compile(
    r"""(?sx) [rRbBuUfF]{0,2}
    (?: \"{3}(?:[^\\]|\\.)*?\"{3} | '{3}(?:[^\\]|\\.)*?'{3} | "(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*' )
    | (?P<comment> \#[^\n]* )"""
)

# Two threads that parse at once can end with a SystemError: CPython 3.11 counts the depth of both in one place
# (python/cpython#106905).
_ONE_AT_A_TIME = threading.Lock()
ATTEMPTS: Final = 5
"""Attempts at a text, since threads of libraries, such as Prefect's, parse too and know of no lock."""


def source_digest(*entry_modules: str) -> str:
    """Return the digest of all code and data that the modules depend on, in whatever order they are named."""
    lines = (f"{sha256}  {name}\n" for name, sha256 in source_files(*entry_modules).items())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def source_files(*entry_modules: str) -> dict[str, str]:
    """Return the sha256 of each module and data file that the modules depend on, sorted by their names.

    A module goes by its dotted name, and its digest is of its code alone; a data file by its path in the repository.

    Raises:
        ValueError: A module or a data file is missing, or a module cannot be read.
    """
    with _ONE_AT_A_TIME:
        return dict(_closure(REPOSITORY, tuple(sorted(set(entry_modules)))))


@dataclass(frozen=True)
class _Module:
    sha256: str
    imports: tuple[str, ...]
    data_files: tuple[str, ...]


# A process runs the code that it has read, whatever becomes of the files.
@cache
def _closure(repository: Path, entries: tuple[str, ...]) -> Mapping[str, str]:
    packages = PACKAGES | {name.partition(".")[0] for name in entries}
    found: dict[str, str] = {}
    waiting = [(name, True) for name in entries]
    seen: set[str] = set()
    while waiting:
        name, is_entry = waiting.pop()
        if (
            name in seen
            or name.partition(".")[0] not in packages
            or (not is_entry and not NOT_IN_KEY.keys().isdisjoint([name, *_ancestors(name)]))
        ):
            continue
        seen.add(name)
        module = _module(repository, name)
        found[name] = module.sha256
        for path in module.data_files:
            found |= _data_files(repository, name, path)
        waiting += [(imported, imported in entries) for imported in (*module.imports, *_ancestors(name))]
    return MappingProxyType(dict(sorted(found.items())))


def _ancestors(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]


@cache
def _module(repository: Path, name: str) -> _Module:
    file = module_file(repository, name)
    if file is None:
        raise ValueError(f"module {name} is not below {repository}; correct who names or imports it")
    try:
        text = file.read_text(encoding="utf-8")
        tree = _parsed(text)
        statements = list(_statements(tree))
        code = _code(text, [statement for statement, _ in statements])
    except (SyntaxError, UnicodeDecodeError) as error:
        raise ValueError(f"module {name} is no Python that can be read ({error}); correct {file}") from None
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    running = (statement for statement, runs in statements if runs)
    imports = dict.fromkeys(_imports(repository, running, package))
    for pattern in _declared(tree, name, _FOUND):
        imports |= dict.fromkeys(_modules_like(repository, name, pattern))
    return _Module(hashlib.sha256(code).hexdigest(), tuple(imports), _declared(tree, name, _DATA_FILES))


def _parsed(text: str) -> ast.Module:
    for _ in range(ATTEMPTS - 1):
        with suppress(SystemError):
            return ast.parse(text)
    return ast.parse(text)


@cache
def module_file(repository: Path, name: str) -> Path | None:
    """Return the file of a module by its dotted name; None if the repository has none."""
    path = repository.joinpath(*name.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


@cache
def _is_folder(repository: Path, name: str) -> bool:
    return repository.joinpath(*name.split(".")).is_dir()


def _statements(tree: ast.Module) -> Iterator[tuple[ast.stmt, bool]]:
    """Yield every statement, those inside of others too, and whether it runs, or is there for type checkers alone."""
    waiting = [(statement, True) for statement in tree.body]
    while waiting:
        statement, runs = waiting.pop()
        yield statement, runs
        if isinstance(statement, _SIMPLE):
            continue
        for name in _BLOCKS:
            test = statement.test if name == "body" and isinstance(statement, ast.If) else None
            for_types = "TYPE_CHECKING" in (getattr(test, "id", None), getattr(test, "attr", None))
            for part in getattr(statement, name, ()):
                parts = [part] if isinstance(part, ast.stmt) else part.body
                waiting += [(each, runs and not for_types) for each in parts]


def _imports(repository: Path, statements: Iterable[ast.stmt], package: str) -> Iterator[str]:
    """Yield the modules that statements import; of what is not the repository's, only the name that is written."""
    for statement in statements:
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            above = package.split(".")[: -statement.level + 1 or None] if statement.level else []
            module = ".".join([*above, *([statement.module] if statement.module else [])])
            yield module
            if _is_folder(repository, module):
                names = (f"{module}.{alias.name}" for alias in statement.names)
                yield from (name for name in names if module_file(repository, name) is not None)


def _modules_like(repository: Path, module: str, pattern: str) -> list[str]:
    files = sorted(repository.glob(f"{pattern.replace('.', '/')}.py"))
    if not files:
        raise ValueError(f"{_FOUND} of module {module} names {pattern!r}, which is no module below {repository}")
    return [".".join(file.relative_to(repository).with_suffix("").parts) for file in files if file.stem != "__init__"]


def _declared(tree: ast.Module, name: str, constant: str) -> tuple[str, ...]:
    for statement in tree.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
        if not any(isinstance(target, ast.Name) and target.id == constant for target in targets):
            continue
        try:
            declared = ast.literal_eval(statement.value)  # type: ignore[attr-defined]
        except ValueError:
            declared = None
        if not isinstance(declared, tuple) or not all(isinstance(path, str) for path in declared):
            raise ValueError(f"{constant} of module {name} is no tuple of literal strings; write them out")
        return declared
    return ()


@cache
def _data_files(repository: Path, module: str, declared: str) -> Mapping[str, str]:
    if declared.startswith("$"):
        named = os.environ.get(declared[1:])
        return {declared: file_sha256(Path(named))} if named else {}
    path = repository / declared
    below = (file for file in path.rglob("*") if file.is_file())
    files = [path] if path.is_file() else sorted(file for file in below if not _is_hidden(file.relative_to(path)))
    if not files:
        raise ValueError(
            f"{_DATA_FILES} of module {module} names {declared!r}, which is no file, and no folder with files in it, "
            f"below {repository}"
        )
    return {file.relative_to(repository).as_posix(): file_sha256(file) for file in files}


def _is_hidden(path: Path) -> bool:
    return any(part == "__pycache__" or part.startswith(".") for part in path.parts)


def _code(text: str, statements: Iterable[ast.stmt]) -> bytes:
    """Return a module's source without comments, string statements, blank lines and blanks at the ends of lines.

    All is cut by position, so that every supported version of Python returns the same bytes.
    """
    words = _string_statements(text, statements)
    kept: list[str] = []
    end = cut = 0
    for token in _STRING_OR_COMMENT.finditer(text):
        kept.append(text[end : token.start()])
        end = token.end()
        cut = words.get(token.start(), cut)
        if not token["comment"] and token.start() >= cut:
            # No line of a string is a line of code that may be blank; and no source holds a null.
            kept.append(token[0].replace("\n", "\0"))
    lines = (line.rstrip() for line in "".join([*kept, text[end:]]).split("\n"))
    return "\n".join(line for line in lines if line).encode()


def _string_statements(text: str, statements: Iterable[ast.stmt]) -> dict[int, int]:
    """Return where docstrings end, by where they begin: those of modules, classes, functions and attributes."""
    # A syntax tree counts lines by "\n", and columns by bytes.
    lines = text.split("\n")
    begins = list(accumulate((len(line) + 1 for line in lines), initial=0))

    def place(line: int, column: int) -> int:
        return begins[line - 1] + len(lines[line - 1].encode()[:column].decode())

    return {
        place(found.lineno, found.col_offset): place(found.end_lineno or 0, found.end_col_offset or 0)
        for found in statements
        if isinstance(found, ast.Expr) and isinstance(found.value, ast.Constant) and isinstance(found.value.value, str)
    }
