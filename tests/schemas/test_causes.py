"""Causes are those of a traceback: an explicit one, else what was being handled, unless it was suppressed."""

from collections.abc import Callable

import pytest

from schemas.causes import causes_of


def _explicit() -> None:
    try:
        raise MemoryError("first")
    except MemoryError as error:
        raise ValueError("second") from error


def _implicit() -> None:
    try:
        raise MemoryError("first")
    except MemoryError:
        raise ValueError("second")  # noqa: B904 - as libraries do


def _suppressed() -> None:
    try:
        raise MemoryError("first")
    except MemoryError:
        raise ValueError("second") from None


@pytest.mark.parametrize(
    ("fail", "causes"),
    [
        (_explicit, [ValueError, MemoryError]),
        (_implicit, [ValueError, MemoryError]),
        (_suppressed, [ValueError]),
    ],
)
def test_the_nearest_cause_comes_first(fail: Callable[[], None], causes: list[type]) -> None:
    with pytest.raises(ValueError, match="second") as caught:
        fail()
    assert [type(cause) for cause in causes_of(caught.value)] == causes


def test_causes_that_go_round_end() -> None:
    first, second = ValueError("first"), ValueError("second")
    first.__cause__, second.__cause__ = second, first
    assert causes_of(first) == [first, second]
