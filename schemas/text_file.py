"""Text files that people write: UTF-8 with or without a byte order mark, and any line ends."""

import codecs
import tomllib
from pathlib import Path
from typing import Any, Final

from schemas.errors import InputError

_LARGEST: Final = 1_000_000
"""Most bytes of such a file."""
_SAVE: Final = "save it as UTF-8"


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """Read a document of TOML."""
    try:
        return tomllib.loads(read_text_file(path, what))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise InputError(f"{what} {path} is no TOML: {error}; correct it") from None


def read_text_file(path: Path, what: str) -> str:
    """Read a text, without a byte order mark and with line feeds alone; FileNotFoundError where there is none."""
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
    """Return the name of UTF-32 or UTF-16, with a byte order mark or without; None for other texts and for no text."""
    # Without a mark it is told by the NUL bytes of a first letter or digit.
    zeros = "".join("0" if byte == 0 else "x" for byte in content[:4])
    if content.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)) or zeros in {"000x", "x000"}:
        return "UTF-32"
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or zeros in {"0x0x", "x0x0", "0x", "x0"}:
        return "UTF-16, which Windows calls Unicode"
    return None
