"""Scores that people gave under a version of before stay valid under the one that scores alike."""

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from schemas.tasks import TASK_NAMES
from tasks.audit import past_versions
from tasks.audit.past_versions import as_it_is_now, versions_of

OLD = "1c051aeffa60f6131f937f9fb6476de3d704ad5634bcc78b5d29dbd96077a2d7"
"""The version of all rewards before each task had its own."""


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    file = tmp_path / "versions.toml"
    file.write_text('[whole.abcdef]\npush = "1"\nchurn = "9"\n[same]\n1 = "2"\n2 = "3"\n', encoding="utf-8")
    monkeypatch.setattr(past_versions, "FILE", file)
    past_versions._read.cache_clear()
    yield
    past_versions._read.cache_clear()


def test_every_task_has_a_version_for_that_of_all() -> None:
    versions = versions_of(OLD)
    assert tuple(versions) == TASK_NAMES
    assert versions == versions_of(OLD[:16])
    assert all(len(bytes.fromhex(version)) == 32 for version in versions.values())


@pytest.mark.parametrize("unknown", ["", "f" * 64, OLD + "0"])
def test_nothing_is_known_of_other_versions(unknown: str) -> None:
    assert versions_of(unknown) == {}


@pytest.mark.usefixtures("known")
def test_a_version_leads_to_the_newest_that_scores_alike() -> None:
    assert versions_of("abc") == {"push": "3", "churn": "9"}
    assert as_it_is_now("2") == "3"
    assert as_it_is_now("7") == "7"


def test_the_shipped_file_has_its_two_tables() -> None:
    assert tomllib.loads(past_versions.FILE.read_text(encoding="utf-8")).keys() == {"whole", "same"}
