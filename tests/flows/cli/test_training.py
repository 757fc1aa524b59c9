"""`tucano train` and `tucano evaluate` as a person uses them: what is printed, what is refused, and exit codes."""

import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flows.cli import training
from flows.cli.training import recipe_lines
from schemas.artifact import ArtifactKind, Worker
from schemas.config.profiles import load_config
from schemas.config.train import TrainConfig
from schemas.errors import GateRefused
from schemas.tables.summary import Summary
from tasks.lineage.store.artifacts import ArtifactStore
from tests.flows import command
from tests.summaries import DATASET_SUMMARY, PROMPTS_SUMMARY
from tests.tasks.evaluate.small_comparison import comparison

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
    return tucano("train", "--profile", profile, "--dry-run", "--long", "--json", *options)


def estimate_of(ended: Ended) -> dict[str, Any]:
    assert ended.returncode == 0, ended.text
    estimate: dict[str, Any] = json.loads(ended.stdout)["estimate"]
    return estimate


RICH = TrainConfig.model_validate(
    {
        "interpreter": "/opt/trainer/bin/python",
        "seeds": [42, 123, 456],
        "max_completion_tokens": 512,
        "optimizer": {"name": "adamw_8bit"},
        "learning_rate_at_scale": 1e-6,
        "alarms": {"stop_on": ["non_finite", "reward_hacking"]},
    }
)


@pytest.mark.parametrize("config", [RICH, TrainConfig(), load_config("l4").train])
def test_the_recipe_that_is_printed_is_the_whole_recipe(config: TrainConfig) -> None:
    values = tomllib.loads("\n".join(recipe_lines("train", config.model_dump(mode="json"))))["train"]
    assert TrainConfig.model_validate(values) == config
    unset = {name for name in TrainConfig.model_fields if getattr(config, name) is None}
    assert set(values) | unset == set(TrainConfig.model_fields)


def test_a_dry_run_answers_first_in_hours_and_money_and_with_all_figures_where_asked() -> None:
    short = tucano("train", "--profile", "l4", "--dry-run").stdout
    assert short.startswith("costs at most: ")
    assert "train.max_steps = " not in short
    long = tucano("train", "--profile", "l4", "--dry-run", "--long").stdout
    assert "\ntrain.lora.rank = 16\n" in long
    assert "memory_by_stage" in long.replace(" ", "")
    refused = tucano("train", "--profile", "l4", "--long")
    assert (refused.returncode, refused.last) == (2, "tucano: --long goes with --dry-run; give both, or neither")


def test_a_dry_run_has_time_cost_and_memory_of_all_stages() -> None:
    estimate = estimate_of(dry_run("train.seeds=[42, 123, 456]", profile="l4"))
    assert estimate["trainings"] == 3
    trainings = [stage for stage in estimate["stages"] if stage["name"].startswith("train, seed")]
    assert [stage["seconds"] for stage in trainings] == pytest.approx([22.6 * 3600] * 3)
    assert [(stage["cost_usd"], stage["spot_usd"]) for stage in trainings] == [
        (pytest.approx(22.6 * 0.71), pytest.approx(22.6 * 0.28))
    ] * 3
    assert estimate["seconds"] == pytest.approx(sum(stage["seconds"] for stage in estimate["stages"]))
    assert estimate["spot_usd"] < estimate["cost_usd"]
    assert estimate["parameters"] == 490_799_104
    assert estimate["fits"]
    assert max(estimate["memory_by_stage"].values()) < estimate["memory_limit"] == 22.08e9


def test_a_recipe_that_does_not_fit_its_card_ends_with_2_and_what_would_fit() -> None:
    ended = dry_run("train.accumulation=1", profile="l4")
    assert ended.returncode == 2
    assert not json.loads(ended.stdout)["estimate"]["fits"]
    assert "not all fit" in ended.words
    assert ended.last.startswith(
        "tucano: training would take 116.1 GB, and of train.device_memory_gb 24 it may take 22.1"
    )
    assert "set train.accumulation=8, or train.gradient_checkpointing='unsloth'" in ended.last


def test_a_training_that_does_not_fit_is_refused_before_its_first_stage(tmp_path: Path) -> None:
    state = tmp_path / "state"
    ended = tucano("train", "--profile", "l4", "--set", "train.accumulation=1", "--set", f"state.root={state}")
    assert ended.returncode == 2
    assert ended.last.startswith("tucano: training would take ")
    assert not (state / "artifacts").exists()


