"""What several folders of tests share, made once a session, and what all tests are run with."""

import os
import re
import signal
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from schemas.python_process import collect_rarely
from tests.prefect_server import mlflow_tables, prefect_home, prefect_server
from tests.small_pipeline import pipeline

__all__ = ["mlflow_tables", "pipeline", "prefect_home", "prefect_server"]

# Processes with a thread for each core would wait for one another; children inherit it, and torch reads it on import.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Nothing here is compiled, and only to be able to costs each child process two seconds.
os.environ.setdefault("TORCHDYNAMO_DISABLE", "1")

# Where Python may write no bytecode, each of some hundred child processes would compile the whole product.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

collect_rarely()

# No file of a test outlives it, and to wait for a disk takes longer than many a test.
pytest.MonkeyPatch().setattr(os, "fsync", lambda descriptor: None)

# A property is no less true on a busy machine.
settings.register_profile("unhurried", settings.get_profile(settings.get_current_profile_name()), deadline=None)
settings.load_profile("unhurried")


@pytest.fixture(autouse=True)
def sklearn_can_be_imported() -> None:
    """Undo what `load_less` keeps from a process, where a test called it in this one."""
    if sys.modules.get("sklearn", sys) is None:
        del sys.modules["sklearn"]


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Leave the product's sentences whole, so that a test can look for them; pytest's own lines stay as wide."""
    if config.pluginmanager.has_plugin("terminalreporter"):
        writer = config.get_terminal_writer()
        writer.fullwidth = writer.fullwidth
    os.environ["COLUMNS"] = "1000"


HANDLERS = pytest.StashKey[dict[signal.Signals, Any]]()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    item.stash[HANDLERS] = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Name the test that leaves another handler behind: a later test's signal would end the process of all."""
    outcome = yield
    left = [
        number for number, handler in item.stash.get(HANDLERS, {}).items() if signal.getsignal(number) is not handler
    ]
    for number in left:
        signal.signal(number, item.stash[HANDLERS][number])
    assert not left, f"another handler is left of {left}"
    return outcome


SLOW = ("slow", "integration", "e2e")
SLOW_FILE = re.compile(r"^pytestmark = \[?\s*pytest\.mark\.(?!parametrize)", re.MULTILINE)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fast", action="store_true", help="Only tests of about a second: no training, server or child.")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files of slow tests before they are imported, which takes as long as many a test."""
    is_file = config.getoption("fast") and collection_path.suffix == ".py"
    return True if is_file and SLOW_FILE.search(collection_path.read_text(encoding="utf-8")) else None


def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    """Begin with the files of slow tests, so that no process is left with one while the others have ended."""
    slow = [item for item in items if any(map(item.get_closest_marker, SLOW))]
    if config.getoption("fast"):
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not any(map(item.get_closest_marker, SLOW))]
    files = {item.path for item in slow}
    items.sort(key=lambda item: item.path not in files)
