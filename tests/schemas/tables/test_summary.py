"""The summary of an artifact is read as it was written, and its format is that of the files that are kept."""

import json
from pathlib import Path

import pytest

from schemas.tables.dataset_summary import DatasetSummary, GeneralSummary
from schemas.tables.prompts_summary import ParaphraseCounts, PromptsSummary
from schemas.tables.summary import SUMMARY_FILE, Summary
from tests.summaries import DATASET_SUMMARY, PROMPTS_SUMMARY

PARAPHRASED = PROMPTS_SUMMARY.model_copy(
    update={
        "paraphrases": ParaphraseCounts(
            made={"push": 2}, dropped={"push": 1}, refused_answers={"names": 1}, failure="não responde"
        )
    }
)
WITH_GENERAL = DATASET_SUMMARY.model_copy(
    update={
        "general": GeneralSummary(
            name="instruções",
            licence="CC0-1.0",
            share=0.05,
            rows=6,
            read=9,
            drawn=5,
            too_long=1,
            copies=0,
            held_out=1,
            scrubbed={"CPF": 1},
        )
    }
)
DATASET_TEXT = """\
{
  "split_seed": 42,
  "held_out_share": 0.25,
  "train": 119,
  "validation": 12,
  "test": 24,
  "quarantined": 2,
  "tasks": {
    "push": {
      "train": 119,
      "validation": 12,
      "test": 24
    }
  },
  "reasons": {
    "schema": {
      "unknown": 2
    },
    "known to base": {}
  },
  "scrubbed": {
    "CPF": 3,
    "EMAIL": 0
  },
  "sources": {
    "simulated": 155
  },
  "without_reference": {},
  "references_by_people": {},
  "references_left_out": 0,
  "general": {
    "name": "instruções",
    "licence": "CC0-1.0",
    "share": 0.05,
    "rows": 6,
    "read": 9,
    "drawn": 5,
    "too_long": 1,
    "copies": 0,
    "held_out": 1,
    "scrubbed": {
      "CPF": 1
    }
  }
}
"""
PROMPTS_TEXT = """\
{
  "source": "simulated",
  "seed": 7,
  "store": {
    "orders": 3,
    "reviews": 3,
    "products": 2
  },
  "asked": {
    "push": 3,
    "churn": 0
  },
  "made": {
    "push": 3,
    "churn": 0
  },
  "origins": {},
  "without_reference": {},
  "paraphrases": {
    "made": {
      "push": 2
    },
    "dropped": {
      "push": 1
    },
    "refused_answers": {
      "names": 1
    },
    "failure": "não responde"
  },
  "served": null,
  "minority_floor": 500,
  "minorities": {
    "push": 3
  },
  "warnings": [
    "fewer than 500 prompts of push (3)"
  ]
}
"""


@pytest.mark.parametrize(("summary", "text"), [(WITH_GENERAL, DATASET_TEXT), (PARAPHRASED, PROMPTS_TEXT)])
def test_the_file_has_these_bytes_and_is_read_as_written(tmp_path: Path, summary: Summary, text: str) -> None:
    summary.write(tmp_path)
    assert (tmp_path / SUMMARY_FILE).read_bytes() == text.encode()
    assert type(summary).read(tmp_path) == summary


def test_a_later_versions_fields_are_ignored_and_a_missing_one_is_not(tmp_path: Path) -> None:
    file = tmp_path / SUMMARY_FILE
    file.write_text(json.dumps({**DATASET_SUMMARY.as_document(), "later": 1}), encoding="utf-8")
    assert DatasetSummary.read(tmp_path) == DATASET_SUMMARY
    with pytest.raises(ValueError, match="asked"):
        PromptsSummary.read(tmp_path)
    file.unlink()
    with pytest.raises(OSError, match=SUMMARY_FILE):
        DatasetSummary.read(tmp_path)
