"""`tucano compare` as a person uses it: exit codes, sentences, the table, and what is left on the disk."""

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tasks.lineage.store.artifacts import ArtifactStore
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


def changed(number: int, **values: Any) -> list[Row]:
    """Return a tuned model's scores with one row changed; rows are counted from 1."""
    scores = rows(0.1)
    scores[number - 1] |= values
    return scores


def run(folder: Path, base: list[Row], tuned: list[Row], *more: str | Path) -> Ended:
    files = write(folder / "base.jsonl", base), write(folder / "tuned.jsonl", tuned)
    return in_this_process("compare", *files, "--report", folder / "report", "--resamples", "1000", *more)


def refusal(folder: Path, ended: Ended) -> str:
    """Return the one sentence of a refusal, which leaves nothing on the disk."""
    assert ended.returncode == 2, ended.text
    assert "Traceback" not in ended.text
    assert ended.stdout == ""
    assert not (folder / "report").exists()
    (sentence,) = ended.text.splitlines()
    assert sentence.startswith("tucano: ")
    return sentence


def test_a_better_model_is_promoted_and_the_report_written(tmp_path: Path) -> None:
    files = write(tmp_path / "base.jsonl", rows()), write(tmp_path / "tuned.jsonl", rows(0.1))
    ended = in_a_process("compare", *files, "--report", tmp_path / "new" / "report", "--json")
    assert ended.returncode == 0, ended.text
    lines = ended.stderr.splitlines()
    assert lines[0].startswith("promote: The tuned model is better than the base and may be promoted")
    assert any(line.startswith("- overall the score rose by 0.1") for line in lines)
    assert any(line.startswith("│ extraction") and "better" in line for line in lines)
    assert max(len(line) for line in lines if line.startswith("│")) <= 100
    assert {path.name for path in (tmp_path / "new" / "report").iterdir()} == FILES
    document = json.loads(ended.stdout)
    assert document == json.loads((tmp_path / "new" / "report" / "report.json").read_text(encoding="utf-8"))
    assert document["gate"]["verdict"] == "promote"
    assert "<html" in (tmp_path / "new" / "report" / "report.html").read_text(encoding="utf-8")
    assert "extraction" in (tmp_path / "new" / "report" / "report.md").read_text(encoding="utf-8")


def test_no_library_is_loaded_that_a_comparison_does_not_need(tmp_path: Path) -> None:
    files = write(tmp_path / "base.jsonl", rows()), write(tmp_path / "tuned.jsonl", rows(0.1))
    script = (
        "import sys; from flows.cli.tucano import app; app(standalone_mode=False); "
        "print(sorted({name.partition('.')[0] for name in sys.modules} & "
        "{'torch', 'prefect', 'mlflow', 'pandera', 'polars', 'httpx'}))"
    )
    command = [sys.executable, "-c", script, "compare", *map(str, files), "--report", str(tmp_path / "report")]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ended.stdout.endswith("\n[]\n")


def test_the_same_files_and_seed_give_the_same_report(tmp_path: Path) -> None:
    run(tmp_path, rows(), rows(0.1))
    first = (tmp_path / "report" / "report.json").read_bytes()
    run(tmp_path, list(reversed(rows())), rows(0.1), "--seed", "0")
    assert (tmp_path / "report" / "report.json").read_bytes() == first
    run(tmp_path, rows(), rows(0.1), "--seed", "1")
    assert (tmp_path / "report" / "report.json").read_bytes() != first


