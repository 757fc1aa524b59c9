"""Logs to monitor: those that are named, and the gateway's where none are."""

from pathlib import Path

import pytest

from flows.runtime.stores import logs_to_monitor
from schemas.config.profiles import load_config
from schemas.errors import InputError


def test_the_gateways_logs_are_read_where_no_others_are_named(tmp_path: Path) -> None:
    state = f"state.root={tmp_path}"
    bare, named = load_config("local", [state]), load_config("local", [state, "monitor.logs=others"])
    with pytest.raises(
        InputError, match=f"no logs are given, and `tucano serve` has written none into {tmp_path}/logs"
    ):
        logs_to_monitor(bare, None)
    (tmp_path / "logs").mkdir()
    assert logs_to_monitor(bare, None) == tmp_path / "logs"
    assert logs_to_monitor(named, None) == Path("others")
    assert logs_to_monitor(named, Path("mine")) == Path("mine")
