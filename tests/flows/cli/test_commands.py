"""The command: its help lists each command and imports none, and a user's mistake is one sentence and exit code 2."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from flows.cli.tucano import COMMANDS, load
from schemas.source import REPOSITORY
from tests.cases import cases_of
from tests.flows.command import in_a_process, in_this_process

REFUSED: Final = cases_of(__file__)["REFUSED"]
"""What people mistype or do not have yet."""


ENGLISH: Final = frozenset({"the", "give", "must", "should", "cannot", "unknown", "missing", "have", "not", "see"})
"""Words of most English sentences, and of no Portuguese one."""


def all_commands() -> Iterator[tuple[str, Any]]:
    """Yield each command with how it is called, those of a group too."""
    waiting = [(name, load(name)) for name in COMMANDS]
    while waiting:
        path, command = waiting.pop()
        if not command.hidden:
            yield path, command
        waiting += [(f"{path} {name}", inner) for name, inner in getattr(command, "commands", {}).items()]


def test_each_command_takes_what_all_take_and_has_its_help_and_an_example_whose_options_it_knows() -> None:
    for path, command in all_commands():
        assert {"--quiet", "--language"} <= {name for option in command.params for name in option.opts}, path
        if " " in path:
            continue
        assert " ".join(command.help.split()) == COMMANDS[path]["en"]
        words = shlex.split(command.epilog.removeprefix("Example: "))
        assert words[:2] == ["tucano", path]
        named = command if not hasattr(command, "commands") else command.commands[words[2]]
        known = {name for option in named.params for name in option.opts}
        assert {word for word in words if word.startswith("-")} <= known, path


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
        "flows.runtime.language", "flows.runtime.signals",
        "schemas", "schemas.errors", "schemas.python_process", "schemas.timeouts",
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
def test_a_quick_command_loads_nothing_heavy(command: str, heavy: set[str], code: int, tmp_path: Path) -> None:
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


@pytest.mark.parametrize(("arguments", "sentence"), REFUSED, ids=[" ".join(words) for words, _ in REFUSED])
def test_a_mistake_is_one_sentence_and_exit_code_2_in_the_language_of_the_run(
    arguments: tuple[str, ...], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = in_this_process(*arguments).refusal()
    assert sentence in said
    assert "tucano: " in said
    monkeypatch.setenv("TUCANO_LANGUAGE", "pt")
    assert not {*re.findall("[a-z]{3,}", in_this_process(*arguments).refusal())} & ENGLISH
    assert not list(tmp_path.iterdir())


def test_quiet_before_or_after_the_name_leaves_out_progress_alone(tmp_path: Path) -> None:
    answer = {"prompt_id": "a", "task": "churn", "prompt": "Pedidos: 3", "completion": '{"churn":true}'}
    (tmp_path / "rollouts.jsonl").write_text(json.dumps(answer | {"reference": {"churn": True}}), encoding="utf-8")
    score = ("score", tmp_path / "rollouts.jsonl")
    said = in_this_process(*score)
    before, after = (in_a_process(*words) for words in (("--quiet", *score), (*score, "--quiet")))
    assert "1 rollouts" in said.stdout
    assert (said.stdout, "") == (before.stdout, before.stderr) == (after.stdout, after.stderr)
