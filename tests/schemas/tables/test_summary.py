"""The summary of an artifact is read as it was written, and its format is that of the files that are kept."""

import json
from pathlib import Path

import pytest

from schemas.tables.dataset_summary import DatasetSummary
from schemas.tables.prompts_summary import PromptsSummary
from schemas.tables.summary import SUMMARY_FILE
from tests.summaries import DATASET_SUMMARY, PROMPTS_SUMMARY


def test_a_summary_is_read_as_written_and_has_the_keys_that_are_kept(tmp_path: Path) -> None:
    PROMPTS_SUMMARY.write(tmp_path)
    text = (tmp_path / SUMMARY_FILE).read_text(encoding="utf-8")
    assert text.startswith('{\n  "source": "simulated",\n  "seed": 7,\n  "store": {\n    "orders": 3,\n')
    assert list(json.loads(text)) == [
        "source",
        "seed",
        "store",
        "asked",
        "made",
        "origins",
        "without_reference",
        "served",
        "minority_floor",
        "minorities",
        "warnings",
    ]
    assert PromptsSummary.read(tmp_path) == PROMPTS_SUMMARY


def test_a_later_versions_fields_are_ignored_and_a_missing_one_is_not(tmp_path: Path) -> None:
    file = tmp_path / SUMMARY_FILE
    file.write_text(json.dumps({**DATASET_SUMMARY.as_document(), "later": 1}), encoding="utf-8")
    assert DatasetSummary.read(tmp_path) == DATASET_SUMMARY
    with pytest.raises(ValueError, match="asked"):
        PromptsSummary.read(tmp_path)
    file.unlink()
    with pytest.raises(OSError, match=SUMMARY_FILE):
        DatasetSummary.read(tmp_path)
