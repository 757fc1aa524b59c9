"""The help lists each command as the command describes itself, and imports none of them."""

import subprocess
import sys

import pytest

from flows.cli.commands import COMMANDS, load


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_says_what_the_command_says(name: str) -> None:
    assert load(name).help.split("\n\n")[0] == COMMANDS[name]


def test_the_help_imports_no_command() -> None:
    code = (
        "import sys; from flows.cli.tucano import app; app(['--help'], standalone_mode=False); "
        "print({name for name in sys.modules if name.startswith(('flows', 'schemas'))}, file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(eval(ended.stderr)) == {  # noqa: S307 - our own print
        "flows", "flows.cli", "flows.cli.commands", "flows.cli.tucano", "schemas", "schemas.errors",
    }  # fmt: skip
