"""`tucano train` and `tucano evaluate` as a person uses them: results, refusals, and exit codes."""

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from flows.cli import training
from flows.plan.prices import confirm_costs, cost_lines, costs_of
from schemas.artifact import Worker
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.errors import InputError, Interrupted
from tasks.policy.published import STAND_IN_FOLDER
from tasks.train.sizing.estimate import CPU_UNKNOWN, estimate_training, expected_prompts
from tests.flows.command import Ended, in_this_process

pytestmark = pytest.mark.slow


def tucano(command: str, *settings: str, options: tuple[str, ...] = ("--json",)) -> Ended:
    return in_this_process(command, *(part for setting in settings for part in ("--set", setting)), *options)


def dry_run(*settings: str) -> Ended:
    return tucano("train", *settings, options=("--profile", "l4", "--dry-run", "--json"))


def test_a_dry_run_has_time_cost_and_memory_of_all_stages() -> None:
    ended = dry_run("train.seeds=[42, 123, 456]")
    estimate = ended.document()["estimate"]
    assert estimate["trainings"] == 3
    trainings = [stage for stage in estimate["stages"] if stage["name"].startswith("train, seed")]
    assert [stage["cost_usd"] for stage in trainings] == [pytest.approx(22.6 * 0.74)] * 3
    assert estimate["seconds"] == pytest.approx(sum(stage["seconds"] for stage in estimate["stages"]))
    assert estimate["fits"]
    assert "costs at most: " in ended.stderr
    assert not dry_run("train.accumulation=1").document(2)["estimate"]["fits"]


def policy_of(folder: Path, seed: int, *, reused: bool = False, spot: bool = False, **summary: Any) -> Any:
    """Make a stage's result, as far as the commands read it."""
    validation = [
        {"step": 0, "mean_reward": 0.25, "by_task": {"push": 0.2, "churn": 0.3}},
        {"step": 10, "mean_reward": 0.6, "by_task": {"push": 0.5, "churn": 0.7}},
        {"step": 20, "mean_reward": 0.5, "by_task": {"push": 0.6, "churn": 0.4}},
    ]
    own = {"seed": seed, "steps": 20, "chosen_step": 10, "stopped_early": False, "validation": validation} | summary
    folder.mkdir()
    (folder / "training.json").write_text(json.dumps(own), encoding="utf-8")
    worker = Worker(machine="l4-0", device="NVIDIA L4", spot=spot, prefect_run_id=None)
    record = SimpleNamespace(sha256="ab" * 32, worker=worker)
    return SimpleNamespace(path=folder, seconds=1_800.0, reused=reused, record=record)


@pytest.fixture
def ran(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """Give the command a run that ended as the test says, and return how it was asked for."""
    gate = {"verdict": "hold", "for": [], "against": ["push got worse"], "good_to_know": ["one seed"]}
    block = {
        "n_prompts": 4, "mean_base": 0.5, "mean_tuned": 0.625, "mean_difference": 0.125, "ci_low": 0.1, "ci_high": 0.2,
        "p_signflip": 0.01, "p_holm": 0.02, "p_harm": 0.0001, "verdict": "better",
    }  # fmt: skip
    run: dict[str, Any] = {
        "policies": {},
        "report": {
            "overall": block,
            "tasks": {"push": block},
            "gate": gate,
            "ground_truth": {"overall": block, "tasks": {"push": block | {"mean_tuned": 0.75}}},
            "next": [{"why": "it is right", "command": "tucano promote --baseline push"}],
        },
        "decision": {},
        "stages": {"evaluate": SimpleNamespace(path=tmp_path / "evaluation")},
        "seconds": 3.0,
    }

    def chain(config: Any, profile: str, *, until: str, fresh: bool, yes: bool) -> Any:
        assert (profile, yes) == ("local", False)
        run["asked"] = (config.train.max_steps, until, fresh)
        if "error" in run:
            raise run["error"]
        return SimpleNamespace(**run)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "run_chain", chain)
        yield run


def test_train_reports_each_seed_and_the_cost_of_what_was_made_now(ran: dict[str, Any], tmp_path: Path) -> None:
    reused = policy_of(tmp_path / "b", 123, reused=True, stopped_early=True)
    ran["policies"] = {42: policy_of(tmp_path / "a", 42), 123: reused}
    ended = tucano("train", "train.max_steps=20", "train.price_per_hour=0.8", options=("--fresh", "--json"))
    first, second = ended.document()["trainings"]
    assert ran["asked"] == (20, "train", True)
    assert first["tasks"]["push"] == {"chosen_step": 10, "before": 0.2, "chosen": 0.5}
    assert first["cost_usd"] == pytest.approx(0.4)
    assert (second["seconds"], second["cost_usd"], second["stopped_early"]) == (None, None, True)


@pytest.mark.parametrize(("spot", "cost"), [(False, 0.355), (True, 0.14)])
def test_a_training_costs_hours_of_its_machine(ran: dict[str, Any], tmp_path: Path, spot: bool, cost: float) -> None:
    ran["policies"] = {42: policy_of(tmp_path / "a", 42, spot=spot)}
    settings = ["train.price_per_hour=9", 'workers.prices={"NVIDIA L4" = {on_demand = 0.71, spot = 0.28}}']
    # It may have come on demand, though the recipe waits for a Spot machine's notice.
    settings += ["train.preemption.notice_url=http://127.0.0.1:9/preempted"]
    (training,) = tucano("train", *settings).document()["trainings"]
    assert training["cost_usd"] == pytest.approx(cost)
    assert training["machine"] == {"machine": "l4-0", "device": "NVIDIA L4"}


