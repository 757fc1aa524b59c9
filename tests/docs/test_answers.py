"""The answers that the README shows are those of the shipped run to the prompt of each task's median gain."""

import re
from statistics import median_low

import pytest

from schemas.source import REPOSITORY
from tasks.evaluate.completions.page import read_example

ROW = re.compile(r"^\| (\w+): .* \| (.*) \(.*?: ([\d.,]+)\) \| .* \(([\d.,]+)\) \|$", re.MULTILINE)


@pytest.mark.parametrize("page", ["README.md", "README.pt-BR.md"])
def test_the_readme_shows_real_answers(page: str) -> None:
    rows = ROW.findall((REPOSITORY / page).read_text(encoding="utf-8"))
    assert [task for task, *_ in rows] == ["push", "insights", "churn"]
    for task, said, base, champion in rows:
        text, *rewards = _answer_of_the_median_gain(task)
        parts = [part for piece in said.replace("`", "").split("<br>") for part in piece.split("...")]
        assert all(part.strip() in text for part in parts), task
        assert [float(each.replace(",", ".")) for each in (base, champion)] == rewards


@pytest.mark.parametrize("page", ["README.md", "README.pt-BR.md"])
def test_the_readme_counts_the_right_answers(page: str) -> None:
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    run = read_example()
    answers = run["answers"]
    for name in ("base", "sft", "tuned"):
        model = run["models"].index(name)
        right = sum(truth for truth, of in zip(answers["truth"], answers["model"], strict=True) if of == model) / 10_000
        assert re.search(rf"\b{right:g}\b", text), name


def _answer_of_the_median_gain(task: str) -> tuple[str, float, float]:
    """Return base's answer, its reward and the champion's; of equal gains the prompt of the first id counts."""
    run = read_example()
    answers, prompts, texts = run["answers"], run["prompts"], run["texts"]["text"]
    of_model: dict[str, dict[int, int]] = {"base": {}, "tuned": {}}
    for row, (model, prompt) in enumerate(zip(answers["model"], answers["prompt"], strict=True)):
        if run["models"][model] in of_model and run["tasks"][prompts["task"][prompt]] == task:
            of_model[run["models"][model]][prompt] = row
    reward = answers["reward"]
    gains = {prompt: reward[of_model["tuned"][prompt]] - reward[row] for prompt, row in of_model["base"].items()}
    middle = median_low(gains.values())
    chosen = min((p for p, gain in gains.items() if gain == middle), key=lambda p: str(prompts["id"][p]))
    rows = of_model["base"][chosen], of_model["tuned"][chosen]
    base, champion = (round(reward[row] / 10_000, 3) for row in rows)
    return texts[answers["text"][rows[0]]], base, champion
