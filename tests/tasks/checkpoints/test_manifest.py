import math
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tasks.checkpoints.manifest import Manifest


def manifest(**changes: Any) -> Manifest:
    values: dict[str, Any] = {
        "run": "train-1",
        "step": 10,
        "created_at": datetime(2026, 1, 2, tzinfo=UTC),
        "metrics": {"reward": 0.5},
        "files": {"adapter/weights.bin": {"sha256": "a" * 64, "size": 7}},
    }
    return Manifest.model_validate(values | changes)


@given(
    step=st.integers(0, 10**7),
    metrics=st.dictionaries(st.text(max_size=8), st.floats(allow_nan=False), max_size=3),
    run=st.text(max_size=8),
)
def test_it_is_read_as_it_was_written(step: int, metrics: dict[str, float], run: str) -> None:
    written = manifest(step=step, metrics=metrics, run=run)
    assert Manifest.from_bytes(written.to_bytes()) == written


def test_a_metric_that_is_no_number_survives() -> None:
    read = Manifest.from_bytes(manifest(metrics={"loss": math.nan}).to_bytes())
    assert math.isnan(read.metrics["loss"])


@given(data=st.data())
def test_a_flipped_bit_or_a_lost_end_is_found(data: st.DataObject) -> None:
    content = bytearray(manifest().to_bytes())
    position = data.draw(st.integers(0, len(content) - 1))
    torn = bytes(content[:position])
    content[position] ^= 1 << data.draw(st.integers(0, 7))
    for damaged in (bytes(content), torn):
        with pytest.raises(ValueError):
            Manifest.from_bytes(damaged)


@pytest.mark.parametrize("name", ["../secret", "/etc/passwd", "a/../../b", "a//b", "./a", "", "."])
def test_a_file_outside_the_checkpoints_folder_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        manifest(files={name: {"sha256": "a" * 64, "size": 7}})


@pytest.mark.parametrize("change", [{"version": 2}, {"step": -1}, {"files": {}}, {"more": 1}])
def test_what_is_no_manifest_of_this_version_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        manifest(**change)
