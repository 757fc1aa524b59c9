"""`tucano train` and `tucano evaluate` as a person uses them: what is printed, what is refused, and exit codes."""

import io
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flows.cli import training
from flows.cli.training import SPREAD, confirm_costs, cost_lines, costs_of
from schemas.artifact import Worker
from schemas.config.config import Config
from schemas.config.profiles import load_config
from schemas.errors import InputError, Interrupted
from tasks.train.sizing.estimate import estimate_training, expected_prompts
from tests.flows import command

pytestmark = pytest.mark.slow


class Ended(command.Ended):
    """A command that came to its end, and what it said."""

    @property
    def last(self) -> str:
        """The last line that was said."""
        return self.stderr.strip().splitlines()[-1]

    @property
    def words(self) -> str:
        """All that was said, without the frames and line breaks of tables."""
        return " ".join(word for word in self.text.split() if word != "│")


def tucano(*arguments: str | Path) -> Ended:
    return Ended(**vars(command.in_this_process(*arguments)))


def dry_run(*settings: str, profile: str = "local") -> Ended:
    options = [part for setting in settings for part in ("--set", setting)]
    return tucano("train", "--profile", profile, "--dry-run", "--json", *options)


def estimate_of(ended: Ended) -> dict[str, Any]:
    assert ended.returncode == 0, ended.text
    estimate: dict[str, Any] = json.loads(ended.stdout)["estimate"]
    return estimate


def test_a_dry_run_has_time_cost_and_memory_of_all_stages() -> None:
    estimate = estimate_of(dry_run("train.seeds=[42, 123, 456]", profile="l4"))
    assert estimate["trainings"] == 3
    trainings = [stage for stage in estimate["stages"] if stage["name"].startswith("train, seed")]
    assert [stage["cost_usd"] for stage in trainings] == [pytest.approx(22.6 * 0.71)] * 3
    assert estimate["seconds"] == pytest.approx(sum(stage["seconds"] for stage in estimate["stages"]))
    assert estimate["fits"]
    assert tucano("train", "--profile", "l4", "--dry-run").stdout.startswith("costs at most: ")


def test_a_recipe_that_does_not_fit_its_card_ends_with_2_and_what_would_fit() -> None:
    ended = dry_run("train.accumulation=1", profile="l4")
    assert ended.returncode == 2
    assert not json.loads(ended.stdout)["estimate"]["fits"]
    assert ended.last.startswith(
        "tucano: training would take 105.1 GB, and of train.device_memory_gb 24 it may take 22.1"
    )
    assert "raise train.accumulation, set train.gradient_checkpointing=" in ended.last


@dataclass(frozen=True)
class Policy:
    """A stage's result, as far as the command reads it."""

    path: Path
    seconds: float
    reused: bool
    record: Any


def policy_of(folder: Path, seed: int, *, reused: bool = False, **summary: Any) -> Policy:
    validation = [
        {"step": 0, "mean_reward": 0.25, "by_task": {"push": 0.2, "churn": 0.3}},
        {"step": 10, "mean_reward": 0.6, "by_task": {"push": 0.5, "churn": 0.7}},
        {"step": 20, "mean_reward": 0.5, "by_task": {"push": 0.6, "churn": 0.4}},
    ]
    own = {"seed": seed, "steps": 20, "chosen_step": 10, "stopped_early": False, "validation": validation} | summary
    folder.mkdir()
    (folder / "training.json").write_text(json.dumps(own), encoding="utf-8")
    record = SimpleNamespace(sha256="ab" * 32, worker=Worker(machine="l4-0", device="NVIDIA L4", prefect_run_id=None))
    return Policy(folder, 1_800.0, reused, record)


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
        },
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


def test_train_tells_each_seed_and_what_was_made_now_cost(ran: dict[str, Any], tmp_path: Path) -> None:
    ran["policies"] = {
        42: policy_of(tmp_path / "a", 42),
        123: policy_of(tmp_path / "b", 123, reused=True, stopped_early=True),
    }
    ended = tucano("train", "--set", "train.max_steps=20", "--set", "train.price_per_hour=0.8", "--fresh", "--json")
    assert ended.returncode == 0, ended.text
    assert ran["asked"] == (20, "train", True)
    first, second = json.loads(ended.stdout)["trainings"]
    assert first["tasks"]["push"] == {"chosen_step": 10, "before": 0.2, "chosen": 0.5}
    assert first["cost_usd"] == pytest.approx(0.4)
    assert (second["seconds"], second["cost_usd"], second["stopped_early"]) == (None, None, True)


