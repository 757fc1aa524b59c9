"""`tucano audit attack`, as a person uses it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.flows.command import Ended, in_this_process
from tests.tasks.audit.alterations.bugs import HOLE


def attack(*arguments: str | Path) -> Ended:
    return in_this_process("audit", "attack", *arguments)


def test_finds_are_printed_written_and_the_same_again(tmp_path: Path) -> None:
    arguments = ("--task", "sentiment", "--evaluations", "2000", "--json", "--out", tmp_path)
    with HOLE.planted():
        ended, again = (attack(*arguments) for _ in range(2))

    assert ended.returncode == again.returncode == 0, ended.text
    document = json.loads(ended.stdout)["sentiment"]
    assert document["evaluations"] >= 2_000
    assert {"task", "reward_version", "evaluations", "seconds", "finds"} <= document.keys()
    assert document["finds"] == json.loads(again.stdout)["sentiment"]["finds"] != []
    lines = (tmp_path / "finds-sentiment.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == document["finds"]
    said = " ".join(ended.text.split())
    for find in document["finds"][:3]:
        assert f"sentiment {find['identity']}: {find['hits']} of {find['prompts']} prompts, reward " in said
        assert f"{find['reward']:.2f} of {find['good']:.2f}, truth {find['truth']:.2f}, by " in said
        assert "".join(find["example"][2][:60].split()) in "".join(said.split())
    assert max(map(len, re.findall(r"(?m)^[┃┏┡│└].*$", ended.text))) <= 100


@pytest.mark.integration
def test_an_attack_ends_with_4_on_sigterm_and_keeps_what_it_found(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "flows", "audit", "attack", "--task", "extraction"]
    child = subprocess.Popen(
        [*command, "--minutes", "5", "--out", str(tmp_path)], stderr=subprocess.PIPE, text=True, env=os.environ
    )
    until = time.monotonic() + 120
    while not (tmp_path / "finds-extraction.jsonl").is_file():
        assert child.poll() is None
        assert time.monotonic() < until
        time.sleep(0.2)
    child.send_signal(signal.SIGTERM)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 4, said
    assert "the same command finds it again" in " ".join(said.split())
