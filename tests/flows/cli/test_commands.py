"""The command: its help lists each command and imports none, and a user's mistake is one sentence and exit code 2."""

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from filelock import FileLock

from flows.cli import servers
from flows.cli.tucano import COMMANDS, load
from flows.runtime.session import UI_LOCK
from schemas.errors import InputError
from schemas.source import REPOSITORY
from tests.flows.command import Ended, in_a_process, in_this_process
from tests.house import free_port

ANSWER: Final = {"prompt_id": "a", "task": "churn", "prompt": "Pedidos: 3", "completion": '{"churn":true}'}
ROLLOUT: Final = json.dumps(ANSWER | {"reference": {"churn": True}}) + "\n"
REFUSED: Final = (
    (("retrain", "--profile", "locl"), "there is no profile 'locl'"),
    (("retrain", "--set", "train.max_step=5"), "train.max_step: unknown key"),
    (("retrain", "--set", "seed=one"), "seed: must be a valid integer"),
    (("retrain", "--state", "/proc/tucano"), "the state folder /proc/tucano cannot be written"),
    (("retrian",), "No such command 'retrian'"),
    (("retrain", "--no-such-option"), "No such option"),
    (("serve", "--port", "abc"), "Invalid value for '--port'"),
    (("ask", "sql", "Quantos?"), "'sql' is not one of 'extraction'"),
    (("ask", "push", "x=1"), "'x=1' is none of the inputs of push"),
    (("score", "absent.jsonl"), "absent.jsonl cannot be read"),
    (("synthesize", "--out", "absent"), "no --count is given"),
    (("synthesize", "--out", "absent", "--count", "5", "--source", "olist"), "--olist-dir FOLDER go together"),
    (("curate", "absent.jsonl", "--out", "absent"), "absent.jsonl"),
    (("init", "absent", "--out", "shop"), "absent"),
    (("compare", "absent.jsonl", "absent.jsonl"), "absent.jsonl"),
    (("checkpoints", "list", "absent"), "absent"),
    (("checkpoints", "pull", "a", "--out", "b", "--step", "1", "--pin", "best"), "name two checkpoints"),
    (("lineage", "champion", "--state", "absent"), "run `tucano retrain` first"),
    (("forget", "CUSTOMER", "--dry-run", "--state", "absent"), "nobody is known there"),
    (("audit", "attack", "--task", "pushes"), "there is no task 'pushes'"),
    (("ui", "--state", "absent"), "run `tucano retrain` first"),
    (("monitor",), "no logs are given"),
    (("monitor", "absent.jsonl"), "the logs absent.jsonl do not exist"),
    (("benchmark", "run", "x", "--out", "y"), "--url and --model"),
    (("benchmark", "run", "x", "--out", "y", "--model", "m", "--temperature", "0"), "above 0"),
    (("benchmark", "score", "nowhere", "y"), "nowhere"),
    (("synthesize", "--out", "absent", "--count", "9", "--source", "kaggle"), "must be 'simulated', 'olist'"),
    (("init", "absent", "--task", "sentimento"), "there is no task 'sentimento'; use one of: extraction"),
    (("synthesize", "--out", "absent", "--count", "99999999999"), "10,000,000 is the most"),
    (("synthesize", "--out", "absent", "--profile", "local", "--count", "9"), "leave out --count, or use --set"),
    (("audit", "references", "--rater", "ana-1"), "no dataset is in"),
    (("audit", "references", ".", "--rater", "ana-1"), "is no dataset, for it has no data/test.parquet"),
    (("audit", "label", "absent.csv", "--rater", "ana"), "absent.csv"),
    (("compare", "a.jsonl"), "give BASE.jsonl and TUNED.jsonl"),
    (("forget",), "give the ID of whom to forget, or --verify"),
    (("forget", "CUSTOMER", "--apply", "--dry-run"), "--apply and --dry-run ask for different things"),
    (("show", "abc"), "'abc' is no step, and too short for a prompt's id; give 4 characters"),
    (("show", "abcdef", "--task", "push"), "--task goes with a step; a prompt is of one task"),
    (("ask", "sentiment", "Bom", "--file", "a"), "NAME=VALUE and --file are given"),
    (("ask", "push", "product=fone"), "the inputs of push are product, offer, segment"),
    (("ask", "sentiment", " "), "it is empty"),
    (("export", "1", "--format", "onnx", "--out", "out"), "onnx"),
    (("promote", "1", "--rollback"), "--rollback goes to the version before and takes no VERSION 1"),
    (("promote", "2", "--force", "  "), "the reason of --force is empty"),
)
"""What people mistype or do not have yet."""


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_what_the_command_says(name: str) -> None:
    assert load(name).help.split("\n\n")[0] == COMMANDS[name]


def all_commands() -> Iterator[tuple[str, Any]]:
    """Yield each command with how it is called, those of a group too."""
    waiting = [(name, load(name)) for name in COMMANDS]
    while waiting:
        path, command = waiting.pop()
        if not command.hidden:
            yield path, command
        waiting += [(f"{path} {name}", inner) for name, inner in getattr(command, "commands", {}).items()]


