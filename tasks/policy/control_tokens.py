"""Control tokens of chat templates in a text, made plain: `<|im_end|>` in a review must end no turn.

Tokenizers read control tokens wherever they stand, so a shopper's text could close the user's turn and write the
assistant's. Here their brackets become parentheses: `(im_end)` can still be read, and is no token. Control characters
and signs without width go, since they could hide a token from a reader or from this module. A text never grows, in
bytes.
"""

from functools import cache
from pathlib import Path
from typing import Any, Final

import regex

DATA_FILES: Final = ("data/policy/control_tokens.txt",)
_NAMES_FILE: Final = Path(__file__).resolve().parents[2] / DATA_FILES[0]
_OPEN: Final = "[<\uff1c\ufe64]"
_CLOSE: Final = "[>\uff1e\ufe65]"
_BAR: Final = "[|\uff5c\uffe8]"
_LINE_END: Final = regex.compile(r"\r\n?|[\p{Zl}\p{Zp}]")
_NO_WIDTH: Final = regex.compile(r"[[\p{Cf}\p{Cs}]--[\u200d]]", regex.VERSION1)
_EMOJI: Final = r"[\p{Extended_Pictographic}\ufe0f\U0001f3fb-\U0001f3ff]"
_LOOSE_JOINER: Final = regex.compile(rf"(?<!{_EMOJI})\u200d|\u200d(?!{_EMOJI})")
"""The joiner stays between the parts of an emoji."""
_CONTROL: Final = regex.compile(r"[[\p{Cc}]--[\n\t]]", regex.VERSION1)
_SUSPECT: Final = regex.compile(
    r"[[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}<\uff1c\ufe64|\uff5c\uffe8\[]--[\n\t]]", regex.VERSION1
)
_BARRED: Final = regex.compile(
    rf"{_OPEN}\s{{0,3}}{_BAR}\s{{0,3}}([\p{{L}}\p{{N}}_/\u2581:. -]{{1,60}}?)\s{{0,3}}{_BAR}\s{{0,3}}{_CLOSE}"
)
_SIGN: Final = regex.compile(rf"{_OPEN}|{_CLOSE}|{_BAR}|[\[\]]")
_OPENED: Final = regex.compile(rf"{_OPEN}{_BAR}")
_CLOSED: Final = regex.compile(rf"{_BAR}{_CLOSE}")


def without_control_tokens(text: str) -> str:
    """Return a text that holds no control token of a chat template, and no control character.

    Line ends become line feeds, and other control characters spaces. Every other text stays as it is.
    """
    if _SUSPECT.search(text) is None:
        return text
    text = _CONTROL.sub(" ", _LOOSE_JOINER.sub("", _NO_WIDTH.sub("", _LINE_END.sub("\n", text))))
    text = _named().sub(r"(\g<name>)", _BARRED.sub(r"(\1)", text))
    return str(_CLOSED.sub(")", _OPENED.sub("(", text)))


def control_tokens_of(tokenizer: Any) -> list[str]:
    """Return a tokenizer's added tokens that are no mere words, the longest first."""
    added = tokenizer.added_tokens_decoder.values()
    found = {str(token) for token in added if token.special or _SIGN.search(str(token))}
    return sorted((token for token in found if token.strip()), key=lambda token: (-len(token), token))


def with_plain_messages(template: str, tokenizer: Any) -> str:
    """Return a chat template that also makes those of a tokenizer's own tokens plain that are not known here.

    So they are plain wherever it renders: in training, in a server and in an export.
    """
    unknown = [token for token in control_tokens_of(tokenizer) if token in without_control_tokens(f"a {token} a")]
    if not unknown:
        return template
    plain = "".join(f" | replace({token!r}, {f'({token[1:-1]})'[: len(token)]!r})" for token in unknown)
    begin = (
        "{%- set plain = namespace(messages=[]) %}{%- for message in messages %}{%- set plain.messages = plain.messages"
        f" + [{{'role': message['role'], 'content': message['content']{plain}}}] %}}{{%- endfor %}}"
        "{%- set messages = plain.messages %}"
    )
    return template if template.startswith(begin) else begin + template


@cache
def _named() -> regex.Pattern[str]:
    lines = _NAMES_FILE.read_text(encoding="utf-8").splitlines()
    names = "|".join(regex.escape(line) for line in lines if line and not line.startswith("#"))
    numbered = r"0x[0-9a-f]{2}|(?:extra_id|unused|reserved|special|reserved_special_token|loc|seg)_?\d+"
    name = rf"(?P<name>/?\s{{0,2}}(?:{names}|{numbered}))"
    return regex.compile(
        rf"(?:{_OPEN}{{1,2}}\s{{0,2}}{name}\s{{0,2}}{_CLOSE}{{1,2}}|\[\s{{0,2}}{name}\s{{0,2}}\])", regex.IGNORECASE
    )


THINK: Final = "<think>"
END_OF_THOUGHT: Final = "</think>"


def opens_a_thought(opening: str) -> bool:
    """Return whether the opening of an answer leaves a thought open; an empty thought disables thinking in Qwen3."""
    return opening.rfind(THINK) > opening.rfind(END_OF_THOUGHT)
