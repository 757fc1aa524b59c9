"""What a format rounds is computed from its definition, and is what GGUF's own package writes."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.serve.export.gguf_file import BLOCK, PRECISIONS, Precision
from tasks.serve.export.rounding import rounded, tolerance

# As trained models' weights, and some that are extreme; half precision ends at 65,504.
NUMBERS = st.floats(-6e4, 6e4, width=16) | st.floats(-1, 1, width=16) | st.sampled_from([0.1, 1e-7, -3e-8])
ROWS = st.lists(NUMBERS, min_size=2 * BLOCK, max_size=2 * BLOCK)


def _written(weights: Any, precision: Precision) -> Any:
    from gguf import GGMLQuantizationType, quants

    kind = GGMLQuantizationType[precision]
    return torch.from_numpy(quants.dequantize(quants.quantize(weights.numpy(), kind), kind).astype(np.float32))


@pytest.mark.parametrize("precision", PRECISIONS)
@settings(max_examples=200)
@given(row=ROWS)
def test_it_is_what_the_package_writes_and_within_the_tolerance(precision: Precision, row: list[float]) -> None:
    weights = torch.tensor([row])
    written = _written(weights, precision)
    assert torch.equal(rounded(weights, precision), written)
    assert bool(((written - weights).abs() <= tolerance(weights, precision)).all())


def test_a_step_more_is_beyond_the_tolerance() -> None:
    torch.manual_seed(1)
    weights = torch.randn(8, 2 * BLOCK)
    step = weights.reshape(8, 2, BLOCK).abs().amax(dim=-1, keepdim=True).expand(-1, -1, BLOCK).reshape(8, -1) / 127
    assert not bool(((rounded(weights, "Q8_0") + 1.2 * step - weights).abs() <= tolerance(weights, "Q8_0")).any())


def test_vectors_and_a_types_own_weights_are_exact() -> None:
    vector, matrix = torch.tensor([0.1, 1e-9]), torch.tensor([[0.1, 1e-9]])
    assert torch.equal(rounded(vector, "Q8_0"), vector)
    assert float(tolerance(vector, "F16").sum() + tolerance(matrix, None).sum()) == 0
    # A row that is no number of whole blocks stays in half precision.
    assert torch.equal(rounded(matrix, "Q8_0"), matrix.half().float())
