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
from pathlib import Path
from types import MappingProxyType
from typing import Final

from schemas.disk import file_sha256

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
_HIDDEN: Final = re.compile(r"/(?:\.|__pycache__/)")
_SIMPLE: Final = (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return, ast.Import, ast.ImportFrom)
_BLOCKS: Final = ("body", "handlers", "cases", "orelse", "finalbody")
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
    """Return the sha256 of each module's code, by its dotted name, and of each data file that the modules depend on."""
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
        tree = _parsed(file.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError) as error:
        raise ValueError(f"module {name} is no Python that can be read ({error}); correct {file}") from None
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    imports = dict.fromkeys(_imports(repository, _running_statements(tree), package))
    for pattern in _declared(tree, name, _FOUND):
        imports |= dict.fromkeys(_modules_like(repository, name, pattern))
    code = hashlib.sha256(_code(tree).encode("utf-8", "surrogatepass")).hexdigest()
    return _Module(code, tuple(imports), _declared(tree, name, _DATA_FILES))


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


def _running_statements(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield every statement but those that are there for type checkers alone, those inside of others too."""
    waiting = list(tree.body)
    while waiting:
        statement = waiting.pop()
        yield statement
        for name in () if isinstance(statement, _SIMPLE) else _BLOCKS:
            test = statement.test if name == "body" and isinstance(statement, ast.If) else None
            if "TYPE_CHECKING" not in (getattr(test, "id", None), getattr(test, "attr", None)):
                for part in getattr(statement, name, ()):
                    waiting += [part] if isinstance(part, ast.stmt) else part.body


def _imports(repository: Path, statements: Iterable[ast.stmt], package: str) -> Iterator[str]:
    """Yield the modules that statements import; of what is not the repository's, only the name that is written."""
    for statement in statements:
        if isinstance(statement, ast.Import):
            yield from (alias.name for alias in statement.names)
        elif isinstance(statement, ast.ImportFrom):
            above = package.split(".")[: -statement.level + 1 or None] if statement.level else []
            module = ".".join([*above, *([statement.module] if statement.module else [])])
            yield module
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
    below = (file for file in path.rglob("*") if file.is_file() and not _HIDDEN.search(f"/{file.relative_to(path)}/"))
    files = [path] if path.is_file() else sorted(below)
    if not files:
        raise ValueError(
            f"{_DATA_FILES} of module {module} names {declared!r}, which is no file, and no folder with files in it, "
            f"below {repository}"
        )
    return {file.relative_to(repository).as_posix(): file_sha256(file) for file in files}


def _code(part: object) -> str:
    """Return a syntax tree as text, without docstrings and other string statements.

    Unlike `ast.dump`, it leaves out all fields that are not set, of which later versions of Python have more.
    """
    if isinstance(part, list):
        return f"[{','.join(_code(each) for each in part if not _is_string_statement(each))}]"
    if not isinstance(part, ast.AST):
        return repr(part)
    fields = (f"{name}={_code(value)}" for name, value in ast.iter_fields(part) if value is not None and value != [])
    return f"{type(part).__name__}({','.join(fields)})"


def _is_string_statement(part: object) -> bool:
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant) and isinstance(part.value.value, str)
