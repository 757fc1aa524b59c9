"""A stage's key holds the code and the data that decide its artifact: all of them, and nothing else."""

import ast
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from flows.stages.answers import RIVAL_SOURCES
from schemas.source import PACKAGES, REPOSITORY
from schemas.tasks import TASK_NAMES
from tests.source_records import outside_key, run_recorded

pytestmark = pytest.mark.slow

STAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "synthesize": ("tasks.synthesize.stage",),
    "curate": ("tasks.curate.stage",),
    "audit": ("tasks.audit.stage",),
    "sheet": ("tasks.audit.rollouts", "tasks.audit.sampling"),
    "base": ("tasks.train.sft.warm_start",),
    "cheap": ("tasks.plan.draws",),
    "cheap-baselines": ("tasks.plan.scoring",),
    "grpo": ("tasks.train.children.grpo",),
    "dpo": ("tasks.train.children.dpo",),
    "adopt": ("tasks.environment.adopt",),
    "merge": ("tasks.policy.merge",),
    "plan": ("tasks.evaluate.preregistration",),
    "answer": ("tasks.evaluate.answers.answer",),
    "answer-rival": ("tasks.evaluate.answers.rival",),
    "evaluate": ("flows.stages.evaluate",),
    "promote": ("flows.stages.promote", "tasks.lineage.mlflow.registry"),
    "monitor": ("flows.stages.monitor",),
}
"""Each stage with its entry modules."""
OTHERWISE: Final = {"grpo", "dpo", "merge", "answer-rival"}
"""Stages whose entry modules are not written out where the stage is made."""
READ_BY_JUDGES: Final = {"cheap", "cheap-baselines", "evaluate"}
WITHOUT_REWARDS: Final = {"synthesize", "merge", "plan", "answer", "answer-rival"}
COPIED: Final = (*sorted(PACKAGES), "data", "constraints")
DIGESTS: Final = """
import json, sys
from schemas.source import source_digest
from tasks.commerce.registry import reward_versions
stages = {name: source_digest(*entries) for name, entries in json.loads(sys.argv[1]).items()}
print(json.dumps([stages, reward_versions()]))
"""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository."""
    copy = tmp_path_factory.mktemp("copy")
    for name in COPIED:
        shutil.copytree(REPOSITORY / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


@pytest.fixture(scope="module")
def before(repository: Path) -> tuple[dict[str, str], dict[str, str]]:
    return digests(repository)


def digests(repository: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Return the digest of each stage's code, and the version of each task's reward."""
    ended = subprocess.run(
        [sys.executable, "-c", DIGESTS, json.dumps(STAGES)],
        env={"PYTHONPATH": str(repository)},
        cwd=repository,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    stages, versions = json.loads(ended.stdout)
    return stages, versions


def edit(repository: Path, name: str, old: str, new: str) -> None:
    file = repository / name
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def changed(one: Mapping[str, str], other: Mapping[str, str]) -> set[str]:
    return {name for name in one if one[name] != other[name]}


def test_the_stages_of_this_test_are_those_of_the_flows() -> None:
    found = set()
    for file in (REPOSITORY / "flows").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Stage":
                (sources,) = (each.value for each in node.keywords if each.arg == "sources")
                found.add(ast.unparse(sources))
    # Named by a constant or a function: train, merge, answer-rival.
    named = {"entry_modules(config)", "(MODULE,)", "RIVAL_SOURCES"}
    here = {str(entries) for name, entries in STAGES.items() if name not in OTHERWISE}
    assert found == here | named
    assert STAGES["answer-rival"] == RIVAL_SOURCES


def test_one_weight_changes_the_stages_and_the_task_that_depend_on_it(
    repository: Path, before: tuple[dict[str, str], dict[str, str]]
) -> None:
    edit(repository, "tasks/commerce/push/scorer.py", '"length": 0.2', '"length": 0.25')
    stages, versions = digests(repository)
    assert changed(before[0], stages) == STAGES.keys() - WITHOUT_REWARDS
    assert changed(before[1], versions) == {"push"}
    edit(repository, "tasks/commerce/push/scorer.py", '"length": 0.25', '"length": 0.2')


@pytest.mark.parametrize(
    ("file", "stages", "tasks"),
    [
        ("data/evidence/push.toml", STAGES.keys() - WITHOUT_REWARDS, {"push"}),
        (
            "data/lexicons/refusals.txt",
            STAGES.keys() - WITHOUT_REWARDS | {"synthesize"},
            {"extraction", "sql_qa", "insights", "push", "sentiment"},
        ),
        ("constraints/laptop.txt", {"synthesize", "curate"}, set()),
        ("data/languages/pt/evaluation.toml", {*READ_BY_JUDGES, "audit", "monitor", "plan", "promote"}, set()),
    ],
)
def test_data_is_in_the_keys_of_who_reads_it(
    repository: Path, before: tuple[dict[str, str], dict[str, str]], file: str, stages: set[str], tasks: set[str]
) -> None:
    path = repository / file
    content = path.read_bytes()
    path.write_bytes(content + b"\n")
    found, versions = digests(repository)
    path.write_bytes(content)
    assert changed(before[0], found) == stages
    assert changed(before[1], versions) == tasks


def test_no_module_is_imported_by_a_name_that_no_key_sees() -> None:
    found = set()
    for package in ("tasks", "schemas"):
        for file in (REPOSITORY / package).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                name = getattr(getattr(node, "func", None), "attr", getattr(getattr(node, "func", None), "id", None))
                if name in {"import_module", "__import__", "run_module", "run_path", "spec_from_file_location"}:
                    found.add((file.relative_to(REPOSITORY).as_posix(), ast.unparse(node)))
    # The keys see what is found by a task's name, since these modules declare it in FOUND_MODULES.
    by_name = {
        "tasks/commerce/example_makers.py": "tasks.commerce.{name}.prompts",
        "tasks/commerce/registry.py": "tasks.commerce.{name}.task",
    }
    assert found == {
        # Libraries, which constraints pin.
        ("tasks/train/backend/trainable.py", "importlib.import_module('unsloth')"),
        ("tasks/policy/fork_server.py", "importlib.import_module(library)"),
        *((file, f"import_module(f'{module}')") for file, module in by_name.items()),
    }


SYNTHESIZE: Final = """
import sys
from pathlib import Path
from schemas.config.config import SynthesizeConfig
from tasks.synthesize.stage import run
counts = dict.fromkeys(("extraction", "sql_qa", "insights", "push", "sentiment", "churn"), 24)
output = Path(sys.argv[1])
run(SynthesizeConfig(source="simulated", orders=300, counts=counts), 7, output, lambda *_: None)
"""
CURATE: Final = """
import sys
from pathlib import Path
from schemas.config.config import CurateConfig
from schemas.config.train_sections import PolicyConfig
from tasks.curate.processes import in_processes
from tasks.curate.stage import run
config = CurateConfig(validation_per_task=2, test_per_task=2, held_out_share=0.4)
run(config, PolicyConfig(stand_in=True), Path(sys.argv[1]), Path(sys.argv[2]), lambda *_: None, in_processes(1))
"""
AUDIT: Final = """
import sys
from pathlib import Path
from schemas.config.config import AuditConfig
from tasks.audit.stage import run, shipped_files
run(shipped_files(), AuditConfig(require_human=False), "grounded", Path(sys.argv[1]))
"""
SCORE: Final = """
import json, sys
from pathlib import Path
from importlib import import_module
(task,) = sys.argv[1:]
scorer = import_module(f"tasks.commerce.{task}.scorer")
databases = None
if task == "sql_qa":
    from schemas.store.files import read_store
    from tasks.commerce.sql_qa.sandbox import Databases
    databases = Databases.from_store(read_store(Path("data/audit/store")))
for line in Path("data/audit/rollouts.jsonl").read_text(encoding="utf-8").splitlines():
    rollout = json.loads(line)
    if rollout["task"] == task:
        scorer.score(rollout["completion"], rollout["prompt"], rollout["reference"], databases)
"""
INPUTS: Final = ("data/audit/", "data/stand_in/")
"""The shipped sheet, its rollouts and its store, and the stand-in: inputs, whose digests are in the keys themselves."""


@pytest.mark.integration
def test_synthesize_and_curate_run_nothing_that_is_not_in_their_keys(tmp_path: Path) -> None:
    prompts, dataset = tmp_path / "prompts", tmp_path / "dataset"
    prompts.mkdir()
    dataset.mkdir()
    modules, files = run_recorded(SYNTHESIZE, tmp_path / "one", str(prompts))
    assert "data/questions/dates.toml" in files
    assert outside_key([*modules, *files], *STAGES["synthesize"]) == []
    modules, files = run_recorded(CURATE, tmp_path / "other", str(prompts), str(dataset))
    used = [*modules, *(file for file in files if not file.startswith(INPUTS))]
    assert outside_key(used, *STAGES["curate"]) == []


@pytest.mark.integration
def test_audit_runs_nothing_that_is_not_in_its_key(tmp_path: Path) -> None:
    output = tmp_path / "audit"
    output.mkdir()
    modules, files = run_recorded(AUDIT, tmp_path / "records", str(output))
    used = [*modules, *(file for file in files if not file.startswith(INPUTS))]
    assert outside_key(used, *STAGES["audit"]) == []


@pytest.mark.integration
@pytest.mark.parametrize("task", TASK_NAMES)
def test_a_scorer_runs_nothing_that_is_not_in_its_version(task: str, tmp_path: Path) -> None:
    modules, files = run_recorded(SCORE, tmp_path, task)
    used = [*modules, *(file for file in files if not file.startswith(INPUTS))]
    reader = ("schemas.store.files",) if task == "sql_qa" else ()
    assert f"tasks.commerce.{task}.scorer" in used
    assert outside_key(used, f"tasks.commerce.{task}.scorer", *reader) == []
