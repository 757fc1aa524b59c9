"""Stop sequences: an answer ends before the first one in it, as in OpenAI's API."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

from tasks.serve.engines.client import EngineAnswer


def cut(answer: EngineAnswer, stops: Sequence[str]) -> EngineAnswer:
    """Return an answer up to the first stop sequence; its tokens are those that were drawn."""
    end = _first(answer.text, stops)
    return answer if end < 0 else replace(answer, text=answer.text[:end], finish_reason="stop")


async def cut_stream(
    pieces: AsyncIterator[str | EngineAnswer], stops: Sequence[str]
) -> AsyncIterator[str | EngineAnswer]:
    """Yield an answer's pieces up to the first stop sequence, and at last the whole answer, uncut.

    Args:
        pieces: The pieces, and at last the whole answer.
        stops: The stop sequences; what may begin one is held back until it does not.
    """
    most, held, has_ended = max(map(len, stops), default=1) - 1, "", False
    async for piece in pieces:
        if isinstance(piece, EngineAnswer):
            if held and not has_ended:
                yield held
            yield piece
        elif not has_ended:
            held += piece
            end = _first(held, stops)
            has_ended = end >= 0
            ready = end if has_ended else len(held) - most
            if ready > 0:
                yield held[:ready]
                held = held[ready:]


def _first(text: str, stops: Sequence[str]) -> int:
    """Return the place of the first stop sequence; -1 where there is none."""
    return min((place for stop in stops if (place := text.find(stop)) >= 0), default=-1)
