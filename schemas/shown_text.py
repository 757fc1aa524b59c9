"""Hostile text, of a model or a shopper, made safe for a terminal or a page."""

from typing import Final

import regex

# Controls, escapes, characters that change the direction of writing or have no width, half surrogate pairs, and exotic
# line ends; the line break and the joiner of emoji stay.
_HOSTILE: Final = regex.compile(r"[[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]--[\n\u200d]]", regex.VERSION1)


def as_shown(text: str) -> str:
    r"""Return a text without control and direction characters: `\x1b` becomes `␛`, others become their codes."""
    return str(_HOSTILE.sub(_visible, text.replace("\r\n", "\n").expandtabs(4)))


def _visible(found: regex.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
