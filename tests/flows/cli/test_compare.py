"""`tucano compare` as a person uses it: exit codes, sentences, the table, and what is left on the disk."""

import json
import random
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from schemas.config.evaluate import EvaluateConfig
from schemas.config.report import Language
from tasks.evaluate.compare import REPORT_FILE
from tasks.lineage.store.artifacts import ArtifactStore
from tasks.report.language import spoken
from tests.flows.command import Ended, in_a_process, in_this_process
from tests.tasks.curate.prompt_rows import prompt_row
from tests.tasks.evaluate.test_stage import UNLIMITED, follow
from tests.tasks.evaluate.test_stage import run as evaluate_small

pytestmark = pytest.mark.slow

Row = dict[str, Any]

FILES = {"report.html", "report.json", "report.md"}


def rows(gain: float = 0.0, *, seed: int = 0, prompts: int = 30, **more: Any) -> list[Row]:
    """Make the scores of one model: the same prompts are hard for each, and noise is its own."""
    noise = random.Random(f"{gain} {seed}")
    made = []
    for task in ("extraction", "push"):
        for number in range(prompts):
            difficulty = random.Random(f"{task} {number}").uniform(0.2, 0.7)
            score = min(1.0, max(0.0, difficulty + gain + noise.gauss(0, 0.05)))
            made.append({"prompt_id": f"{number:03}", "task": task, "seed": seed, "sample": 0, "score": score, **more})
    return made


def write(path: Path, scores: list[Row]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in scores), encoding="utf-8")
    return path


def run(folder: Path, base: list[Row], tuned: list[Row], *more: str | Path) -> Ended:
    files = write(folder / "base.jsonl", base), write(folder / "tuned.jsonl", tuned)
    return in_this_process("compare", *files, "--report", folder / "report", "--resamples", "1000", *more)


def test_a_better_model_is_promoted_and_the_report_written(tmp_path: Path) -> None:
    files = write(tmp_path / "base.jsonl", rows()), write(tmp_path / "tuned.jsonl", rows(0.1))
    ended = in_a_process("compare", *files, "--report", tmp_path / "new" / "report", "--json")
    assert ended.returncode == 0, ended.text
    lines = ended.stderr.splitlines()
    assert lines[0].startswith("promote: The tuned model is better than the base and may be promoted")
    assert any(line.startswith("- overall the score rose by 0.1") for line in lines)
    assert any(line.startswith("│ extraction") and "better" in line for line in lines)
    assert {path.name for path in (tmp_path / "new" / "report").iterdir()} == FILES
    document = json.loads(ended.stdout)
    assert document == json.loads((tmp_path / "new" / "report" / "report.json").read_text(encoding="utf-8"))
    assert document["gate"]["verdict"] == "promote"
    assert "<html" in (tmp_path / "new" / "report" / "report.html").read_text(encoding="utf-8")
    assert "extraction" in (tmp_path / "new" / "report" / "report.md").read_text(encoding="utf-8")
    assert "are the same file" in in_this_process("compare", *files[:1] * 2).text


def plan(report: Path, *more: str | Path) -> Ended:
    return in_this_process("compare", "--plan", report, *more)


def test_a_plan_says_how_many_prompts_an_effect_needs(tmp_path: Path) -> None:
    run(tmp_path, rows(), [*rows(0.1, seed=1), *rows(0.08, seed=2)], "--margin", "0.04")
    ended = plan(tmp_path / "report" / "report.json", "--effect", "0.03", "--json")
    assert ended.returncode == 0, ended.text
    assert "Prompts that a true difference of 0.03 needs" in ended.text
    document = json.loads(ended.stdout)
    assert document["effect"] == 0.03
    assert list(document["needs"]) == ["overall", "extraction", "push"]
    assert {(need["seeds"], need["samples"]) for need in document["needs"]["push"]} == {(1, 1), (3, 1), (5, 1), (10, 1)}
    by_margin = json.loads(plan(tmp_path / "report" / "report.json", "--json").stdout)
    assert by_margin["effect"] == 0.04
    of_10_seeds = [
        next(need["prompts"] for need in found["needs"]["overall"] if (need["seeds"], need["samples"]) == (10, 1))
        for found in (document, by_margin)
    ]
    assert of_10_seeds[0] >= of_10_seeds[1] >= 2


