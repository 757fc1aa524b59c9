import itertools
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from flows.stages.monitor import scrubbed_texts
from schemas.config.serve import MonitorConfig
from schemas.tables.production_logs import LogFiles, log_files
from schemas.tasks import TaskName
from tasks.monitor.drift import Drift
from tasks.monitor.logs import EARLIER
from tasks.monitor.stage import (
    ANSWERS_FILE,
    COLUMNS,
    DAILY_FILE,
    REPORT_TEXT,
    ServingChampion,
    read_monitoring,
    run,
)
from tests.source_records import executed_modules, outside_key
from tests.tasks.monitor.logged import NOW, PUSH_PROMPT, answer, asked, write_log
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


@dataclass(frozen=True)
class Looked:
    """What monitoring found and wrote."""

    drift: Drift
    folder: Path

    @property
    def found(self) -> Any:
        return read_monitoring(self.folder)

    @property
    def answers(self) -> pl.DataFrame:
        return pl.read_parquet(self.folder / ANSWERS_FILE)


def champion(folder: Path) -> ServingChampion:
    """Make a champion that answers pushes well, and sentiment nearly so."""
    pushes = [
        {
            "prompt_id": f"p{number}",
            "task": "push",
            "reference": REFERENCE | {"offer": f"{number + 10}% de desconto"},
            **asked(number),
        }
        for number in range(60)
    ]
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


def look(folder: Path, lines: Sequence[dict[str, Any]], who: ServingChampion | None = None, **config: Any) -> Looked:
    return look_at(folder, log_files(write_log(folder / "log.jsonl", lines)), who, **config)


def look_at(folder: Path, files: LogFiles, who: ServingChampion | None = None, **config: Any) -> Looked:
    output = folder / "out"
    output.mkdir()
    drift = run(
        files,
        files.digests(),
        MonitorConfig(**config),
        who or champion(folder),
        scrub=scrubbed_texts,
        map_chunks=here,
        now=NOW,
        output=output,
    )
    return Looked(drift, output)


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
        written.append({file.name: file.read_bytes() for file in looked.folder.iterdir()})
    assert written[0] == written[1]
    assert written[0].keys() == {ANSWERS_FILE, DAILY_FILE, "drift.json", "report.html", "report.md"}
    assert "tasks.monitor.drift" in ran
    assert outside_key(ran, "flows.stages.monitor") == []
    assert looked.found["drift"]["found"] is looked.drift.found is False
    assert (looked.found["logs"]["answers"], looked.found["logs"]["left_out"]) == (320, {EARLIER: 60})
    text = (looked.folder / REPORT_TEXT).read_text(encoding="utf-8")
    # Nothing here was scored with a reference: that the answers are right is said of pushes only, which need none.
    assert "nothing is shown to be worse than at its evaluation; of sentiment only the form is known" in text
    assert text.count("wrong answers of the right form are not detected") == 1
    assert "| push | as promised | reward |" in text
    assert "| sentiment | form as before | form |" in text


@pytest.mark.parametrize(
    ("last", "verdict"),
    [
        ([True] * 20, "as promised"),
        ([True] * 5, "too few to tell"),
        ([True, False, False, False, False, False, False], "too few to tell"),
        ([True] * 34 + [False] * 6, "lower that day"),
    ],
)
def test_a_last_day_is_green_only_where_it_has_enough_answers_and_they_are_as_the_evaluations(
    last: list[bool], verdict: str, tmp_path: Path
) -> None:
    """A day of 7 answers was green whose own interval excluded the evaluation's mean."""
    own = [
        answer(days_ago=number / 1000, **({} if good else {"completion": GARBAGE})) for number, good in enumerate(last)
    ]
    looked = look(
        tmp_path, [*own, *(answer(days_ago=1 + day + number / 1000) for day in range(9) for number in range(40))]
    )
    assert looked.drift.found is False
    assert f"| push | {verdict} |" in (looked.folder / REPORT_TEXT).read_text(encoding="utf-8")
    page = (looked.folder / "report.html").read_text(encoding="utf-8")
    assert ('<span class="badge promised">' in page) == (verdict == "as promised")


