"""`tucano audit attack` and `record` under `cited`, as a person uses them."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.flows.command import Ended, in_this_process


def attack(*arguments: str | Path) -> Ended:
    return in_this_process("audit", "attack", "--spec", "cited", *arguments)


def test_finds_are_printed_written_and_the_same_again(tmp_path: Path) -> None:
    arguments = ("--task", "insights", "--evaluations", "2000", "--json", "--out", tmp_path)
    ended, again = (attack(*arguments) for _ in range(2))

    assert ended.returncode == again.returncode == 0, ended.stderr
    document = json.loads(ended.stdout)["insights"]
    assert document["evaluations"] >= 2_000
    assert {"task", "reward_version", "evaluations", "seconds", "finds"} <= document.keys()
    assert document["finds"] == json.loads(again.stdout)["insights"]["finds"]
    lines = (tmp_path / "finds-insights.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["identity"] for line in lines] == [find["identity"] for find in document["finds"]]
    for find in document["finds"][:3]:
        assert find["identity"] in ended.stderr


def test_an_unknown_task_is_refused() -> None:
    assert attack("--task", "pushes").returncode == 2


@pytest.mark.integration
def test_an_attack_ends_with_4_on_sigterm_and_keeps_what_it_found(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "flows", "audit", "attack", "--spec", "cited", "--task", "insights"]
    child = subprocess.Popen(
        [*command, "--minutes", "5", "--out", str(tmp_path)], stderr=subprocess.PIPE, text=True, env=os.environ
    )
    until = time.monotonic() + 120
    while not (tmp_path / "finds-insights.jsonl").is_file():
        assert child.poll() is None
        assert time.monotonic() < until
        time.sleep(0.2)
    child.send_signal(signal.SIGTERM)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 4, said
    assert "the same command finds it again" in " ".join(said.split())