@pytest.mark.parametrize(("verdict", "exit_code"), [("promote", 0), ("hold", 3)])
def test_evaluate_ends_by_its_verdict(ran: dict[str, Any], verdict: str, exit_code: int) -> None:
    ran["report"]["gate"]["verdict"] = verdict
    ended = tucano("evaluate")
    document = ended.document(exit_code)
    assert ran["asked"][1:] == ("evaluate", False)
    assert document["gate"]["verdict"] == verdict
    assert set(document) == {"seconds", "path", "overall", "tasks", "gate", "next"}
    step = "next: `tucano promote VERSION --profile local --baseline push`: it is right"
    assert (step in ended.words) == bool(exit_code)
    lists = "What speaks against it:\n- push got worse\nGood to know:\n- one seed"
    assert f"the gate says {verdict}\n{lists}" in ended.text


def test_a_held_retraining_names_whole_commands_and_never_forces(ran: dict[str, Any], tmp_path: Path) -> None:
    stage = SimpleNamespace(path=tmp_path, record=SimpleNamespace(sha256="ab" * 32), seconds=1.0, reused=False)
    decision = {"verdict": "hold", "version": "7", "model": "shop", "alias": "champion", "merged": None}
    ran |= {"stages": {"evaluate": stage}, "decision": decision, "champion": None}
    # A step took 90 seconds.
    ran["policies"] = {42: policy_of(tmp_path / "a", 42), 43: policy_of(tmp_path / "b", 43, reused=True)}
    longer = {"why": "it rose", "command": "tucano retrain --set train.max_steps=40", "training_steps": 40}
    ran["report"]["next"] = [longer]
    ended = tucano("retrain", "train.max_steps=20")
    (step,) = ended.document(3)["next"]
    assert step["why"] == "it rose; about 60.0 minutes of training"
    assert step["command"].startswith("tucano retrain --profile local --set train.max_steps=20")
    assert step["command"].endswith(" --set train.max_steps=40")
    assert f"next: `{step['command']}`: {step['why']}" in ended.words
    ran["report"]["next"] = []
    ended = tucano("retrain")
    assert "next: These figures name no step that would help: read the wrong answers." in ended.text
    assert "--force" not in ended.text


class TypedInput(io.StringIO):
    """Input or output that a person is at."""

    def isatty(self) -> bool:
        return True


def expected_costs(config: Config) -> dict[str, Any]:
    return costs_of(config, estimate_training(config, expected_prompts(config)))


def l4(state: Path, *overrides: str) -> Config:
    return load_config("l4", [f"state.root={state}", *overrides])


def at_a_terminal(monkeypatch: pytest.MonkeyPatch, typed: str) -> None:
    monkeypatch.setattr(sys, "stdin", TypedInput(typed))
    monkeypatch.setattr(sys, "stderr", TypedInput())


def test_costs_are_in_reais_and_scores_where_the_profile_says_so(tmp_path: Path) -> None:
    costs = expected_costs(l4(tmp_path, "workers.reais_per_dollar=6"))
    people, money, _ = cost_lines(costs)
    assert people.startswith(f"people first: {4 * 40} ")
    assert f"(R$ {6 * costs['dollars']:.2f})" in money
    assert not any("R$" in line for line in cost_lines({**costs, "reais_per_dollar": None}))
    assert expected_costs(l4(tmp_path, "audit.sheet=a.csv", "audit.rollouts=b.jsonl"))["scores"] == 0
    here = load_config("local", ["policy.stand_in=false", f"policy.name={STAND_IN_FOLDER}"])
    assert [expected_costs(here)[name] for name in ("scores", "hours", "unknown")] == [0, None, CPU_UNKNOWN]


def test_a_person_is_asked_once_and_no_starts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_a_terminal(monkeypatch, "n\n")
    with pytest.raises(InputError, match="nothing was started"):
        confirm_costs(l4(tmp_path), yes=False)
    at_a_terminal(monkeypatch, "")
    with pytest.raises(Interrupted):
        confirm_costs(l4(tmp_path), yes=False)
    confirm_costs(l4(tmp_path), yes=True)
    at_a_terminal(monkeypatch, "y\n")
    confirm_costs(l4(tmp_path), yes=False)
    # A scheduled run has no terminal.
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    confirm_costs(l4(tmp_path), yes=False)


def test_a_retraining_is_asked_about_by_its_plan_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training, "require_ready", lambda *_: None)
    monkeypatch.setattr(training, "session", Mock(side_effect=Interrupted("the plan comes next")))
    for until, ends in (("train", InputError), ("promote", Interrupted)):
        at_a_terminal(monkeypatch, "n\n")
        with pytest.raises(ends):
            training.run_chain(l4(tmp_path), "l4", until=until, fresh=False, yes=False)  # type: ignore[arg-type]