def test_a_plan_from_prompts_that_do_not_differ_is_refused_and_one_such_task_named(tmp_path: Path) -> None:
    base = rows()
    run(tmp_path, base, base)
    assert "every prompt has the same difference" in plan(tmp_path / "report" / "report.json").text
    run(tmp_path, base, [*base[:30], *rows(0.1)[30:]])
    ended = plan(tmp_path / "report" / "report.json", "--json")
    assert "no spread to plan by: extraction, whose prompts have one difference" in ended.text
    assert list(json.loads(ended.stdout)["needs"]) == ["overall", "push"]


TRAINING = [prompt_row("sentiment", f"Avaliação antiga {number}") for number in range(20)]
STRICT = EvaluateConfig(
    resamples=1000, margin=0.1, floors={"sentiment": {"macro_f1": 0.2}}, min_variety=0.1, general="require"
)
SCENARIOS: Mapping[str, dict[str, Any]] = {
    "held for a constant": {"tuned": {1: 12}, "chosen": 1, "training": TRAINING},
    "all that is examined": {
        "tuned": {42: 9, 123: 12},
        "chosen": 123,
        "base": 3,
        "champion": 7,
        "config": STRICT,
        "training": TRAINING,
        "rung": 6,
        "over_rungs": "require",
    },
}


def evaluated(folder: Path, language: Language = "en", **scenario: Any) -> Path:
    """Evaluate a small model, commit the artifact as the stage does, and return its files."""
    config = scenario.setdefault("config", UNLIMITED)
    if config.general != "off":
        for name in ("base", *(f"tuned-{seed}" for seed in scenario["tuned"])):
            follow(folder / name, 2 if name == "base" else 3)
    with spoken(language):
        evaluate_small(folder, **scenario)
    store = ArtifactStore(folder / "artifacts")
    with store.draft() as draft:
        shutil.copytree(folder / "evaluation", draft, dirs_exist_ok=True)
        settings = {
            "seed": 99,
            "evaluate": config.model_dump(mode="json"),
            "promote": {"over_rungs": scenario.get("over_rungs", "report")},
            "report": {"language": language},
        }
        record = store.commit(
            draft, kind="evaluation", stage="evaluate", code_version="c", config_digest="d", inputs={}, config=settings
        )
    return store.path(record.sha256)


def compared(folder: Path, *more: str, files: tuple[str, str] = ("base", "tuned")) -> tuple[Ended, Any]:
    ended = in_this_process("compare", *(folder / f"{name}.scores.jsonl" for name in files), "--json", *more)
    return ended, json.loads(ended.stdout)


@pytest.mark.parametrize(("scenario", "language"), zip(SCENARIOS, ("en", "pt"), strict=True))
def test_an_evaluations_files_get_its_figures_verdicts_and_reasons(
    scenario: str, language: Language, tmp_path: Path
) -> None:
    """Scores alone promoted what the evaluation held for a constant, a floor or the champion."""
    folder = evaluated(tmp_path, language, **SCENARIOS[scenario])
    ended, found = compared(folder)
    report = json.loads((folder / REPORT_FILE).read_text(encoding="utf-8"))
    assert found == {name: report[name] for name in found}
    assert ended.returncode == (0 if report["gate"]["verdict"] == "promote" else 3), ended.text


def test_what_is_not_examined_is_said_of_copies_and_of_other_files_of_an_evaluation(tmp_path: Path) -> None:
    folder = evaluated(tmp_path, **SCENARIOS["all that is examined"])
    other, _ = compared(folder, files=("base", "champion"))
    assert "not examined, for the evaluation has them for base.scores.jsonl and tuned.scores.jsonl alone" in other.text
    copies, found = compared(Path(shutil.copytree(folder, tmp_path / "copies")))
    assert "not examined, for the files are of no evaluation's artifact: floors, baselines" in copies.stderr
    assert found["claims"] == {}
