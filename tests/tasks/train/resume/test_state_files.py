"""States: what is written is read again, tensor by tensor, and reading it can execute nothing."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.errors import InputError
from tasks.train.resume.state_files import read_state, write_state

TYPES = [
    torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64,
    torch.float16, torch.bfloat16, torch.float32, torch.float64,
]  # fmt: skip
SHAPES: list[tuple[int, ...]] = [(), (0,), (3,), (2, 0, 2), (2, 3)]


@st.composite
def tensors(draw: st.DrawFn) -> torch.Tensor:
    kind, shape = draw(st.sampled_from(TYPES)), draw(st.sampled_from(SHAPES))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 9)))
    whole = (torch.rand(shape, generator=generator) * 200).to(kind)
    # Not every tensor is contiguous.
    return whole.T if whole.dim() == 2 and draw(st.booleans()) else whole


# Keys that are alike once they are joined by dots, as names of parameters are.
KEYS = st.sampled_from(["a", "b", "a.b", "a.0", "0", "", ".a", "__metadata__", "peso ñ"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | tensors(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and one.shape == other.shape and torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    return type(one) is type(other) and bool(one == other)


@settings(deadline=None, max_examples=50)
@given(state=st.dictionaries(KEYS, VALUES, max_size=4))
def test_written_state_is_read_again(state: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as home:
        write_state(Path(home), "part", state)
        assert _equal(read_state(Path(home), "part"), state)


def test_a_state_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"has no preferences\.json; it is of another algorithm, so start with --fresh"
    ):
        read_state(tmp_path, "preferences")