def test_each_command_takes_quiet_and_has_an_example_whose_options_it_knows() -> None:
    for path, command in all_commands():
        assert any("--quiet" in option.opts for option in command.params), path
        if " " in path:
            continue
        words = shlex.split(command.epilog.removeprefix("Example: "))
        assert words[:2] == ["tucano", path]
        named = command if not hasattr(command, "commands") else command.commands[words[2]]
        known = {name for option in named.params for name in option.opts}
        assert {word for word in words if word.startswith("-")} <= known, path


def test_a_shell_completes_commands_options_and_profiles() -> None:
    def completed(words: str, at: int) -> list[str]:
        asked = {"_TUCANO_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(at)}
        code = "import sys; sys.argv = ['tucano']; from flows.cli import main; main()"
        ended = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, **asked}
        )
        return ended.stdout.split()

    assert completed("tucano retr", 1) == ["retrain"]
    assert "l4-next" in completed("tucano retrain --profile l4-n", 3)


def test_the_help_imports_no_command_and_scoring_nothing_heavy() -> None:
    code = (
        "import sys; from flows.cli.tucano import app; app(['--help'], standalone_mode=False); "
        "print({name for name in sys.modules if name.startswith(('flows', 'schemas'))}, file=sys.stderr); "
        "import tasks.commerce.score_file; "
        "assert not {'torch', 'prefect', 'mlflow', 'transformers', 'datasets', 'polars'} & set(sys.modules)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "retrain" in ended.stdout
    assert set(eval(ended.stderr)) == {  # noqa: S307 - our own print
        "flows", "flows.cli", "flows.cli.tucano", "flows.runtime",
        "flows.runtime.signals", "schemas", "schemas.errors", "schemas.python_process",
    }  # fmt: skip


SCORES: Final = [{"prompt_id": f"{n}", "task": "push", "seed": 0, "sample": 0, "score": n / 9} for n in range(9)]


@pytest.mark.parametrize(
    ("command", "heavy", "code"),
    [
        ("train --dry-run --state state", {"torch", "prefect", "mlflow", "transformers", "datasets", "trl"}, 0),
        ("doctor --state state", {"torch", "prefect", "mlflow", "transformers", "polars"}, 0),
        ("compare a.jsonl b.jsonl", {"torch", "prefect", "mlflow", "polars", "httpx"}, 3),
    ],
)
def test_a_quick_command_loads_nothing_heavy_and_makes_no_state(
    command: str, heavy: set[str], code: int, tmp_path: Path
) -> None:
    for name in "ab":
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in SCORES), encoding="utf-8")
    child = f"""
import sys
from flows.cli.tucano import main
sys.argv = ["tucano", *{command.split()!r}]
try:
    main()
except SystemExit as ended:
    print({heavy!r} & set(sys.modules), ended.code)
"""
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    ended = subprocess.run(
        [sys.executable, "-c", child], capture_output=True, text=True, check=True, cwd=tmp_path, env=environment
    )
    assert ended.stdout.endswith(f"\nset() {code}\n"), ended.stdout
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.jsonl", "b.jsonl"]


def refuses(ended: Ended, sentence: str) -> None:
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert "Traceback" not in ended.stderr
    assert sentence in " ".join(ended.stderr.replace("│", "").split())


@pytest.mark.parametrize(("arguments", "sentence"), REFUSED, ids=[" ".join(words) for words, _ in REFUSED])
def test_a_mistake_is_one_sentence_and_exit_code_2(
    arguments: tuple[str, ...], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refuses(in_this_process(*arguments), sentence)
    assert not list(tmp_path.iterdir())


def test_quiet_before_or_after_the_name_leaves_out_progress_alone(tmp_path: Path) -> None:
    assert in_this_process("--version").stdout.startswith("tucano ")
    (tmp_path / "rollouts.jsonl").write_text(ROLLOUT, encoding="utf-8")
    score = ("score", tmp_path / "rollouts.jsonl")
    said = in_this_process(*score)
    before, after = (in_a_process(*words) for words in (("--quiet", *score), (*score, "--quiet")))
    assert "1 rollouts" in said.stdout
    assert (said.stdout, "") == (before.stdout, before.stderr) == (after.stdout, after.stderr)


def test_an_interrupted_score_leaves_nothing_and_says_so(tmp_path: Path) -> None:
    rollouts, scored = tmp_path / "rollouts.jsonl", tmp_path / "scored.jsonl"
    rollouts.write_text(ROLLOUT * 100_000, encoding="utf-8")
    command = [sys.executable, "-m", "flows", "score", str(rollouts), "--out", str(scored)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        while not list(tmp_path.glob(".*")):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said = process.communicate()[1]
    assert process.returncode == 4, said
    assert "interrupted, and nothing was written" in said
    assert [file.name for file in tmp_path.iterdir()] == ["rollouts.jsonl"]


def test_a_port_that_is_taken_is_named_with_its_option_and_the_folder_is_free_again(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port} of 127.0.0.1 cannot be used .*--mlflow-port PORT"):
            servers.ui(tmp_path, free_port(), port)
    FileLock(tmp_path / UI_LOCK).acquire(timeout=0)
