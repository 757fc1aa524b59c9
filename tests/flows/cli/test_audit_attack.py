"""`tucano audit attack` and `accept` as a person uses them."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.chat_server import Reply, says, serve
from tests.flows.command import Ended, in_this_process

pytestmark = pytest.mark.slow


def tucano(*arguments: str | Path) -> Ended:
    return in_this_process("audit", *arguments)


def attack(out: Path, *more: str | Path) -> Ended:
    return tucano("attack", "--task", "push", "--evaluations", "3000", "--out", out, *more)


def test_finds_are_printed_with_reward_component_and_truth_and_one_becomes_a_probe(tmp_path: Path) -> None:
    ended = attack(tmp_path / "attack", "--json")

    assert ended.returncode == 0, ended.stderr
    document = json.loads(ended.stdout)["push"]
    assert document["evaluations"] >= 3_000
    assert {baseline["kind"] for baseline in document["baselines"]} >= {"constant", "template"}
    assert document["forecast"]["points"][0]["n"] == 1
    assert "Reward and truth of the best of n by reward" in ended.stderr
    assert max(map(len, re.sub(r"(?m)^(?![┃┏┡│└]).*$", "", ended.stderr).splitlines())) <= 100
    if document["finds"]:
        find = document["finds"][0]
        assert f"{find['identity']}: reward " in ended.stderr
        accepted = tucano("accept", find["identity"], "--out", tmp_path / "attack", "--into", tmp_path / "exploits")
        assert accepted.returncode == 0, accepted.stderr
        assert "is now a probe of push" in accepted.stderr
        line = json.loads((tmp_path / "exploits" / "push.jsonl").read_text(encoding="utf-8"))
        assert line["candidate"] == find["candidate"]


def test_a_judge_whose_endpoint_fails_is_said_and_ends_nothing(tmp_path: Path) -> None:
    with serve(lambda _, number: says("5") if number < 12 else Reply(b"", 403)) as server:
        judge = ("--set", f"audit.judge.url={server.url}", "--set", "audit.judge.model=m")
        first = attack(tmp_path, "--json", *judge)
        asked = len(server.requests)
        again = attack(tmp_path, "--json", *judge)
        assert asked >= 12

    for ended in (first, again):
        assert ended.returncode == 0, ended.stderr
        tally = json.loads(ended.stdout)["push"]["judge"]
        assert (tally["questions"], tally["unread"], tally["good_called_bad"]) == (12, 0, 0)
        assert "judge of push: " in ended.stderr
        assert "use a key that may use the model" in tally["failure"]
        assert "answered 403; use a key that may use the model" in " ".join(ended.stderr.split())


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("attack", "--task", "pushes"), "there is no task 'pushes', did you mean 'push'?; use one of: extraction"),
        (("attack", "--rollouts", "none.jsonl"), "rollouts none.jsonl cannot be read"),
        (("attack", "--set", "audit.judge.url=ftp://h", "--set", "audit.judge.model=m"), "http or https address"),
        (("accept", "abc", "--out", "nowhere"), "no find of nowhere is named 'abc'"),
    ],
)
def test_bad_usage_is_one_sentence(more: tuple[str, ...], sentence: str) -> None:
    ended = tucano(*more)

    assert ended.returncode == 2
    assert sentence in ended.stderr


@pytest.mark.integration
def test_an_attack_ends_with_4_on_sigterm_and_the_same_command_goes_on(tmp_path: Path) -> None:
    out = tmp_path / "attack"
    command = [sys.executable, "-m", "flows", "audit", "attack", "--task", "push", "--task", "churn"]
    command += ["--minutes", "5", "--out", str(out)]
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ)
    until = time.monotonic() + 120
    while not all((out / f"finds-{task}.jsonl").is_file() for task in ("push", "churn")):
        assert child.poll() is None
        assert time.monotonic() < until
        time.sleep(0.2)
    child.send_signal(signal.SIGTERM)
    _, said = child.communicate(timeout=60)
    assert child.returncode == 4, said
    assert "the same command goes on" in said
    states = {task: json.loads((out / f"state-{task}.json").read_text(encoding="utf-8")) for task in ("push", "churn")}
    assert all(state["search"]["evaluations"] for state in states.values())
    ended = tucano("attack", "--task", "push", "--evaluations", "1", "--out", out, "--json")
    assert json.loads(ended.stdout)["push"]["evaluations"] == states["push"]["search"]["evaluations"]
