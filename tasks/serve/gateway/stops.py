"""Stop sequences: an answer ends before the first one in it, as in OpenAI's API."""

from collections.abc import Sequence
from dataclasses import replace

from tasks.serve.engines.client import EngineAnswer


def cut(answer: EngineAnswer, stops: Sequence[str]) -> EngineAnswer:
    """Return an answer up to the first stop sequence; its tokens are those that were drawn."""
    end = _first(answer.text, stops)
    return answer if end < 0 else replace(answer, text=answer.text[:end], finish_reason="stop")


def _first(text: str, stops: Sequence[str]) -> int:
    """Return the place of the first stop sequence; -1 where there is none."""
    return min((place for stop in stops if (place := text.find(stop)) >= 0), default=-1)