def test_a_dry_run_touches_no_state_and_loads_nothing_heavy(tmp_path: Path) -> None:
    heavy = "{'torch', 'prefect', 'mlflow', 'transformers', 'datasets', 'trl'}"
    state = tmp_path / "state"
    arguments = ["tucano", "train", "--dry-run", "--set", f"state.root={state}"]
    code = f"""
import sys
from flows.cli.tucano import main
sys.argv = {arguments!r}
try:
    main()
except SystemExit as ended:
    print({heavy} & set(sys.modules), ended.code)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.endswith("\nset() 0\n")
    assert not state.exists()


def test_too_many_epochs_are_a_warning() -> None:
    """Half of 2,000 prompts, 4 a step: 500 steps an epoch."""
    few, many = dry_run("train.max_steps=600"), dry_run("train.max_steps=1000")
    assert not estimate_of(few)["too_many_epochs"]
    assert "warning" not in few.text
    assert estimate_of(many)["too_many_epochs"]
    assert "epochs: on small data the V4.2 report's model was at its best after 1 to 1.5" in many.words


def test_a_dry_run_of_dpo_tells_the_pairs_and_that_nobody_measured_its_time() -> None:
    ended = dry_run('train.algorithm="dpo"', "train.guided=none", "train.preferences.prompts=64", "train.max_steps=100")
    estimate = estimate_of(ended)
    assert (estimate["pairs"], estimate["seconds"], estimate["cost_usd"]) == (64, None, None)
    assert not estimate["too_many_epochs"]
    assert "costs: unknown, for no training with DPO was measured" in ended.words
    assert "fetched" not in ended.words


def test_a_model_of_unknown_size_is_reported_as_unknown() -> None:
    ended = dry_run("policy.name=nobody/has-fetched-this", profile="l4")
    estimate = estimate_of(ended)
    assert (estimate["seconds"], estimate["cost_usd"], estimate["memory_by_stage"]) == (None, None, None)
    assert "nothing here says how large nobody/has-fetched-this is" in ended.words
    assert "costs: unknown, for nothing here says how large the model is until it was fetched once" in ended.words


def add_dataset(root: Path, asked: dict[str, int], train: dict[str, int], held_out_share: float) -> str:
    """Put a dataset and the prompts that it was made of into a state folder's artifact store, and return its name."""
    store = ArtifactStore(root / "artifacts")
    tasks = {task: {"train": count} for task, count in train.items()}
    summaries: list[tuple[ArtifactKind, Summary]] = [
        ("prompts", PROMPTS_SUMMARY.model_copy(update={"asked": asked})),
        ("dataset", DATASET_SUMMARY.model_copy(update={"held_out_share": held_out_share, "tasks": tasks})),
    ]
    inputs: dict[str, str] = {}
    for kind, summary in summaries:
        with store.draft() as draft:
            summary.write(draft)
            record = store.commit(draft, kind=kind, stage=kind, code_version="", config_digest="", inputs=inputs)
        inputs = {kind: record.sha256}
    return inputs["dataset"]


def test_a_dataset_that_is_there_says_how_many_prompts_there_are(tmp_path: Path) -> None:
    own = (f"state.root={tmp_path}", "curate.held_out_share=0.25")
    config = load_config("local", own)
    asked = {str(task): count for task, count in config.synthesize.counts.items()}
    dataset = add_dataset(tmp_path, asked, {"push": 80, "churn": 20}, 0.25)
    add_dataset(tmp_path, asked, {"push": 1}, 0.5)
    add_dataset(tmp_path, {"push": 100}, {"push": 2}, 0.25)
    estimate = estimate_of(dry_run(*own))
    assert estimate["prompts"] == {"push": 80, "churn": 20}
    assert estimate["prompts_from"].startswith(f"dataset {dataset[:12]} of ")
    assert estimate["steps_per_epoch"] == 100 / config.train.prompts_per_step
    assert "held-out" in estimate_of(dry_run(*own, "curate.held_out_share=0.3"))["prompts_from"]


