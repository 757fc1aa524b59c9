"""`tucano compare` as a person uses it: exit codes, sentences, the table, and what is left on the disk."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tasks.evaluate.compare import REPORT_FILE
from tasks.lineage.store.artifacts import RECORD_FILE
from tests.flows.command import Ended, in_a_process, in_this_process

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


def test_an_earlier_report_is_replaced_and_stays_where_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "report.md").write_text("an earlier one", encoding="utf-8")
    assert run(tmp_path, rows(), rows(0.1)).returncode == 0
    assert {path.name for path in (tmp_path / "report").iterdir()} == FILES
    assert "an earlier one" not in (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    before = (tmp_path / "report" / "report.md").read_bytes()
    refused = run(tmp_path, rows(), rows()[1:])
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "1 rows of base are not in tuned: extraction prompt 000, seed 0, sample 0" in refused.text
    assert "are the same file" in in_this_process("compare", *[tmp_path / "base.jsonl"] * 2).text
    assert (tmp_path / "report" / "report.md").read_bytes() == before
    assert {path.name for path in (tmp_path / "report").iterdir()} == FILES


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


def test_files_of_an_evaluation_are_refused_since_scores_alone_may_promote_what_it_holds(tmp_path: Path) -> None:
    content = tmp_path / "artifacts" / "evaluation" / "f0" / "content"
    content.mkdir(parents=True)
    (content.parent / RECORD_FILE).touch()
    refused = run(content, rows(), rows(0.1))
    assert (refused.returncode, refused.stdout) == (2, "")
    assert f"base.jsonl is of an evaluation, whose {REPORT_FILE} beside it has the decision" in refused.text
