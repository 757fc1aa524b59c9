"""Scratch folders: gone with their process however it ends, and never another's."""

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from schemas.disk import scratch_folder

HOLD = """
import sys, time
from pathlib import Path
from schemas.disk import scratch_folder
with scratch_folder(Path(sys.argv[1])) as folder:
    (folder / "socket").touch()
    print(folder, flush=True)
    time.sleep(600)
"""


@contextmanager
def another_process(parent: Path) -> Iterator[tuple[Path, "subprocess.Popen[str]"]]:
    """Run a process that has a scratch folder, and give both."""
    with subprocess.Popen([sys.executable, "-c", HOLD, str(parent)], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield Path(process.stdout.readline().strip()), process
        finally:
            process.kill()


def test_it_is_empty_private_and_gone_after_the_block(tmp_path: Path) -> None:
    with scratch_folder(tmp_path) as folder:
        assert list(folder.iterdir()) == []
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "file").touch()
    assert list(tmp_path.iterdir()) == []


def test_folders_of_killed_processes_go_and_those_of_living_ones_stay(tmp_path: Path) -> None:
    with another_process(tmp_path) as (kept, _), another_process(tmp_path) as (left, process):
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert (left / "socket").exists()
        for folder in (kept, left):
            os.utime(folder, (0, 0))
        with scratch_folder(tmp_path):
            assert not left.exists()
            assert (kept / "socket").exists()