@pytest.mark.parametrize("command", [("train",), ("train", "--dry-run"), ("evaluate",)])
def test_a_recipe_that_contradicts_itself_is_one_sentence(command: tuple[str, ...], tmp_path: Path) -> None:
    settings = ("--set", "train.prompts_per_step=4", "--set", "train.processes=3")
    ended = tucano(*command, "--set", f"state.root={tmp_path / 'state'}", *settings)
    assert (ended.returncode, ended.stdout, len(ended.stderr.strip().splitlines())) == (2, "", 1)
    assert "train: processes 3 does not divide the 4 prompts of a step" in ended.last
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("policy.name=/models/absent", "policy.name '/models/absent' is neither a folder nor a hub name"),
        ("synthesize.counts={push=60}", "the training split would have no prompts"),
    ],
)
def test_a_dry_run_names_what_is_not_there(setting: str, sentence: str) -> None:
    ended = dry_run(setting, "policy.stand_in=false", "curate.held_out_share=0.999")
    assert ended.returncode == 2
    assert sentence in ended.last


@pytest.mark.parametrize("command", ["train", "evaluate"])
def test_a_state_folder_that_cannot_be_one_is_named(command: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ended = tucano(command, "--set", f"state.root={tmp_path / 'file'}")
    assert ended.returncode == 2
    assert f"the state folder {tmp_path / 'file'} cannot be written" in ended.last


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
    gate = {"verdict": "hold", "reasons": ["push got worse"]}
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

    def chain(config: Any, profile: str, opening: str, *, until: str, fresh: bool, yes: bool) -> Any:
        assert (profile, yes) == ("local", False)
        assert opening.startswith(f"{until} with profile local, state in ")
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


def test_adapters_of_their_own_each_have_their_own_step(ran: dict[str, Any], tmp_path: Path) -> None:
    chosen = {"push": 20, "churn": 10}
    ran["policies"] = {42: policy_of(tmp_path / "a", 42, chosen_step=None, chosen_steps=chosen)}
    (training,) = json.loads(tucano("train", "--json").stdout)["trainings"]
    assert training["tasks"] == {
        "push": {"chosen_step": 20, "before": 0.2, "chosen": 0.6},
        "churn": {"chosen_step": 10, "before": 0.3, "chosen": 0.7},
    }


@pytest.mark.parametrize(("verdict", "exit_code"), [("promote", 0), ("hold", 3)])
def test_evaluate_ends_by_its_verdict(ran: dict[str, Any], verdict: str, exit_code: int) -> None:
    ran["report"]["gate"]["verdict"] = verdict
    ended = tucano("evaluate", "--json")
    assert ended.returncode == exit_code, ended.text
    assert ran["asked"][1:] == ("evaluate", False)
    document = json.loads(ended.stdout)
    assert document["gate"]["verdict"] == verdict
    assert set(document) == {"seconds", "path", "overall", "tasks", "gate"}
    assert f"the gate says {verdict}:\n- push got worse" in ended.text
    assert max(len(line) for line in tucano("evaluate").stdout.splitlines() if line.startswith("│")) <= 100


def test_a_refused_preflight_ends_with_3(ran: dict[str, Any]) -> None:
    ran["error"] = GateRefused("preflight: distinct completions: 1 of 8; reset generation_config")
    ended = tucano("train")
    assert ended.returncode == 3
    assert ended.last == "tucano: preflight: distinct completions: 1 of 8; reset generation_config"


def test_a_retraining_names_what_was_decided_and_what_one_does_next(tmp_path: Path) -> None:
    compared = comparison(-0.2, tasks=("extraction", "push"), with_truth=True)
    decision = {"verdict": "hold", "version": "3", "model": "tucano", "alias": "champion", "merged": None}
    stage = SimpleNamespace(path=tmp_path, seconds=1.5, reused=False, record=SimpleNamespace(sha256="ab" * 32))
    result: Any = SimpleNamespace(
        stages={"evaluate": stage, "promote": stage},
        seconds=2.0,
        report=compared.report(),
        decision=decision,
        champion=None,
    )
    document: dict[str, Any] = {"stages": {}}
    held = [part for part in training.retraining_parts(result, document) if isinstance(part, str)]
    assert [f"- {reason}" for reason in compared.gate.reasons] == [part for part in held if part.startswith("- ")]
    assert {"hold: version 3 of tucano", "`champion` is no version yet"} < set(held)
    assert held[-1] == "next: `tucano ask TASK --version 3`, `tucano ui`, `tucano promote 3 --force REASON`"
    result.decision, result.champion = {**decision, "verdict": "promote", "merged": {"prompts": 20}}, "3"
    promoted = list(training.retraining_parts(result, document))
    assert promoted[-2:] == [
        f"model: {tmp_path / 'merged'}",
        "next: `tucano ask TASK`, `tucano ui`, `tucano monitor LOGS`",
    ]
