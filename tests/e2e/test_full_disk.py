"""A disk that fills during a run: one sentence, nothing half-done, and the same command goes on where it ended."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from flows.runtime.session import BYTES_FOR_A_STAGE, prefect_folder
from tests.prefect_server import PlaceDatabase
from tests.small_disk import empty, fill, mounted_disk
from tests.small_pipeline import command

pytestmark = [pytest.mark.e2e, pytest.mark.long]

WITHOUT_CHECKS = """
from flows.runtime import session
session.BYTES_NEEDED = session.BYTES_FOR_A_STAGE = 0
from flows.cli.tucano import main
main()
"""
"""The command on a disk that would be refused for its size, and where also a stage without room begins."""
ENOUGH_TO_SAY_SO = BYTES_FOR_A_STAGE // 2
WITHOUT_FIRST_CHECK = WITHOUT_CHECKS.replace("session.BYTES_FOR_A_STAGE = ", "")


def run_until_full(program: str, disk: Path, line: str, leave: int) -> tuple[int, str, list[str]]:
    """Run the pipeline on a disk, and keep it full from a line on, but for some bytes.

    Returns:
        The exit code, what was said before the disk was full, and the lines from then on.
    """
    arguments = command(disk / "state")[3:]
    tucano = subprocess.Popen([sys.executable, "-c", program, *arguments], stderr=subprocess.PIPE, text=True)
    assert tucano.stderr is not None
    before: list[str] = []
    while not any(said.startswith(line) for said in before):
        before.append(tucano.stderr.readline())
        assert before[-1], "".join(before)
    ended = threading.Event()
    filler = threading.Thread(target=_keep_full, args=[disk, leave, ended])
    filler.start()
    after = tucano.stderr.read().splitlines()
    exit_code = tucano.wait()
    ended.set()
    filler.join()
    empty(disk)
    return exit_code, "".join(before), after


def _keep_full(disk: Path, leave: int, ended: threading.Event) -> None:
    """Take what becomes free, as another program that fills the disk would."""
    fill(disk, leave)
    while not ended.wait(0.05):
        fill(disk, leave)


def kinds(state: Path) -> list[str]:
    return sorted(record.parent.parent.name for record in state.glob("artifacts/*/*/record.json"))


def test_a_disk_that_fills_during_and_before_a_stage(tmp_path: Path, prefect_home: PlaceDatabase) -> None:
    with mounted_disk(tmp_path, 3 * BYTES_FOR_A_STAGE) as disk:
        state = disk / "state"
        prefect_home(prefect_folder(state))

        exit_code, _, after = run_until_full(WITHOUT_CHECKS, disk, "synthesize: prompts", 0)
        assert exit_code == 2, after
        assert after[-1].startswith(f"tucano: the disk of {state}"), after
        assert "ran full (" in after[-1]
        assert "free some space and run the same command again: what was finished is kept" in after[-1]
        assert [said for said in after if not said.startswith(("tucano: ", "synthesize: ", "curate: "))] == []
        assert kinds(state) == ["prompts"]
        assert list((state / "artifacts" / "drafts").iterdir()) == []

        exit_code, before, after = run_until_full(WITHOUT_FIRST_CHECK, disk, "curate: dataset", ENOUGH_TO_SAY_SO)
        assert exit_code == 2, after
        assert "synthesize: skipped" in before
        (said,) = after
        assert said.startswith(f"tucano: the disk of the state folder {state} has "), said
        assert said.endswith(
            " MB free and the stage audit needs 100; free some space and run the same command again: what was finished "
            "is kept"
        ), said
        assert kinds(state) == ["dataset", "prompts"]