def test_an_earlier_report_is_replaced_and_everything_else_stays(tmp_path: Path) -> None:
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "report.md").write_text("an earlier one", encoding="utf-8")
    (tmp_path / "report" / "mine.txt").touch()
    assert run(tmp_path, rows(), rows(0.1)).returncode == 0
    assert {path.name for path in (tmp_path / "report").iterdir()} == {*FILES, "mine.txt"}
    assert "an earlier one" not in (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    before = (tmp_path / "report" / "report.md").read_bytes()
    assert run(tmp_path, rows(), rows()[1:]).returncode == 2
    assert (tmp_path / "report" / "report.md").read_bytes() == before
    assert {path.name for path in (tmp_path / "report").iterdir()} == {*FILES, "mine.txt"}


@pytest.mark.parametrize(
    ("base", "tuned", "sentence"),
    [
        (rows(), changed(3, score=1.5), "line 3: score: Input should be less than or equal to 1 (it is 1.5)"),
        (rows(), changed(3, score=float("nan")), "line 3: score: Input should be"),
        (rows(), rows(0.1)[1:], "1 rows of base are not in tuned: extraction prompt 000, seed 0, sample 0"),
        (rows(), rows(0.1)[:30], "task push is in base only"),
        (rows(decoding="a"), rows(0.1, decoding="b"), 'decoding is "a" in all rows of base and "b" in all rows'),
    ],
)
def test_rows_that_cannot_be_compared_are_named(
    tmp_path: Path, base: list[Row], tuned: list[Row], sentence: str
) -> None:
    assert sentence in refusal(tmp_path, run(tmp_path, base, tuned))


def test_a_folder_an_absent_file_and_one_file_twice_are_refused(tmp_path: Path) -> None:
    base = write(tmp_path / "base.jsonl", rows())
    report = ("--report", tmp_path / "report")
    folder = refusal(tmp_path, in_this_process("compare", base, tmp_path, *report))
    assert f"{tmp_path} cannot be read: Is a directory" in folder
    absent = refusal(tmp_path, in_this_process("compare", tmp_path / "absent.jsonl", base, *report))
    assert "absent.jsonl cannot be read: No such file" in absent
    (tmp_path / "link.jsonl").symlink_to(base)
    assert "are the same file" in refusal(tmp_path, in_this_process("compare", base, tmp_path / "link.jsonl", *report))


def test_scores_may_come_from_pipes(tmp_path: Path) -> None:
    pipes = []
    for scores in (rows(), rows(0.1)):
        reader, writer = os.pipe()
        with os.fdopen(writer, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in scores)
        pipes.append(reader)
    files = (f"/dev/fd/{reader}" for reader in pipes)
    ended = in_this_process("compare", *files, "--report", tmp_path / "report", "--resamples", "1000")
    for reader in pipes:
        os.close(reader)
    assert ended.returncode == 0, ended.text
    assert "| base scores |" not in (tmp_path / "report" / "report.md").read_text(encoding="utf-8")


def test_a_hostile_identity_commands_neither_terminal_nor_page(tmp_path: Path) -> None:
    attack = "\x1b]0;invadido\x07<script>alert(1)</script>{{ 7 * 7 }}"
    base, tuned = rows(prompts=5), rows(0.1, prompts=5)
    for scores in (base, tuned):
        scores[0] |= {"prompt_id": attack}
    ended = run(tmp_path, base, tuned)
    assert "\x1b" not in ended.text
    page = (tmp_path / "report" / "report.html").read_text(encoding="utf-8")
    assert "<script>alert(1)" not in page
    assert "\x1b" not in page
    refused = run(tmp_path, base, tuned[1:])
    assert "invadido" in refused.text
    assert "\x1b" not in refused.text


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


def test_a_name_that_no_disk_takes_is_one_sentence(tmp_path: Path) -> None:
    name = "a" * 300
    base, tuned = tmp_path / "base.jsonl", tmp_path / "tuned.jsonl"
    for file, gain in ((base, 0.0), (tuned, 0.1)):
        file.write_text("".join(json.dumps(row) + "\n" for row in rows(gain)), encoding="utf-8")
    for arguments in ((base, name, "--report", tmp_path / "report"), (base, tuned, "--report", tmp_path / name)):
        ended = in_this_process("compare", *arguments)
        assert ended.returncode == 2, ended.text
        assert ended.text.startswith("tucano: ")
        assert "File name too long" in ended.text


def test_files_of_an_evaluation_are_compared_as_it_compared_them(tmp_path: Path) -> None:
    """The same seed, resamples and margin give the same figures; what is asked for on the command line wins."""
    store = ArtifactStore(tmp_path / "artifacts")
    evaluate = {"margin": 0.2, "resamples": 2000}
    with store.draft() as draft:
        write(draft / "base.scores.jsonl", rows())
        write(draft / "tuned.scores.jsonl", rows(gain=0.1))
        record = store.commit(
            draft, kind="evaluation", stage="evaluate", code_version="c", config_digest="d", inputs={},
            config={"seed": 42, "evaluate": evaluate},
        )  # fmt: skip
    base, tuned = (store.path(record.sha256) / f"{name}.scores.jsonl" for name in ("base", "tuned"))
    by_record = in_this_process("compare", base, tuned, "--json")
    said = ("--margin", "0.2", "--resamples", "2000", "--seed", "42")
    copies = [Path(shutil.copy(file, tmp_path / file.name)) for file in (base, tuned)]
    assert json.loads(by_record.stdout) == json.loads(in_this_process("compare", *copies, *said, "--json").stdout)
    assert json.loads(in_this_process("compare", base, tuned, "--margin", "0.3", "--json").stdout)["margin"] == 0.3
    assert {file.name for file in tmp_path.iterdir()} == {"artifacts", *(copy.name for copy in copies)}


def test_a_plan_from_prompts_that_do_not_differ_is_refused_and_one_such_task_named(tmp_path: Path) -> None:
    base = rows()
    run(tmp_path, base, base)
    assert "every prompt has the same difference" in plan(tmp_path / "report" / "report.json").text
    run(tmp_path, base, [*base[:30], *rows(0.1)[30:]])
    ended = plan(tmp_path / "report" / "report.json", "--json")
    assert "no spread to plan by: extraction, whose prompts have one difference" in ended.text
    assert list(json.loads(ended.stdout)["needs"]) == ["overall", "push"]
