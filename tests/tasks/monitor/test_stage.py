import itertools
import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows.stages.monitor import scrubbed_texts
from schemas.config.serve import MonitorConfig
from schemas.tables.production_logs import LogFiles, log_files
from schemas.tasks import TaskName
from tasks.monitor.logs import EARLIER
from tasks.monitor.stage import ANSWERS_FILE, DAILY_FILE, REPORT_TEXT, ServingChampion, read_monitoring, run
from tests.source_records import executed_modules, outside_key
from tests.tasks.monitor.logged import NOW, answer, asked, write_log
from tests.tasks.monitor.test_scoring import here

pytestmark = pytest.mark.slow

CPF = "529.982.247-25"
GARBAGE = "Prezado cliente, segue em anexo a proposta comercial para a sua apreciação."
REFERENCE = {"product": "vaso de cerâmica", "offer": "20% de desconto"}
LIKED = {"polarity": "positive", "score": 5}
ONE_OFF = '{"polarity": "positive", "score": 4}'
READING: dict[str, Any] = {"task": "sentiment", "prompt": "Analise.\nAvaliação: Adorei", "completion": ONE_OFF}
"""A request whose answer only a reference can tell from a wrong one; the champion's is a star off."""
WRONG_READING = READING | {"completion": '{"polarity": "negative", "score": 1}'}


def champion(folder: Path) -> ServingChampion:
    """Make a champion that answers pushes well, and sentiment nearly so."""
    offers = ({**REFERENCE, "offer": f"{number + 10}% de desconto"} for number in range(60))
    pushes = [{"prompt_id": f"p{n}", "task": "push", "reference": offer, **asked(n)} for n, offer in enumerate(offers)]
    readings = [
        {**READING, "prompt_id": f"s{number}", "prompt": f"{READING['prompt']} {number}", "reference": LIKED}
        for number in range(60)
    ]
    rollouts = write_log(folder / "rollouts.jsonl", [*pushes, *readings])
    return ServingChampion(
        model="tucano2-commerce",
        version="3",
        alias="champion",
        spec="grounded",
        answers=rollouts,
        store=None,
        promoted_at=NOW - timedelta(days=200),
    )


def look(folder: Path, lines: Sequence[dict[str, Any]], who: ServingChampion | None = None) -> Path:
    return look_at(folder, log_files(write_log(folder / "log.jsonl", lines)), who)


def look_at(folder: Path, files: LogFiles, who: ServingChampion | None = None, **config: Any) -> Path:
    """Monitor logs; return the folder of what was found and written."""
    output = folder / "out"
    output.mkdir()
    how: dict[str, Any] = {"scrub": scrubbed_texts, "map_chunks": here, "now": NOW}
    drift = run(files, files.digests(), MonitorConfig(**config), who or champion(folder), **how, output=output)
    assert read_monitoring(output)["drift"]["found"] is drift.found
    return output


def of_split(who: ServingChampion, task: TaskName) -> list[dict[str, Any]]:
    lines = map(json.loads, who.answers.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line["task"] == task]


def days_of(count: int, each: int = 60, **values: Any) -> list[dict[str, Any]]:
    return [answer(days_ago=day + number / 1000, **values) for day in range(count) for number in range(each)]


def test_a_champion_that_answers_as_before_has_no_drift_and_the_same_logs_give_the_same_bytes(tmp_path: Path) -> None:
    # What its predecessor answered does not count against it.
    before = [answer(days_ago=9 + number / 1000, completion=GARBAGE) for number in range(60)]
    written = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        new = replace(champion(tmp_path / name), promoted_at=NOW - timedelta(days=8.5))
        with executed_modules() as ran:
            looked = look(tmp_path / name, [*days_of(8, 20), *days_of(8, 20, **READING), *before], new)
        written.append({file.name: file.read_bytes() for file in looked.iterdir()})
    assert written[0] == written[1]
    assert written[0].keys() == {ANSWERS_FILE, DAILY_FILE, "drift.json", "report.html", "report.md"}
    assert "tasks.monitor.drift" in ran
    assert outside_key(ran, "flows.stages.monitor") == []
    assert read_monitoring(looked)["drift"]["found"] is False
    assert (read_monitoring(looked)["logs"]["answers"], read_monitoring(looked)["logs"]["left_out"]) == (
        320,
        {EARLIER: 60},
    )
    text = (looked / REPORT_TEXT).read_text(encoding="utf-8")
    # Nothing here was scored with a reference: that the answers are right is said of pushes only, which need none.
    assert "nothing is shown to be worse than at its evaluation; of sentiment only the form is known" in text
    assert text.count("wrong answers of the right form are not detected") == 1
    assert "| push | as promised | reward " in text
    assert "| sentiment | form as before | form " in text


