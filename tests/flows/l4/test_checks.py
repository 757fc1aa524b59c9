"""What is refused before anything is started: one sentence, exit code 2, and nothing made."""

import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from huggingface_hub import constants

from flows.l4 import checks
from flows.l4.checks import CODE, check_clock, commit_of_code, require_tag
from schemas.errors import InputError
from tests.answering_server import answering
from tests.flows.command import in_this_process
from tests.small_pipeline import PROFILE


def test_a_clock_that_is_wrong_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_clock(str(tmp_path))
    for hours in (-2, 2):
        apart = timedelta(hours=hours)
        monkeypatch.setattr(checks, "store_time", lambda *_, apart=apart: datetime.now(UTC) + apart)
        with pytest.raises(InputError, match="clock is 120 minutes from that of"):
            check_clock(str(tmp_path))


@pytest.mark.parametrize("status", [401, 403, 404], ids=["private", "gated", "gone"])
def test_a_base_that_the_hub_does_not_give_is_refused(
    status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = ["--set", "policy.stand_in=false", "--set", "policy.name=loja/modelo", "--set", "policy.revision=0123abc"]
    with answering({}, otherwise=(status, "{}")) as hub:
        monkeypatch.setattr(constants, "ENDPOINT", hub.url)
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        ended = in_this_process("l4", "--on", "this", "--profile", PROFILE, "--state", tmp_path / "state", *base)
    assert f"does not give loja/modelo at 0123abc (HTTP {status}); correct policy.name" in ended.refusal()
    assert not (tmp_path / "state").exists()


def test_the_commit_is_that_of_code_that_was_not_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*arguments: str) -> str:
        own = ["git", "-c", "user.name=x", "-c", "user.email=x@example.com", *arguments]
        return subprocess.run(own, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()

    monkeypatch.setattr(checks, "REPOSITORY", tmp_path)
    with pytest.raises(InputError, match="is no clone of the repository"):
        commit_of_code()
    for folder in (*CODE, "docs"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.py").touch()
    git("init")
    git("add", ".")
    git("commit", "--message", "All")
    (tmp_path / "docs" / "a.py").write_text("is in no image")
    commit = commit_of_code()
    assert commit == git("rev-parse", "HEAD")
    require_tag(f"registry/worker-l4:{commit[:12]}", commit)
    (tmp_path / "tasks" / "b.py").touch()
    with pytest.raises(InputError, match=r"differs from its commit \(1 files, first tasks/b\.py\)"):
        commit_of_code()
