"""Text of an answer while its tokens come: whole characters alone, which never change afterwards."""

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

UNFINISHED: Final = "\ufffd"
"""What a tokenizer writes for a character of which bytes are missing."""


class GrowingText:
    """Text that was already given away, and the tokens behind it."""

    def __init__(self, tokenizer: "PreTrainedTokenizerBase") -> None:
        """Begin with none.

        Args:
            tokenizer: Reads the tokens.
        """
        self._tokenizer = tokenizer
        self._tokens: list[int] = []
        self._given = ""

    def more(self, token: int) -> str:
        """Return the text that a further token finishes, which may be none."""
        self._tokens.append(token)
        text = str(self._tokenizer.decode(self._tokens, skip_special_tokens=True)).rstrip(UNFINISHED)
        return self._grow(text)

    def rest(self, text: str) -> str:
        """Return what is not yet given of the whole text."""
        return self._grow(text)

    def _grow(self, text: str) -> str:
        if not text.startswith(self._given):
            return ""
        more, self._given = text[len(self._given) :], text
        return more
