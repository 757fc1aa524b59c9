"""The help lists each command as the command describes itself, and imports none of them."""

import subprocess
import sys

import pytest

from flows.cli import commands
from flows.cli.commands import COMMANDS, load
from schemas.errors import Interrupted


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
        "flows", "flows.cli", "flows.cli.commands", "flows.cli.options", "flows.cli.tucano", "flows.runtime",
        "flows.runtime.signals", "schemas", "schemas.errors", "schemas.garbage",
    }  # fmt: skip


def test_ctrl_c_while_a_commands_module_is_imported_is_an_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "import_module", interrupt)
    with pytest.raises(Interrupted, match="nothing was changed; run the same command again"):
        load("compare")
