"""Scores that people gave under an earlier version stay valid under the one that scores alike."""

from pathlib import Path

import pytest

from tasks.audit import past_versions
from tasks.audit.past_versions import as_it_is_now, versions_of


def test_a_version_leads_to_the_newest_that_scores_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "versions.toml"
    file.write_text('[whole.abcdef]\npush = "1"\nchurn = "9"\n[same]\n1 = "2"\n2 = "3"\n', encoding="utf-8")
    monkeypatch.setattr(past_versions, "FILE", file)
    past_versions._read.cache_clear()
    try:
        assert versions_of("abc") == {"push": "3", "churn": "9"}
        assert (as_it_is_now("2"), as_it_is_now("7")) == ("3", "7")
    finally:
        past_versions._read.cache_clear()
