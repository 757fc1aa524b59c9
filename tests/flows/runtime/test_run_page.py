"""The page of a run: one progress artifact, updated in steps, and tags of profile, seed and verdict."""

from collections.abc import Iterator
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from flows.runtime import run_page as module
from flows.runtime.run_page import RunPage, profile_tag, run_page

Shown = list[tuple[UUID | None, float, str]]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> Iterator[Shown]:
    """Return what reached the server: the artifact (None: a new one), percent and description."""
    seen: Shown = []

    def create(percent: float, *, key: str, description: str) -> UUID:
        assert key == "progress"
        seen.append((None, percent, description))
        return uuid4()

    monkeypatch.setattr(module, "is_recorded", lambda: True)
    monkeypatch.setattr(module, "create_progress_artifact", create)
    monkeypatch.setattr(
        module,
        "update_progress_artifact",
        lambda artifact, percent, description: seen.append((artifact, percent, description)),
    )
    yield seen


def test_all_stages_share_one_artifact_and_each_has_steps_of_its_own(shown: Shown) -> None:
    page = RunPage()
    for done in range(1, 101):
        page.progress("train", done, 100, "reward 0.1")
    page.progress("evaluate", 1, 2, "scoring")
    assert [artifact for artifact, *_ in shown].count(None) == 1
    assert len({artifact for artifact, *_ in shown[1:]}) == 1
    assert [percent for _, percent, _ in shown] == [*(float(5 * n) for n in range(1, 21)), 50.0]
    assert shown[-1][2] == "evaluate: 1/2 scoring"


def test_a_count_that_begins_again_is_shown_again(shown: Shown) -> None:
    page = RunPage()
    page.progress("train", 20, 20, "preflight")
    page.progress("train", 3, 40, "reward 0.1")
    assert [percent for _, percent, _ in shown] == [100.0, 7.5]


def test_where_nothing_records_the_run_nothing_is_shown(shown: Shown, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "is_recorded", lambda: False)
    page = RunPage()
    page.show(0.0, "starting")
    page.progress("train", 1, 1, "")
    page.log("no server")
    assert shown == []


def test_stages_report_to_the_chains_page_and_the_next_run_has_another() -> None:
    with run_page() as chain, run_page() as of_a_stage:
        assert of_a_stage is chain
    with run_page() as next_run:
        assert next_run is not chain


@pytest.mark.parametrize("profile", ["l4", "infra/profiles/l4.toml", str(Path("/somebody/l4.toml"))])
def test_a_profile_is_tagged_by_its_name_and_nobodys_path(profile: str) -> None:
    assert profile_tag(profile) == "profile:l4"
