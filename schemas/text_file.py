"""Text files that people write: UTF-8 with or without a byte order mark, and any line ends."""

import tomllib
from pathlib import Path
from typing import Any, Final

from schemas.errors import InputError

_LARGEST: Final = 1_000_000
"""Most bytes of such a file."""
_SAVE: Final = "save it as UTF-8"


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Read a document of TOML.

    Args:
        path: The file.
        what: Name of the content for error messages, such as `profile`.

    Raises:
        FileNotFoundError: There is no such file.
        InputError: It cannot be read, or is no TOML in UTF-8.
    """
    try:
        return tomllib.loads(read_text_file(path, what))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{what} {path} is no TOML: {error}; correct it") from None


def read_text_file(path: Path, what: str) -> str:
    """Read a text, without a byte order mark and with line feeds alone.

    Args:
        path: The file.
        what: Name of the content for error messages.

    Raises:
        FileNotFoundError: There is no such file.
        InputError: It cannot be read, is larger than 1 MB, or is no UTF-8.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(f"{what} {path} is larger than {_LARGEST // 10**6} MB; give another file")
        content = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise InputError(f"{what} {path} cannot be read ({error.strerror}); check the path") from None
    if wide := wide_encoding(content):
        raise InputError(f"{what} {path} is {wide}; {_SAVE}")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InputError(f"{what} {path}: line {line} is not UTF-8; {_SAVE}") from None
    # Some programs add a mark to a text that has one.
    return text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def wide_encoding(content: bytes) -> str | None:
    """Return the name of UTF-32 or UTF-16, with a byte order mark or without; None for other texts, which have no NUL.

    Args:
        content: The text's bytes, or its first four.
    """
    if content[:2] == b"\0\0" or content[2:4] == b"\0\0":
        return "UTF-32"
    if content.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in content[:2]:
        return "UTF-16, which Windows calls Unicode"
    return None
