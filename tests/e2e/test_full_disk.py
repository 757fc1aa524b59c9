"""A disk that fills during a run: one sentence, nothing half-done, and finished stages are kept."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from flows.runtime.session import BYTES_FOR_A_STAGE, prefect_folder
from tests.prefect_server import PlaceDatabase
from tests.small_disk import fill, mounted_disk
from tests.small_pipeline import command

pytestmark = [pytest.mark.e2e, pytest.mark.long]

WITHOUT_CHECKS = """
from flows.runtime import session
session.BYTES_NEEDED = session.BYTES_FOR_A_STAGE = 0
from flows.cli.tucano import main
main()
"""
"""The command on a disk that would be refused for its size."""


def run_until_full(disk: Path) -> tuple[int, list[str]]:
    """Run the pipeline on a disk that is full once the prompts are made; return its exit code and its later lines."""
    program = [sys.executable, "-c", WITHOUT_CHECKS, *command(disk / "state")[3:]]
    tucano = subprocess.Popen(program, stderr=subprocess.PIPE, text=True)
    assert tucano.stderr is not None
    while not (said := tucano.stderr.readline()).startswith("synthesize: prompts"):
        assert said
    ended = threading.Event()

    def keep_full() -> None:
        """Take also what becomes free, as another program that fills the disk would."""
        fill(disk)
        while not ended.wait(0.05):
            fill(disk)

    filler = threading.Thread(target=keep_full)
    filler.start()
    after = tucano.stderr.read().splitlines()
    exit_code = tucano.wait()
    ended.set()
    filler.join()
    return exit_code, after


def test_a_disk_that_fills_is_reported_and_finished_stages_stay(tmp_path: Path, prefect_home: PlaceDatabase) -> None:
    with mounted_disk(tmp_path, 3 * BYTES_FOR_A_STAGE) as disk:
        state = disk / "state"
        prefect_home(prefect_folder(state))
        exit_code, after = run_until_full(disk)
        assert exit_code == 2, after
        assert after[-1].startswith(f"tucano: the disk of {state}"), after
        assert "ran full (" in after[-1]
        assert "free some space and run the same command again: what was finished is kept" in after[-1]
        assert [said for said in after if not said.startswith(("tucano: ", "synthesize: ", "curate: "))] == []
        assert [record.parent.parent.name for record in state.glob("artifacts/*/*/record.json")] == ["prompts"]
        assert list((state / "artifacts" / "drafts").iterdir()) == []
