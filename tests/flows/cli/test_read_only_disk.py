"""A state folder on a read-only disk is read, and what would write to it is refused before any work."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.runtime.session import prefect_folder
from tests.flows.command import in_this_process
from tests.listing import listing
from tests.small_disk import mounted_disk
from tests.small_pipeline import PROFILE
from tests.tasks.lineage.small_world import ANA, TRAINED, make_world

DISK_BYTES = 20_000_000


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with mounted_disk(tmp_path_factory.mktemp("mounted"), DISK_BYTES) as disk:
        make_world(disk / "state" / "artifacts")
        prefect_folder(disk / "state").mkdir()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        yield disk / "state"


@pytest.mark.parametrize("command", [("lineage", TRAINED.prompt_id), ("forget", ANA)])
def test_what_only_reads_works(state: Path, command: tuple[str, ...]) -> None:
    ended = in_this_process(*command, "--set", f"state.root={state}")
    assert ended.returncode == 0, ended.text


@pytest.mark.parametrize(
    "command",
    [
        ("retrain", "--profile", PROFILE),
        ("promote", "1"),
        ("forget", ANA, "--apply"),
        ("ui",),
    ],
)
def test_what_writes_is_refused_in_one_sentence(
    state: Path, command: tuple[str | Path, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = listing(state)
    ended = in_this_process(*command, "--state", state)
    assert ended.returncode == 2
    assert str(state) in ended.text
    assert "Traceback" not in ended.text
    assert listing(state) == before
    assert not list(tmp_path.iterdir())
