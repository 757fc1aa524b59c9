"""The evaluation of several training seeds, a champion and rivals: who is compared with whom, and what is written."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from schemas.config.config import AUDIT_FOLDER
from schemas.config.evaluate import RUNGS, EvaluateConfig, RivalConfig
from schemas.tables.prompts import PromptRow
from tasks.bag_of_words.bag import read_bags
from tasks.evaluate import stage
from tasks.evaluate.answers.files import GENERAL_FOLDER, Answer, Batch, write_answers
from tasks.evaluate.compare import Comparison, metrics_of_report, scores_file
from tasks.evaluate.general.instructions import as_rows, instructions
from tasks.evaluate.report.background import Background, Looks
from tasks.personal_data.scrub import scrub_column
from tasks.policy.generate import StopReason
from tests.source_records import executed_modules, outside_key
from tests.tasks.curate.prompt_rows import prompt_row

pytestmark = pytest.mark.slow

RIGHT = '{"polarity": "positive", "score": 5}'
WRONG = "gostei"
ROWS: tuple[PromptRow, ...] = tuple(prompt_row("sentiment", f"Avaliação {name}") for name in "abcdefghijkl")


UNLIMITED = EvaluateConfig(resamples=1000, floors={"sentiment": {}}, min_variety=0)
"""All references are one: without floors and variety the scores alone count."""
RIVAL = RivalConfig(name="rival-70b", url="http://127.0.0.1:1/v1", model="large", body={"reasoning_effort": "low"})


def write(folder: Path, right: int, samples: int = 1, max_tokens: int = 64) -> Path:
    """Write a model's answers to twelve prompts, of which the first ones are right."""
    texts = [RIGHT if index < right else WRONG for index in range(len(ROWS))]
    return write_texts(folder, ROWS, texts, samples, f"temperature 0.1, at most {max_tokens} tokens")