@pytest.mark.parametrize(
    ("last", "verdict"),
    [
        ([True] * 20, "as promised"),
        ([True] * 5, "too few to tell"),
        ([True, False, False, False, False, False, False], "too few to tell"),
        ([True] * 34 + [False] * 6, "lower that day"),
    ],
)
def test_verdict_on_the_last_day_needs_enough_answers(last: list[bool], verdict: str, tmp_path: Path) -> None:
    """A day of 7 answers was green whose own interval excluded the evaluation's mean."""
    own = [
        answer(days_ago=number / 1000, **({} if good else {"completion": GARBAGE})) for number, good in enumerate(last)
    ]
    looked = look(
        tmp_path, [*own, *(answer(days_ago=1 + day + number / 1000) for day in range(9) for number in range(40))]
    )
    assert read_monitoring(looked)["drift"]["found"] is False
    assert f"| push | {verdict} |" in (looked / REPORT_TEXT).read_text(encoding="utf-8")
    page = (looked / "report.html").read_text(encoding="utf-8")
    assert ('<span class="badge promised">' in page) == (verdict == "as promised")


def test_a_day_above_its_evaluation_is_not_green(tmp_path: Path) -> None:
    exact = READING | {"completion": '{"polarity": "positive", "score": 5}', "reference": LIKED}
    page = (look(tmp_path, days_of(2, **exact)) / "report.html").read_text(encoding="utf-8")
    assert '<span class="badge higher-that-day">' in page
    assert 'class="promised">' not in page


def test_like_is_compared_with_like_with_references_and_without(tmp_path: Path) -> None:
    promised = {}
    for name, reference in (("with", LIKED), ("without", None)):
        folder = tmp_path / name
        folder.mkdir()
        # Good in form: only a reference can tell.
        looked = look(folder, days_of(6, **WRONG_READING, reference=reference))
        promised[name] = read_monitoring(looked)["baselines"]["sentiment"]["mean"]
        assert read_monitoring(looked)["drift"]["found"] is (name == "with")
        assert any("not every answer has a reference" in note for note in read_monitoring(looked)["notes"]) is (
            name == "without"
        )
    assert promised["with"] < promised["without"] == 1.0


def measures(looked: Path) -> set[str]:
    """Return what has an alarm."""
    return {each["measure"] for each in read_monitoring(looked)["drift"]["series"] if each["alarm"]}


@pytest.mark.parametrize("instead", ["Desculpe, mas não posso ajudar com isso.", "{}"])
def test_refusals_and_empty_answers_are_found_in_a_task_that_was_never_good(tmp_path: Path, instead: str) -> None:
    poor = "Prezado, segue a proposta."
    who, lines = champion(tmp_path), days_of(1, completion=poor)
    write_log(who.answers, [{**line, "completion": poor} for line in of_split(who, "push")])
    assert measures(look(tmp_path, lines, who)) == set()
    shutil.rmtree(tmp_path / "out")
    refused = [{**line, "completion": instead} if number % 10 else line for number, line in enumerate(lines)]
    looked = look(tmp_path, refused, who)
    assert "answered" in measures(looked)
    (reason,) = read_monitoring(looked)["drift"]["reasons"]
    assert "90 more of 100 answers are empty or a refusal than at the evaluation" in reason


@pytest.mark.parametrize(("reading", "found"), [(READING, set()), (WRONG_READING, {"reference"})])
def test_logged_references_are_compared(tmp_path: Path, reading: dict[str, Any], found: set[str]) -> None:
    lines = days_of(4, **reading)
    looked = look(tmp_path, [{**line, "reference": None if number % 4 else LIKED} for number, line in enumerate(lines)])
    assert measures(looked) == found
    (known,) = read_monitoring(looked)["known"]
    assert (known["task"], known["answers"]) == ("sentiment", 60)
    assert read_monitoring(looked)["rewards"]["with_references"] == []


@pytest.mark.parametrize(("sample", "found"), [(False, set()), (True, {"reference"})])
def test_feedback_is_a_sample_only_if_configured(tmp_path: Path, sample: bool, found: set[str]) -> None:
    is_wrong = [number % 10 == 0 for number in range(400)]
    lines = [
        answer(days_ago=number / 100, request_id=f"sentiment-{number:032x}", **(WRONG_READING if bad else READING))
        for number, bad in enumerate(is_wrong)
    ]
    logs = tmp_path / "logs"
    (logs / "feedback").mkdir(parents=True)
    write_log(logs / "log.jsonl", lines)
    corrections = [
        {"request_id": line["request_id"], "time": NOW.isoformat(), "rating": 2, "reference": LIKED | {"note": CPF}}
        for line in itertools.compress(lines, is_wrong)
    ]
    unknown = corrections[0] | {"request_id": f"sentiment-{'b' * 32}"}
    write_log(logs / "feedback" / "said.jsonl", [*corrections, unknown])
    looked = look_at(tmp_path, log_files(logs), feedback_is_a_sample=sample)
    assert measures(looked) == found
    assert [known["answers"] for known in read_monitoring(looked)["known"]] == [40] * sample
    assert read_monitoring(looked)["ratings"] == {"sentiment": {"mean": 2.0, "answers": 40}}
    assert CPF not in repr(pl.read_parquet(looked / ANSWERS_FILE).to_dicts())
    feedback = {"lines": 41, "references": 40, "ratings": 40, "unknown": 1}
    assert read_monitoring(looked)["logs"]["feedback"] == feedback