@pytest.mark.parametrize(("notice", "cost"), [(None, 0.355), ("http://127.0.0.1:9/preempted", 0.14)])
def test_a_training_costs_what_an_hour_of_its_machine_costs(
    ran: dict[str, Any], tmp_path: Path, notice: str | None, cost: float
) -> None:
    ran["policies"] = {42: policy_of(tmp_path / "a", 42)}
    settings = ["train.price_per_hour=9", 'workers.prices={"NVIDIA L4" = {on_demand = 0.71, spot = 0.28}}']
    settings += [f"train.preemption.notice_url={notice}"] if notice else []
    ended = tucano("train", *(word for setting in settings for word in ("--set", setting)), "--json")
    assert ended.returncode == 0, ended.text
    (training,) = json.loads(ended.stdout)["trainings"]
    assert training["cost_usd"] == pytest.approx(cost)
    assert training["machine"] == {"machine": "l4-0", "device": "NVIDIA L4"}


@pytest.mark.parametrize(("verdict", "exit_code"), [("promote", 0), ("hold", 3)])
def test_evaluate_ends_by_its_verdict(ran: dict[str, Any], verdict: str, exit_code: int) -> None:
    ran["report"]["gate"]["verdict"] = verdict
    ended = tucano("evaluate", "--json")
    assert ended.returncode == exit_code, ended.text
    assert ran["asked"][1:] == ("evaluate", False)
    document = json.loads(ended.stdout)
    assert document["gate"]["verdict"] == verdict
    assert set(document) == {"seconds", "path", "overall", "tasks", "gate"}
    lists = "What speaks against it:\n- push got worse\nGood to know:\n- one seed"
    assert f"the gate says {verdict}\n{lists}" in ended.text


def test_a_held_retraining_names_whole_commands_for_what_would_help_and_never_forces(
    ran: dict[str, Any], tmp_path: Path
) -> None:
    stage = SimpleNamespace(path=tmp_path, record=SimpleNamespace(sha256="ab" * 32), seconds=1.0, reused=False)
    decision = {"verdict": "hold", "version": "7", "model": "shop", "alias": "champion", "merged": None}
    ran |= {"stages": {"evaluate": stage}, "decision": decision, "champion": None}
    # A step took 90 seconds.
    ran["policies"] = {42: policy_of(tmp_path / "a", 42), 43: policy_of(tmp_path / "b", 43, reused=True)}
    longer = {"why": "it rose", "command": "tucano retrain --set train.max_steps=40", "training_steps": 40}
    ran["report"]["next"] = [longer]
    ended = tucano("retrain", "--set", "train.max_steps=20", "--json")
    assert ended.returncode == 3, ended.text
    (step,) = json.loads(ended.stdout)["next"]
    assert step["why"] == "it rose; about 60.0 minutes of training"
    assert step["command"].startswith("tucano retrain --profile local --set train.max_steps=20")
    assert step["command"].endswith(" --set train.max_steps=40")
    assert f"next: `{step['command']}`: {step['why']}" in " ".join(ended.text.split())
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


def test_reais_are_dollars_at_the_profiles_rate_and_left_out_without_one(tmp_path: Path) -> None:
    costs = expected_costs(l4(tmp_path, "workers.reais_per_dollar=6"))
    assert f"(R$ {6 * costs['dollars']:.2f})" in next(cost_lines(costs))
    assert "R$" not in next(cost_lines({**costs, "reais_per_dollar": None}))


def test_people_score_each_task_that_has_prompts_unless_a_sheet_is_named(tmp_path: Path) -> None:
    assert expected_costs(l4(tmp_path))["scores"] == 4 * 40
    sheet = ("audit.sheet=a.csv", "audit.rollouts=b.jsonl")
    assert expected_costs(l4(tmp_path, *sheet))["scores"] == 0
    assert expected_costs(load_config("local"))["scores"] == 0


def test_four_times_the_test_prompts_show_half_the_gain(tmp_path: Path) -> None:
    few, many = (expected_costs(l4(tmp_path, f"curate.test_per_task={n}")) for n in (15, 60))
    assert many["gain_of_a_task"] == pytest.approx(few["gain_of_a_task"] / 2)
    # One-sided at .05 with power .80: 1.645 and 0.842 standard errors.
    assert few["gain_of_a_task"] == pytest.approx((1.645 + 0.842) * SPREAD / 15**0.5, rel=1e-3)


def test_a_person_is_asked_and_no_starts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_a_terminal(monkeypatch, "n\n")
    with pytest.raises(InputError, match="nothing was started"):
        confirm_costs(l4(tmp_path), yes=False)
    at_a_terminal(monkeypatch, "")
    with pytest.raises(Interrupted):
        confirm_costs(l4(tmp_path), yes=False)
    at_a_terminal(monkeypatch, "y\n")
    confirm_costs(l4(tmp_path), yes=False)


def test_yes_and_a_scheduled_run_are_asked_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at_a_terminal(monkeypatch, "")
    confirm_costs(l4(tmp_path), yes=True)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    confirm_costs(l4(tmp_path), yes=False)
