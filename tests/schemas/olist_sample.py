"""Where the real sample of Olist's store is: its licence keeps it out of this repository."""

import os
from pathlib import Path

import pytest

SAMPLE = Path(os.environ.get("TUCANO_OLIST", Path(__file__).parents[3] / "shared" / "olist"))

needs_sample = pytest.mark.skipif(
    not SAMPLE.is_dir(), reason=f"needs Olist's sample in {SAMPLE}; set TUCANO_OLIST to its folder"
)