def write_texts(
    folder: Path, rows: Sequence[PromptRow], texts: Sequence[str], samples: int = 1, decoding: str = "temperature 0.1"
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    stopped = StopReason.END_OF_TURN
    answers = tuple(Answer(index=at, text=text, tokens=7, stop_reason=stopped) for at, text in enumerate(texts))
    batches = [Batch(sample=sample, number=0, seconds=6.0, answers=answers) for sample in range(samples)]
    write_answers(folder, rows, batches, decoding, ours=True)
    return folder


def run(
    folder: Path,
    tuned: Mapping[int, int],
    *,
    chosen: int = 1,
    base: int = 1,
    samples: int = 1,
    left_out: Mapping[str, str] = MappingProxyType({}),
    **changes: Any,
) -> Comparison:
    """Evaluate models by how many of their answers are right, with what else an evaluation has."""
    output = folder / "evaluation"
    output.mkdir()
    looks = Looks(1, "2026-01-01T00:00:00+00:00", "2026-01-01T00:01:00+00:00", None)
    fields: dict[str, Any] = {
        "config": UNLIMITED,
        "store": AUDIT_FOLDER / "store",
        "training": (),
        "base": write(folder / "base", base, samples),
        "tuned": {seed: write(folder / f"tuned-{seed}", right, samples) for seed, right in tuned.items()},
        "known": Background(identities={"dataset": "d" * 64}, looks=looks, left_out=left_out),
        "scrub": scrub_column,
    }
    return stage.run(
        stage.Evaluation(spec="grounded", seed=99, chosen_seed=chosen, output=output, **(fields | changes))
    )


def report(folder: Path) -> Any:
    return json.loads((folder / "evaluation" / "report.json").read_text(encoding="utf-8"))


def scores(folder: Path, name: str) -> list[dict[str, Any]]:
    text = (folder / "evaluation" / scores_file(name)).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def test_each_score_carries_its_seed_its_sample_its_truth_and_how_it_was_drawn(tmp_path: Path) -> None:
    run(tmp_path, {42: 6, 123: 12}, chosen=123, samples=2)
    tuned = scores(tmp_path, "tuned")
    prompts = [row.prompt_id for row in ROWS]
    assert [(each["seed"], each["sample"], each["prompt_id"]) for each in tuned] == [
        (seed, sample, prompt) for seed in (42, 123) for sample in (0, 1) for prompt in prompts
    ]
    assert {each["seed"] for each in scores(tmp_path, "base")} == {99}
    assert [each["truth"] for each in tuned[:12]] == [1.0] * 6 + [0.0] * 6
    assert {each["decoding"] for each in tuned} == {"temperature 0.1, at most 64 tokens"}
    # The metrics are the chosen policy's.
    metrics = json.loads((tmp_path / "evaluation" / stage.METRICS_FILE).read_text(encoding="utf-8"))
    assert metrics["sentiment"]["accuracy"] == {"base": pytest.approx(1 / 12), "tuned": 1.0, "echo": 0.0}


def test_seeds_that_gain_together_hold_a_chosen_one_that_is_no_good_alone(tmp_path: Path) -> None:
    gate = run(tmp_path, {1: 6, 2: 12, 3: 12}, base=5).gate
    assert gate.verdict == "hold"
    assert [reason for reason in gate.reasons if reason.startswith("with seed 1 alone (it would be promoted)")]
    assert not any("seed 2" in reason for reason in gate.reasons)


@pytest.mark.parametrize(("right", "is_said"), [(6, True), (11, False)])
def test_better_classifier_opens_the_report(right: int, is_said: bool, tmp_path: Path) -> None:
    training = [prompt_row("sentiment", f"Avaliação antiga {number}") for number in range(20)]
    blame = {"polarity": "negative", "score": 1}
    training += [prompt_row("sentiment", f"péssimo {number}", blame) for number in range(30)]
    comparison = run(tmp_path, {1: right}, training=training)
    text = (tmp_path / "evaluation" / "report.md").read_text(encoding="utf-8")
    sentence = f"is right in 12 of 12, and the tuned model in {right}"
    assert (sentence in "\n".join(text.splitlines()[:6])) == is_said
    assert any("`bag-of-words` (from 50 rows)" in reason for reason in comparison.gate.reasons)
    assert len(scores(tmp_path, "bag-of-words")) == 12
    assert read_bags(tmp_path / "evaluation")["sentiment"].answer("Avaliação nova") == RIGHT.replace(" ", "")


@pytest.mark.parametrize(("wrong", "form"), [('{"polarity": "positive", "score": 5,}', True), ("gostei", False)])
def test_gain_of_repaired_json_is_form(wrong: str, form: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.WRONG", wrong)
    comparison = run(tmp_path, {1: 11}, base=2)
    text = (tmp_path / "evaluation" / "report.md").read_text(encoding="utf-8")
    sentence = "9 of the 9 right answers gained (sentiment) are form"
    assert (sentence in text.splitlines()[2]) == any(sentence in each for each in comparison.gate.reasons) == form
    assert ("(base: 2; with its JSON repaired: 12)" in text) == form
    metrics = json.loads((tmp_path / "evaluation" / stage.METRICS_FILE).read_text(encoding="utf-8"))
    assert (metrics["sentiment"].get("accuracy_repaired", {}).get("base") == 1.0) == form


def test_rivals_are_shown_with_a_budget_of_their_own_and_decide_nothing(tmp_path: Path) -> None:
    rivals = [
        stage.ShownModel(
            name,
            write(tmp_path / name, right, max_tokens=4096),
            "large at an endpoint",
            RIVAL.model_copy(update={"name": name}),
        )
        for name, right in {"rival-70b": 12, "rival-8b": 3}.items()
    ]
    gate = run(tmp_path, {1: 9}, others=rivals).gate
    assert gate.verdict == "promote"
    others = report(tmp_path)["others"]
    assert others["rival-70b"]["overall"]["mean_difference"] < 0 < others["rival-8b"]["overall"]["mean_difference"]
    assert others["rival-70b"]["description"] == (
        'large at an endpoint (temperature 0.1, at most 4096 tokens, with {"reasoning_effort": "low"} in each request)'
    )
    assert {each["decoding"] for each in scores(tmp_path, "rival-8b")} == {"temperature 0.1, at most 4096 tokens"}
    assert [each["model"] for each in report(tmp_path)["serving"]] == ["base", "tuned", "rival-70b", "rival-8b"]
    assert not any("rival" in reason for reason in gate.reasons)


def test_rungs_stand_on_a_ladder_with_their_cost(tmp_path: Path) -> None:
    left_out = {"base-guided": "the memory is full"}
    rungs = {name: write(tmp_path / name, 6) for name in RUNGS}
    found = run(tmp_path, {7: 10}, chosen=7, base=4, rungs=rungs, left_out=left_out)
    document = report(tmp_path)
    assert list(document["ladder"]) == list(RUNGS)
    for rung in document["ladder"].values():
        assert rung["overall"]["mean_base"] == pytest.approx(found.overall.mean_base * 6 / 4)
        assert rung["overall"]["mean_tuned"] == found.overall.mean_tuned
        assert rung["draws"] == 1
    assert {served["model"] for served in document["serving"]} == {"base", "tuned", *RUNGS}
    assert document["left_out"] == left_out
    for name in ("report.md", "report.html"):
        text = (tmp_path / "evaluation" / name).read_text(encoding="utf-8")
        assert "What is to be had for less" in text
        assert "Left out, since it failed: base-guided: the memory is full." in text


def test_a_better_champion_holds_and_the_same_answers_give_the_same_bytes_by_keyed_code(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        with executed_modules() as ran:
            champion = write(tmp_path / name / "champion", 12)
            gate = run(tmp_path / name, {1: 7, 2: 9}, champion=champion).gate
    assert "tasks.evaluate.stats.statistics" in ran
    assert outside_key(ran, "flows.stages.evaluate") == []
    assert gate.verdict == "hold"
    assert any("champion" in reason for reason in gate.speaks_against)
    assert report(tmp_path / "first")["gate"] == gate.report()
    assert report(tmp_path / "first")["champion"]["overall"]["mean_difference"] < 0
    files = {file.relative_to(tmp_path / "first"): file for file in (tmp_path / "first/evaluation").rglob("*.*")}
    assert {"report.json", "report.html", "report.md", "base.scores.jsonl"} <= {path.name for path in files}
    for path, file in files.items():
        assert file.read_bytes() == (tmp_path / "second" / path).read_bytes(), path


@pytest.mark.parametrize(("every", "verdict"), [(2, "promote"), (6, "hold")])
def test_lost_general_instructions_hold(every: int, verdict: str, tmp_path: Path) -> None:
    rows, known = as_rows(["sentiment"]), instructions()
    for name, followed in {"base": 2, "tuned-1": every}.items():
        texts = [each.wrong if number % followed else each.right for number, each in enumerate(known)]
        write_texts(tmp_path / name / GENERAL_FOLDER, rows, texts)
    gate = run(tmp_path, {1: 12}, config=UNLIMITED.model_copy(update={"general": "require"})).gate
    assert gate.verdict == verdict
    general = report(tmp_path)["general"]
    assert (general["stats"]["mean_base"], general["stats"]["mean_tuned"]) == (1 / 2, pytest.approx(1 / every))
    assert general["finding"] in gate.reasons
    assert metrics_of_report(report(tmp_path))["general.mean_tuned"] == pytest.approx(1 / every)


def test_prompts_without_reference_count_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    untold = [replace(row, reference={"polarity": None, "score": None}) for row in ROWS[:3]]
    monkeypatch.setattr(f"{__name__}.ROWS", (*untold, *ROWS[3:]))
    gate = run(tmp_path, {1: 12}).gate
    assert report(tmp_path)["tasks"]["sentiment"]["n_prompts"] == len(ROWS) - 3
    assert len(scores(tmp_path, "tuned")) == len(ROWS) - 3
    assert gate.reasons[-1] == "3 of 12 test prompts of sentiment have no reference and count for nothing"
