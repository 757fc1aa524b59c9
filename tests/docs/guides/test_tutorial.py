"""Every command of the tutorial, in its order, on invented reviews and by a training of few steps."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from schemas.source import REPOSITORY
from tests.docs.test_quickstart import commands
from tests.house import free_port
from tests.serving import serving

FEW_STEPS: Final = (
    "warm_start.steps=2", "evaluate.rungs=[]", "evaluate.resamples=1000", "curate.test_per_task={sentiment=40}"
)  # fmt: skip
PORT: Final = "8080"


@pytest.mark.integration
@pytest.mark.long
def test_every_command_leads_from_reviews_to_an_answer_over_http(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    *before, serve, curl = commands(REPOSITORY / "docs" / "tutorial.md")
    printed = [run(line) for line in before]
    assert any('"polarity": "negative"' in text for text in printed)
    answers = (tmp_path / "respostas.csv").read_text(encoding="utf-8").splitlines()
    assert ["positive" in answer for answer in answers] == [False, True, True]
    port = free_port()
    with serving(tmp_path / ".tucano", port, [*shlex.split(serve)[1:], "--port", str(port)]):
        answer = json.loads(run(curl.replace(PORT, str(port))))
    assert answer["parsed"]["polarity"] == "negative"


def run(line: str) -> str:
    """Return what a command prints; a training takes few steps, after which the gate says no."""
    is_training = line.startswith("tucano retrain ")
    line += "".join(f" --set {shlex.quote(each)}" for each in FEW_STEPS) if is_training else ""
    ended = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert ended.returncode == (3 if is_training else 0), (line, ended.stderr[-4000:])
    return ended.stdout
