"""The estimate of what is kept for the backward pass, against two layers of a real shape in bfloat16."""

from dataclasses import replace
from typing import Literal

import pytest

from benchmarks.memory.__main__ import MOST_APART, NAME
from benchmarks.memory.measurement import compare
from tasks.train.sizing.decoder_shape import KNOWN_SHAPES


@pytest.mark.parametrize("checkpointing", ["none", "torch"])
@pytest.mark.parametrize("rows", [1, 3])
def test_two_real_layers_keep_what_is_estimated(checkpointing: Literal["none", "torch"], rows: int) -> None:
    compared = compare(replace(KNOWN_SHAPES[NAME], layers=2), checkpointing, rows, 40)
    assert compared.apart == pytest.approx(0, abs=MOST_APART)
