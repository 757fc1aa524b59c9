"""Steps of a forgetting: what could not be reached is tried again, and what comes after logs waits for them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flows import forget as forgetting
from flows.stages import forget_places
from flows.stages.forget_places import FoundPerson
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.errors import InputError
from schemas.references import read_given
from tasks.lineage.erase.find import Reached, reached
from tasks.lineage.erase.plan import Forgetting, planned
from tasks.lineage.erase.traces import Traces
from tasks.lineage.store.inventory import read_inventory
from tests.flows.stages.test_forget import NoTraces
from tests.tasks.lineage.small_world import ANA, HELD_OUT, TRAINED, make_world

Step = Callable[..., Forgetting]


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Config:
    """A state folder in which somebody is found and planned for."""
    inventory = make_world(tmp_path / "artifacts").inventory
    config = load_config("local", [f"state.root={tmp_path}"])
    monkeypatch.setattr(forgetting, "look", lambda *_: reached(inventory, ANA))
    monkeypatch.setattr(forgetting, "plan", plan)
    return config


def plan(config: Config, found: Reached, asked: str, _: object) -> Forgetting:
    return planned(read_inventory(config.state.root / "artifacts"), found, config.digest(), asked)


@pytest.mark.parametrize("missing", ["logs", "remove"])
def test_a_step_that_missed_a_place_is_repeated_and_nothing_comes_before_all_logs(
    missing: str, config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def step(name: str) -> Step:
        def run(_: Config, state: Forgetting, *__: Any) -> Forgetting:
            missed = ("a place was not reached",) if name == missing and name not in ran else ()
            ran.append(name)
            return state.model_copy(update={"missed": {**state.missed, name: missed}})

        return run

    monkeypatch.setattr(forgetting, "STEPS", {name: step(name) for name in ("logs", "remove", "decide")})
    if missing == "logs":
        with pytest.raises(InputError, match=r"a place was not reached.*same command again"):
            forgetting.forget(config, ANA, remove_only=True)
        assert ran == ["logs"]
    else:
        assert forgetting.forget(config, ANA, remove_only=True).document["not_reached"] == ["a place was not reached"]
    assert forgetting.forget(config, ANA).document["not_reached"] == []
    after = {"logs": ["logs", "remove", "decide"], "remove": ["remove", "decide", "remove"]}
    assert ran == ["logs", *after[missing]]
    assert not (config.state.root / "forgetting").exists()


def test_references_that_people_gave_leave_with_their_prompts(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a faulty file, nothing is begun."""
    file = tmp_path / "references.jsonl"
    given = [
        {"prompt_id": prompt, "task": "sentiment", "reference": {"score": 2}, "rater": "bia"}
        for prompt in (TRAINED.prompt_id, HELD_OUT.prompt_id)
    ]
    file.write_text("".join(json.dumps(each) + "\n" for each in given) + "no reference\n", encoding="utf-8")
    config = load_config("local", [f"state.root={tmp_path}", f"curate.references={file}"])
    found = reached(read_inventory(tmp_path / "artifacts"), ANA)
    monkeypatch.setattr(forgetting, "look", lambda *_: FoundPerson(found, found.person, Traces(frozenset(), (), ())))
    monkeypatch.setattr(forgetting, "plan", lambda _, __, *asked: plan(config, found, *asked))
    monkeypatch.setattr(forget_places, "Removal", NoTraces)
    monkeypatch.setattr(forgetting, "STEPS", {"logs": forgetting.STEPS["logs"]})
    with pytest.raises(InputError, match=r"references .*line 3"):
        forgetting.forget(config, ANA, remove_only=True)
    assert not (config.state.root / "forgetting").exists()
    file.write_text("".join(json.dumps(each) + "\n" for each in given), encoding="utf-8")
    assert forgetting.forget(config, ANA, remove_only=True).document["log_lines"] == {"references": 1, "traces": 0}
    assert [line.prompt_id for line in read_given(file)] == [HELD_OUT.prompt_id]


def test_a_step_that_mlflow_refuses_is_one_sentence_and_is_repeated(
    config: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow.exceptions import MlflowException

    ran: list[int] = []

    def refused_once(_: Config, state: Forgetting, *__: Any) -> Forgetting:
        ran.append(1)
        if len(ran) == 1:
            raise MlflowException("a row of somebody")
        return state

    monkeypatch.setattr(forgetting, "STEPS", {"models": refused_once})
    with pytest.raises(InputError, match=r"did not do as asked \(INTERNAL_ERROR\)"):
        forgetting.forget(config, ANA, remove_only=True)
    assert forgetting.forget(config, ANA).document["not_reached"] == []
    assert len(ran) == 2
