"""`tucano` with its arguments: in a process of its own, or in this one, which has the libraries loaded already."""

import json
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from flows.cli.tucano import main


@dataclass(frozen=True)
class Ended:
    """A command that came to its end."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def text(self) -> str:
        """All that it printed."""
        return self.stdout + self.stderr

    @property
    def words(self) -> str:
        """All that it printed, without the line breaks and frames of tables and boxes."""
        return " ".join(self.text.replace("│", " ").split())

    def document(self, *codes: int) -> Any:
        """Return what `--json` printed, of a command that ended with 0 or one of the codes."""
        assert self.returncode in (codes or (0,)), self.text
        return json.loads(self.stdout)

    def refusal(self, code: int = 2) -> str:
        """Return what a refused command said, which printed no result and no traceback."""
        assert (self.returncode, self.stdout) == (code, ""), self.text
        assert "Traceback" not in self.stderr
        return self.words


def in_a_process(*arguments: str | Path, folder: Path | None = None, server: str | None = None) -> Ended:
    """Run the command as a person does; with the address of a Prefect server, it starts none of its own."""
    command = [sys.executable, "-m", "flows", *map(str, arguments)]
    environment = os.environ if server is None else {**os.environ, "PREFECT_API_URL": server}
    ended = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def in_this_process(*arguments: str | Path) -> Ended:
    """Run the command where its process is not what is tested; loading the libraries takes seconds."""
    with (
        redirect_stdout(StringIO()) as stdout,
        redirect_stderr(StringIO()) as stderr,
        pytest.MonkeyPatch.context() as patch,
        pytest.raises(SystemExit) as ended,
    ):
        patch.setattr(sys, "argv", ["tucano", *map(str, arguments)])
        main()
    return Ended(int(ended.value.code or 0), stdout.getvalue(), stderr.getvalue())
