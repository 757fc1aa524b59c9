"""Feedback: joined to the answer that it is about, the newest word last, and nothing lost in silence."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from schemas.config.monitor import MonitorConfig
from schemas.errors import InputError
from schemas.tables.feedback import FeedbackCounts, with_feedback
from schemas.tables.log_file import log_files
from tasks.monitor.logs import Logs, read_logs
from tasks.monitor.ratings import ratings_of
from tests.tasks.monitor.logged import NOW, answer, write_log

CHAMPION = ("tucano2-commerce/3", "tucano2-commerce@champion")
ONE, OTHER, THIRD = (f"push-{digit * 32}" for digit in "123")


def said(request: str, minutes: int = 1, **values: Any) -> dict[str, Any]:
    return {"request_id": request, "time": f"2026-03-10T11:{minutes:02}:00Z", **values}


def of(product: str) -> dict[str, Any]:
    return {"product": product, "offer": "20% de desconto"}


def look(folder: Path, answers: Sequence[dict[str, Any]], *files: Sequence[dict[str, Any]], **config: Any) -> Logs:
    write_log(folder / "2026-03-10.jsonl", answers)
    (folder / "feedback").mkdir(exist_ok=True)
    for number, lines in enumerate(files):
        write_log(folder / "feedback" / f"{number}.jsonl", lines)
    found = log_files(folder)
    return read_logs(found, found.digests(), MonitorConfig(**config), CHAMPION, None, NOW)


def known(logs: Logs) -> list[tuple[Any, Any]]:
    """Return the reference's product and the rating of each answer, by time."""
    rows = logs.table.select("reference", "rating").iter_rows()
    return [(json.loads(reference)["product"] if reference else None, rating) for reference, rating in rows]


def test_each_answer_gets_what_became_known_of_it_and_no_other(tmp_path: Path) -> None:
    answers = [answer(request_id=ONE, days_ago=2), answer(request_id=OTHER, days_ago=1, rating=2), answer()]
    logs = look(tmp_path, answers, [said(ONE, reference=of("vaso")), said(ONE, rating=5)])
    assert known(logs) == [("vaso", 5), (None, 2), (None, None)]
    assert logs.feedback == FeedbackCounts(lines=2, references=1, ratings=1, unknown=0)


def test_the_newest_line_counts_of_references_and_of_ratings_each(tmp_path: Path) -> None:
    # Later in time, whichever file it is in; of one time, whichever line comes last.
    first = [said(ONE, 30, reference=of("new")), said(ONE, 30, rating=4), said(ONE, 30, rating=3)]
    logs = look(tmp_path, [answer(request_id=ONE)], first, [said(ONE, 20, reference=of("old"), rating=1)])
    assert known(logs) == [("new", 3)]


def test_a_reference_that_the_log_has_stays_since_people_chose_what_to_correct(tmp_path: Path) -> None:
    answers = [
        answer(request_id=ONE, days_ago=1, reference=of("logged"), rating=1),
        answer(request_id=OTHER, rating=1),
    ]
    logs = look(tmp_path, answers, [said(each, reference=of("corrected"), rating=5) for each in (ONE, OTHER)])
    assert known(logs) == [("logged", 5), ("corrected", 5)]
    assert logs.table["known_before"].to_list() == [True, False]
    assert logs.feedback == FeedbackCounts(lines=2, references=1, ratings=2, unknown=0)


def test_elsewhere_a_correction_takes_the_place_of_the_logs_reference() -> None:
    schema = {"request_id": pl.String, "task": pl.String, "reference": pl.String, "rating": pl.Int64}
    answers = pl.DataFrame([(ONE, "push", "logged", None)], schema=schema, orient="row")
    feedback = answers.with_columns(time=pl.lit(NOW), reference=pl.lit("corrected"))
    joined, counts = with_feedback(answers, feedback)
    assert joined["reference"].to_list() == ["corrected"]
    assert counts.references == 1


def test_requests_that_the_logs_do_not_have_are_counted_and_those_of_other_days_are_not_unknown(tmp_path: Path) -> None:
    answers = [answer(request_id=ONE, days_ago=9), answer(), answer(request_id=THIRD, task="sentiment")]
    logs = look(tmp_path, answers, [said(each, rating=1) for each in (ONE, OTHER, OTHER, THIRD)], days=2)
    # The third names a push, and is none.
    assert logs.feedback == FeedbackCounts(lines=4, references=0, ratings=1, unknown=2)
    assert logs.table["rating"].count() == 0


def test_a_faulty_line_and_one_that_is_yet_to_come_are_refused_with_file_and_line(tmp_path: Path) -> None:
    answers = [answer(request_id=ONE)]
    with pytest.raises(InputError, match=r"feedback .*0\.jsonl.*line 2: .*neither reference nor rating"):
        look(tmp_path, answers, [said(ONE, rating=1), said(ONE)])
    with pytest.raises(InputError, match=r"feedback .*0\.jsonl: line 2 is of 2026-03-11 09:00 UTC, which is yet"):
        look(tmp_path, answers, [said(ONE, rating=1), said(ONE, rating=1) | {"time": "2026-03-11T09:00:00Z"}])


def test_the_digests_tell_feedback_from_logs_and_change_with_it(tmp_path: Path) -> None:
    look(tmp_path, [answer(request_id=ONE)], [said(ONE, rating=1)])
    before = log_files(tmp_path).digests()
    assert before.keys() == {"2026-03-10.jsonl", "feedback/0.jsonl"}
    file = tmp_path / "feedback" / "0.jsonl"
    # A line without an end is left to the next run, and an empty or hidden file is none.
    file.write_bytes(file.read_bytes() + b'{"request_id": "pu')
    (tmp_path / "feedback" / "1.jsonl").touch()
    (tmp_path / "feedback" / ".2.jsonl").write_text("{}\n", encoding="utf-8")
    assert log_files(tmp_path).digests() == before
    write_log(file, [said(ONE, rating=2)])
    assert log_files(tmp_path).digests() != before


def test_feedback_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    look(tmp_path, [answer(request_id=ONE)], [said(ONE, rating=1)])
    found = log_files(tmp_path)
    digests = found.digests()
    write_log(tmp_path / "feedback" / "0.jsonl", [said(ONE, rating=2)])
    with pytest.raises(InputError, match="were changed while they were read"):
        read_logs(found, digests, MonitorConfig(), CHAMPION, None, NOW)


def test_ratings_are_shown_by_task_where_there_are_any() -> None:
    rows = [("push", 5), ("push", 2), ("push", None), ("churn", None), ("sentiment", 1)]
    answers = pl.DataFrame(rows, schema={"task": pl.String, "rating": pl.Int64}, orient="row")
    assert ratings_of(answers) == {"push": {"mean": 3.5, "answers": 2}, "sentiment": {"mean": 1.0, "answers": 1}}
