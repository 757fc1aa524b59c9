import hashlib
import json
import math
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import ValidationError

from tasks.checkpoints.manifest import Manifest, ManifestTooNew, is_live, parse_name

FILE = {"sha256": "a" * 64, "size": 7, "crc32c": "AAAAAA=="}


def manifest(**changes: Any) -> Manifest:
    values: dict[str, Any] = {
        "training": "train-1",
        "base": "b" * 64,
        "step": 10,
        "fencing": 3,
        "created_at": datetime(2026, 1, 2, tzinfo=UTC),
        "metrics": {"reward": 0.5},
        "files": {"adapter/weights.bin": FILE},
    }
    return Manifest.model_validate(values | changes)


def test_it_is_read_as_it_was_written_also_with_metrics_that_are_no_json_numbers() -> None:
    written = manifest(metrics={"reward": 0.5, "kl": math.inf})
    assert Manifest.from_bytes(written.to_bytes()) == written
    assert parse_name(written.name) == (10, 3)


def sealed(body: dict[str, Any]) -> bytes:
    text = json.dumps(body, separators=(",", ":"))
    return f'{{"manifest":{text},"sha256":"{hashlib.sha256(text.encode()).hexdigest()}"}}'.encode()


def test_a_whole_manifest_of_a_newer_version_says_so_whatever_it_holds() -> None:
    with pytest.raises(ManifestTooNew, match=r"version 3.*update this installation"):
        Manifest.from_bytes(sealed({"version": 3, "shards": [[1, 2]]}))


@pytest.mark.parametrize("name", ["/etc/passwd", "a/../../b", "./a", "", "manifest.json"])
def test_a_file_outside_the_checkpoints_folder_or_in_the_manifests_place_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        manifest(files={name: FILE})


@pytest.mark.parametrize(
    ("step", "fencing", "begun", "live"),
    [
        (150, 1, {}, True),
        (150, 1, {1: 0, 2: 150}, True),
        (150, 1, {1: 0, 2: 140}, False),
        (145, 2, {1: 0, 2: 140}, True),
        (160, 3, {1: 200, 2: 150, 3: 145}, True),
    ],
)
def test_a_later_segment_discards_a_checkpoint(step: int, fencing: int, begun: dict[int, int], live: bool) -> None:
    assert is_live(step, fencing, begun) is live
    assert manifest(step=step, fencing=fencing).is_live(begun) is live
