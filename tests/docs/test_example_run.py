"""README, quickstart and recording show one run, the shipped one, and its completions give the same figures."""

import re
from collections import defaultdict
from functools import cache

import pytest

from schemas.source import REPOSITORY
from tasks.demo.recording import LOG_FILE, draw
from tasks.evaluate.completions.page import read_example

READMES = ("README.md", "README.pt-BR.md")
LOG = LOG_FILE.read_text(encoding="utf-8")
COUNTS = re.compile(r"^\| (.+?) \| (\d+) \| (\d+) \| (\d+|–) \| (.+?) \|$", re.MULTILINE)
SCORES = re.compile(r"^│ (\w+) +│ +(\d+) │ ([\d.]+) │ ([\d.]+) │ .* │ (\S+) +│$", re.MULTILINE)
IN_PORTUGUESE = {"better": "melhor", "non-inferior": "não inferior", "inconclusive": "inconclusivo"}
ALL = "overall"


def read(page: str) -> str:
    return (REPOSITORY / page).read_text(encoding="utf-8")


@cache
def figures() -> dict[tuple[str, str], tuple[int, str, int]]:
    """The number of prompts, the mean reward and the number of right answers, by model and task."""
    run, found = read_example(), defaultdict[tuple[str, str], list[tuple[int, int]]](list)
    answers, tasks = run["answers"], [run["tasks"][task] for task in run["prompts"]["task"]]
    for model, prompt, reward, truth in zip(*(answers[n] for n in ("model", "prompt", "reward", "truth")), strict=True):
        for task in (tasks[prompt], ALL):
            found[run["models"][model], task].append((reward, truth))
    means = {key: sum(reward for reward, _ in rows) / len(rows) / 10_000 for key, rows in found.items()}
    right = {key: sum(truth for _, truth in rows) // 10_000 for key, rows in found.items()}
    return {key: (len(rows), f"{means[key]:.3f}", right[key]) for key, rows in found.items()}


def test_the_log_is_of_the_run_whose_completions_are_shipped() -> None:
    rows = SCORES.findall(LOG)[:7]
    assert [task for task, *_ in rows] == [*read_example()["tasks"], ALL]
    for task, count, base, tuned, _ in rows:
        assert (int(count), base) == figures()["base", task][:2]
        assert (int(count), tuned) == figures()["tuned", task][:2]


@pytest.mark.parametrize("page", READMES)
def test_a_readmes_table_is_of_that_run(page: str) -> None:
    rows = [(re.findall(r"\w+", name)[0], *others) for name, *others in COUNTS.findall(read(page))]
    verdicts = {task: verdict for task, *_, verdict in SCORES.findall(LOG)[:7]}
    assert {task for task, *_ in rows[:-1]} == verdicts.keys() - {ALL}
    for name, *counts, verdict in rows:
        task = name if name in verdicts else ALL
        models = ("base", "tuned", "bag-of-words") if counts[-1] != "–" else ("base", "tuned")
        assert counts[: len(models)] == [str(figures()[model, task][2]) for model in models]
        assert verdict.startswith((verdicts[task], IN_PORTUGUESE[verdicts[task]]))
    assert {task for task, *_, classifier, _ in rows if classifier != "–"} == {"extraction", "sentiment", "churn"}


@pytest.mark.parametrize("page", READMES)
def test_a_readmes_scores_are_of_that_run(page: str) -> None:
    text = read(page).replace(",", ".")
    shown = [("base", ALL), ("tuned", ALL), ("tuned", "churn"), ("bag-of-words", "churn")]
    assert [key for key in shown if figures()[key][1] not in text] == []
    gain, low, high = re.findall(r"rose by ([\d.]+), 95 % interval (\S+) to (\S+)", LOG)[0]
    assert re.search(rf" {gain} \([^)]*{re.escape(low)} (?:to|a) {re.escape(high)}\)", text)


def test_both_readmes_give_the_same_figures() -> None:
    english, portuguese = (re.sub(r"\]\([^)]*\)|`[^`]*`", "", read(page)) for page in READMES)
    english = re.sub(r"(?<=\d),(?=\d{3}\b)", "", english)
    portuguese = re.sub(r"(?<=\d)\.(?=\d{3}\b)", "", portuguese).translate(str.maketrans(",", "."))
    assert set(re.findall(r"\d+(?:\.\d+)?", english)) == set(re.findall(r"\d+(?:\.\d+)?", portuguese))


def test_the_readmes_benchmarks_are_those_of_their_page() -> None:
    page, text = read("docs/benchmarks.md"), read("README.md")
    audits = dict(re.findall(r"^ (0\.\d\d) all four +4,000 +([\d.]+)%", page, re.MULTILINE))
    assert re.search(rf"8,000 .*\(rho 0\.50\).*{audits['0.50']} %.*\(0\.85\).*{audits['0.85']} %", text, re.DOTALL)
    share, count = re.findall(r"^ all +\S+ +(\S+)%.*\n of .*values +(\d+) values +\d+ values$", page, re.MULTILINE)[0]
    assert f"{share} % of {count} personal values" in text


@pytest.mark.parametrize("page", ["docs/quickstart.md", "docs/pt-BR/quickstart.md"])
def test_each_printed_line_of_a_quickstart_stands_in_the_log(page: str) -> None:
    blocks = re.findall(r"```text\n(.*?)```", read(page), re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if not line.startswith("...")]
    assert len(lines) > 10
    assert [line for line in lines if line not in LOG.splitlines()] == []


@pytest.mark.parametrize("page", READMES)
def test_the_recording_is_of_that_log_and_of_the_readmes_commands(page: str) -> None:
    assert "](docs/demo.svg)" in read(page)
    assert [line for line in LOG.splitlines() if line.startswith("$ ") and line not in read(page)] == []
    assert read("docs/demo.svg") == draw(LOG), "make demo draws it again"
