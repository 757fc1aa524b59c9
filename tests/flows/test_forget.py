"""Steps of a forgetting: what could not be reached is tried again, and what comes after logs waits for them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flows import forget as forgetting
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.errors import InputError
from tasks.lineage.privacy.forget import reached
from tasks.lineage.privacy.forgetting import Forgetting, planned
from tests.tasks.lineage.small_world import ANA, make_world

Step = Callable[..., Forgetting]


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """A state folder in which somebody is found and planned for."""
    inventory = make_world(tmp_path / "artifacts").inventory
    config = load_config("local", [f"state.root={tmp_path}"])
    monkeypatch.setattr(forgetting, "look", lambda *_: reached(inventory, ANA))
    monkeypatch.setattr(
        forgetting, "plan", lambda _, found, subject: planned(inventory, found, subject, config.digest())
    )
    return config


def steps(monkeypatch: pytest.MonkeyPatch, missing: str) -> list[str]:
    """Replace the steps by some of which one misses a place the first time; return those that ran."""
    ran: list[str] = []

    def step(name: str) -> Step:
        def run(_: Config, state: Forgetting, *__: Any) -> Forgetting:
            missed = ("a place was not reached",) if name == missing and name not in ran else ()
            ran.append(name)
            return state.model_copy(update={"missed": {**state.missed, name: missed}})

        return run

    monkeypatch.setattr(forgetting, "STEPS", {name: step(name) for name in ("logs", "remove", "decide")})
    return ran


def test_nothing_is_removed_before_all_logs_were_searched(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = steps(monkeypatch, "logs")
    with pytest.raises(InputError, match=r"a place was not reached.*same command again"):
        forgetting.forget(config, ANA, remove_only=True)
    assert ran == ["logs"]
    assert forgetting.forget(config, ANA).document["not_reached"] == []
    assert ran == ["logs", "logs", "remove", "decide"]
    assert not (config.state.root / "forgetting").exists()


def test_what_the_removal_did_not_reach_is_tried_again(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = steps(monkeypatch, "remove")
    assert forgetting.forget(config, ANA, remove_only=True).document["not_reached"] == ["a place was not reached"]
    again = forgetting.forget(config, ANA)
    assert (again.document["not_reached"], again.done_before) == ([], False)
    assert ran == ["logs", "remove", "decide", "remove"]
    assert not (config.state.root / "forgetting").exists()
