"""The help lists each command as the command describes itself, and imports none of them."""

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, Final

import pytest
from typer.testing import CliRunner

from flows.cli import commands
from flows.cli.commands import COMMANDS, EXAMPLES, load
from flows.cli.tucano import app
from schemas.errors import Interrupted
from tests.flows.command import in_this_process

REFUSED: Final = (
    ("retrain", "--profile", "locl"),
    ("retrain", "--set", "train.max_step=5"),
    ("retrain", "--set", "train.seeds=1,2"),
    ("ask", "sql", "Quantos?"),
    ("ask", "push", "x=1"),
    ("ask", "sql_qa", "table=t"),
    ("score", "absent.jsonl"),
    ("synthesize", "--out", "absent"),
    ("synthesize", "--out", "absent", "--count", "5", "--source", "olist"),
    ("synthesize", "--out", "absent", "--count", "5", "--mix", "poetry=1"),
    ("curate", "absent.jsonl", "--out", "absent"),
    ("init", "absent", "--out", "shop"),
    ("compare", "absent.jsonl", "absent.jsonl"),
    ("checkpoints", "list", "absent"),
    ("checkpoints", "pull", "absent", "--out", "absent", "--step", "1", "--pin", "best"),
    ("lineage", "champion", "--state", "absent"),
    ("show", "abc"),
    ("forget", "CUSTOMER", "--dry-run", "--state", "absent"),
    ("audit", "check", "absent.csv", "--rollouts", "absent.jsonl", "--report", "absent"),
    ("audit", "attack", "--task", "pushes"),
    ("ui", "--state", "absent"),
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
        yield path, command
        waiting += [(f"{path} {name}", inner) for name, inner in getattr(command, "commands", {}).items()]


def test_each_command_has_an_example_whose_options_it_knows() -> None:
    for path, command in all_commands():
        words = shlex.split(EXAMPLES[path])
        assert " ".join(words[: 1 + len(path.split())]) == f"tucano {path}"
        named = command if not hasattr(command, "commands") else command.commands[words[2]]
        known = {name for option in named.params for name in option.opts}
        assert {word for word in words if word.startswith("-")} <= known, path


def test_each_command_takes_quiet_after_its_name_too() -> None:
    for path, command in all_commands():
        assert any("--quiet" in option.opts for option in command.params), path


def test_a_flag_is_no_truth_value_in_the_help() -> None:
    shown = CliRunner().invoke(app, ["retrain", "-h"])
    assert shown.exit_code == 0
    assert "--fresh" in shown.output
    assert "<bool>" not in shown.output
    assert "Example: tucano retrain" in shown.output


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


def test_the_help_imports_no_command() -> None:
    code = (
        "import sys; from flows.cli.tucano import app; app(['--help'], standalone_mode=False); "
        "print({name for name in sys.modules if name.startswith(('flows', 'schemas'))}, file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(eval(ended.text)) == {  # noqa: S307 - our own print
        "flows", "flows.cli", "flows.cli.commands", "flows.cli.options", "flows.cli.tucano", "flows.runtime",
        "flows.runtime.signals", "schemas", "schemas.errors", "schemas.garbage", "schemas.safe_path",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("ask", "sql", "Quantos?"),
            "there is no task 'sql', did you mean 'sql_qa'?; use one of: extraction, sql_qa, ",
        ),
        (("audit", "label", "s.csv", "--rater", "a", "--task", "x"), "there is no task 'x'; use one of: extraction"),
        (("export", "--format", "ggu", "--out", "x"), "there is no format 'ggu', did you mean 'gguf'?; use one of: "),
        (
            ("ui", "--prefect-port", "0"),
            "Invalid value for '--prefect-port': it must be greater than or equal to 1 (it is '0')\n",
        ),
        (("serve", "--port", "abc"), "Invalid value for '--port': it must be a valid integer (it is 'abc')\n"),
    ],
)
def test_a_value_that_an_option_does_not_take_is_one_sentence_of_ours(
    arguments: tuple[str, ...], sentence: str
) -> None:
    ended = in_this_process(*arguments)
    assert ended.returncode == 2
    assert ended.text.startswith(f"tucano: {sentence}")


@pytest.mark.parametrize("columns", [80, 100])
def test_help_and_refusals_fit_into_the_columns(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    asked = [[*path.split(), "-h"] for path, _ in all_commands()]
    mistakes = [*asked, *([*words[:-1], "--no-such-option"] for words in asked), *REFUSED]
    for arguments in (["-h"], ["retrian"], *mistakes):
        ended = in_this_process(*arguments)
        assert max(map(len, (ended.stdout + ended.text).splitlines())) <= columns, arguments


def test_ctrl_c_while_a_commands_module_is_imported_is_an_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "import_module", interrupt)
    with pytest.raises(Interrupted, match="nothing was changed; run the same command again"):
        load("compare")