def test_like_is_compared_with_like_with_references_and_without(tmp_path: Path) -> None:
    promised = {}
    for name, reference in (("with", LIKED), ("without", None)):
        folder = tmp_path / name
        folder.mkdir()
        # Good in form: only a reference can tell.
        looked = look(folder, days_of(6, **WRONG_READING, reference=reference))
        promised[name] = looked.found["baselines"]["sentiment"]["mean"]
        assert looked.found["drift"]["found"] is (name == "with")
        assert any("not every answer has a reference" in note for note in looked.found["notes"]) is (name == "without")
    assert promised["with"] < promised["without"] == 1.0


def test_written_answers_are_scrubbed_and_name_no_request(tmp_path: Path) -> None:
    telling: dict[str, Any] = {
        "prompt": f"{PUSH_PROMPT} para {CPF}",
        "completion": f"Oferta para {CPF}!",
        "model_version": "tucano2-commerce/3",
        "reference": {**REFERENCE, "note": CPF.replace("-", "\u2011"), "number": 52998224725},
    }
    others = [answer(model_version=f"de {CPF}")] * 2
    own = answer(model_version="tucano2-commerce/3", reference=REFERENCE)
    lines = [answer(request_id=f"pedido-{CPF}", prompt_id=CPF, **telling), own, *others]
    looked = look(tmp_path, lines)
    for file in looked.folder.rglob("*"):
        content = file.read_bytes() if file.is_file() else b""
        assert CPF.encode() not in content, file
        assert b"52998224725" not in content, file
    answers = looked.answers
    assert CPF not in repr(answers.to_dicts())
    assert dict(answers.schema).keys() == COLUMNS.keys()
    assert "Oferta" not in (looked.folder / "report.html").read_text(encoding="utf-8")
    assert "[CPF]" in answers["prompt"][0] + answers["prompt"][1]
    assert looked.found["logs"]["model_versions"] == {"de [CPF]": 2, "tucano2-commerce/3": 2}
    # The number is a text now, and the reference still one.
    assert answers["reference"].null_count() == 0
    assert looked.found["rewards"]["with_references"] == ["push"]


def measures(looked: Looked) -> set[str]:
    """Return what has an alarm."""
    return {each["measure"] for each in looked.found["drift"]["series"] if each["alarm"]}


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
    (reason,) = looked.found["drift"]["reasons"]
    assert "90 more of 100 answers are empty or a refusal than at the evaluation" in reason


@pytest.mark.parametrize(("reading", "found"), [(READING, set()), (WRONG_READING, {"reference"})])
def test_answers_whose_reference_the_log_knows_are_compared_by_it_though_others_have_none(
    tmp_path: Path, reading: dict[str, Any], found: set[str]
) -> None:
    lines = days_of(4, **reading)
    looked = look(tmp_path, [{**line, "reference": None if number % 4 else LIKED} for number, line in enumerate(lines)])
    assert measures(looked) == found
    (known,) = looked.found["known"]
    assert (known["task"], known["answers"]) == ("sentiment", 60)
    assert looked.found["rewards"]["with_references"] == []
    text = (looked.folder / REPORT_TEXT).read_text(encoding="utf-8")
    assert "60 answers with a reference have the mean reward" in text


@pytest.mark.parametrize(("sample", "found"), [(False, set()), (True, {"reference"})])
def test_corrected_answers_are_no_sample_unless_they_are_said_to_be_one(
    tmp_path: Path, sample: bool, found: set[str]
) -> None:
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
    assert [known["answers"] for known in looked.found["known"]] == [40] * sample
    assert looked.found["ratings"] == {"sentiment": {"mean": 2.0, "answers": 40}}
    assert CPF not in repr(looked.answers.to_dicts())
    for name in (REPORT_TEXT, "report.html"):
        text = (looked.folder / name).read_text(encoding="utf-8")
        assert "Ratings from 1 to 5, on average: sentiment 2.00 of 40 answers." in text
        assert "41 lines of feedback gave 40 answers a reference and 40 a rating; 1 requests in it are not" in text
