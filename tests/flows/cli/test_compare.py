"""`tucano compare` as a person uses it: exit codes, sentences, the table, and what is left on the disk."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
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


def test_a_damaged_model_is_held_with_the_reason_and_its_report_is_written(tmp_path: Path) -> None:
    ended = run(tmp_path, rows(0.1), rows())
    assert ended.returncode == 3, ended.text
    assert ended.text.startswith("hold: The tuned model is worse than the base")
    assert "- overall is worse: mean difference −0.1" in ended.text
    assert {path.name for path in (tmp_path / "report").iterdir()} == FILES


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


def test_several_seeds_and_ground_truth_are_in_the_report(tmp_path: Path) -> None:
    base = rows(truth=1.0)
    tuned = [*rows(0.1, seed=1, truth=1.0), *rows(0.1, seed=2, truth=0.0)]
    ended = run(tmp_path, base, tuned)
    assert ended.returncode == 3
    assert "Ground truth of the same answers, which is no reward" in ended.text
    assert "- the ground truth of push is worse" in ended.text
    report = json.loads((tmp_path / "report" / "report.json").read_text(encoding="utf-8"))
    assert list(report["seeds"]["overall"]) == ["1", "2"]
    assert report["overall"]["n_seeds"] == 2
    assert report["ground_truth"]["overall"]["mean_tuned"] == 0.5


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


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"", "is empty"), (b'{"prompt_id": "' + b"a" * 5_000_000, "line 1: "), (b"[" * 100_000, "line 1: ")],
)
def test_a_file_of_something_else_is_reported_in_a_sentence(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "other.jsonl").write_bytes(content)
    base = write(tmp_path / "base.jsonl", rows())
    found = refusal(
        tmp_path, in_this_process("compare", base, tmp_path / "other.jsonl", "--report", tmp_path / "report")
    )
    assert "other.jsonl" in found
    assert sentence in found
    assert len(found) < 1_000


def test_a_folder_an_absent_file_and_one_file_twice_are_refused(tmp_path: Path) -> None:
    base = write(tmp_path / "base.jsonl", rows())
    report = ("--report", tmp_path / "report")
    folder = refusal(tmp_path, in_this_process("compare", base, tmp_path, *report))
    assert f"{tmp_path} cannot be read: Is a directory" in folder
    absent = refusal(tmp_path, in_this_process("compare", tmp_path / "absent.jsonl", base, *report))
    assert "absent.jsonl cannot be read: No such file" in absent
    (tmp_path / "link.jsonl").symlink_to(base)
    assert "are the same file" in refusal(tmp_path, in_this_process("compare", base, tmp_path / "link.jsonl", *report))


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--margin", "0", "margin is 0.0; it must lie between"),
        ("--seed", "-1", "seed is -1; it must be 0 or more"),
        ("--resamples", "0", "resamples is 0; it must lie between 1000 and 1000000"),
        ("--effect", "0.03", "--effect 0.03 is for --plan REPORT.json"),
    ],
)
def test_settings_that_make_no_comparison_are_refused(tmp_path: Path, option: str, value: str, sentence: str) -> None:
    assert sentence in refusal(tmp_path, run(tmp_path, rows(), rows(0.1), option, value))


def test_what_is_missing_on_the_command_line_is_reported(tmp_path: Path) -> None:
    base = write(tmp_path / "base.jsonl", rows())
    for arguments in ((), (base,), ("--report", tmp_path / "report")):
        assert "give BASE.jsonl and TUNED.jsonl, or --plan" in refusal(tmp_path, in_this_process("compare", *arguments))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda report: report.touch(),
        lambda report: report.symlink_to("nowhere/else"),
        lambda report: (report / "report.json").mkdir(parents=True),
    ],
)
def test_a_report_that_cannot_be_written_is_refused_before_anything_is_read(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    spoil(tmp_path / "report")
    absent = tmp_path / "base.jsonl", tmp_path / "tuned.jsonl"
    ended = in_this_process("compare", *absent, "--report", tmp_path / "report")
    assert ended.returncode == 2, ended.text
    assert len(ended.text.splitlines()) == 1
    assert str(tmp_path / "report") in ended.text
    below_a_file = in_this_process("compare", *absent, "--report", write(tmp_path / "file", []) / "report")
    assert below_a_file.returncode == 2
    assert "file/report cannot be written (Not a directory)" in below_a_file.stderr


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


def test_an_interrupted_comparison_leaves_nothing(tmp_path: Path) -> None:
    pipe = tmp_path / "base.jsonl"
    os.mkfifo(pipe)
    tuned, report = write(tmp_path / "tuned.jsonl", rows()), tmp_path / "new" / "report"
    command = [sys.executable, "-m", "flows", "compare", str(pipe), str(tuned), "--report", str(report)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        # It then waits for a base that nobody writes.
        while process.poll() is None and not list(report.glob("tucano-*")):
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate()
    assert process.returncode == 4
    assert errors == "tucano: interrupted, and nothing was written; run the same command again\n"
    assert not report.parent.exists()


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        (rows()[:1], "there is one prompt, which says nothing of others"),
        (rows(), "base and tuned score the same on all 60 prompts"),
        ([row | {"score": 0.0} for row in rows()], "base and tuned score the same on all 60 prompts"),
    ],
)
def test_one_prompt_and_all_ties_are_inconclusive(tmp_path: Path, scores: list[Row], reason: str) -> None:
    ended = run(tmp_path, scores, scores)
    assert ended.returncode == 3, ended.text
    assert f"- {reason}" in ended.text
    report = json.loads((tmp_path / "report" / "report.json").read_text(encoding="utf-8"))
    assert report["overall"]["verdict"] == "inconclusive"
    assert {path.name for path in (tmp_path / "report").iterdir()} == FILES


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


def test_a_plan_from_one_training_says_what_it_does_not_know(tmp_path: Path) -> None:
    run(tmp_path, rows(), rows(0.1))
    assert "the report is of one training seed" in plan(tmp_path / "report" / "report.json").text
    run(tmp_path, rows(), [*rows(0.3, seed=1), *rows(-0.1, seed=2)])
    found = plan(tmp_path / "report" / "report.json", "--effect", "0.01").text
    assert "never: the training seeds differ so much" in found
    assert "one training seed" not in found


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("base.jsonl",), "--plan compares nothing, so it goes without BASE; leave them out"),
        (("base.jsonl", "tuned.jsonl", "--report", "r"), "it goes without BASE, TUNED, --report"),
        (("--margin", "0.05", "--seed", "0"), "it goes without --margin, --seed"),
        (("--effect", "1e-160"), "it must lie between 0.0001 and 1"),
        (("--effect", "nan"), "it must lie between 0.0001 and 1"),
    ],
)
def test_a_plan_goes_without_scores(tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    run(tmp_path, rows(), rows(0.1))
    ended = plan(tmp_path / "report" / "report.json", *arguments)
    assert ended.returncode == 2
    assert sentence in ended.text


@pytest.mark.parametrize("content", ["{", '{"overall": {}, "tasks": {}}', "\udcff", "[" * 200_000])
def test_a_plan_from_something_else_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "report.json"
    path.write_text(content, encoding="utf-8", errors="surrogateescape")
    assert "report.json" in refusal(tmp_path / "none", plan(path))
    assert "is no report" in refusal(tmp_path / "none", plan(tmp_path))
    assert "is no report" in refusal(tmp_path / "none", plan(tmp_path / "absent.json"))


def test_a_plan_from_prompts_that_do_not_differ_is_refused_and_one_such_task_named(tmp_path: Path) -> None:
    base = rows()
    run(tmp_path, base, base)
    assert "every prompt has the same difference" in plan(tmp_path / "report" / "report.json").text
    run(tmp_path, base, [*base[:30], *rows(0.1)[30:]])
    ended = plan(tmp_path / "report" / "report.json", "--json")
    assert "no spread to plan by: extraction, whose prompts have one difference" in ended.text
    assert list(json.loads(ended.stdout)["needs"]) == ["overall", "push"]


def test_a_plan_from_a_report_without_variance_is_refused(tmp_path: Path) -> None:
    run(tmp_path, rows(), rows(0.1))
    path = tmp_path / "report" / "report.json"
    report = json.loads(path.read_text(encoding="utf-8"))
    del report["variance"]
    (tmp_path / "older.json").write_text(json.dumps(report), encoding="utf-8")
    assert "older.json is no report" in refusal(tmp_path / "none", plan(tmp_path / "older.json"))


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
