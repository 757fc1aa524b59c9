"""The notebook runs from top to bottom, as Jupyter would run it, in an empty folder."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from schemas.source import REPOSITORY

NOTEBOOK = REPOSITORY / "docs" / "tutorial.ipynb"


@pytest.mark.integration
@pytest.mark.long
def test_the_notebook_runs_from_top_to_bottom(tmp_path: Path) -> None:
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    # A line of the shell, whose exit code Jupyter takes no notice of.
    script = "import subprocess\n" + re.sub(
        r"^!(.*)$", lambda line: f"subprocess.run({line[1]!r}, shell=True)", code, flags=re.MULTILINE
    )
    ended = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-4000:]
    assert len(re.findall(r"\d+ of \d+ right", ended.stdout)) == 3
    assert '"polarity": "' in ended.stdout
