"""Answers that feedback says are wrong: by a low rating or a correction, the newest of a request."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from schemas.documents import Feedback
from tasks.serve.by_hand.wrong_answers import wrong_answers
from tasks.serve.gateway.answer_log import DailyFile, ServedAnswer

NOW: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
RIGHT: Final = {"polarity": "negative", "score": 1}


def logged(folder: Path, numbers: range, task: str = "sentiment", text: str = json.dumps(RIGHT)) -> list[str]:
    """Write a line of the log for each number, and return the requests."""
    log = DailyFile(folder, days=90)
    requests = [f"{task}-{number:032x}" for number in numbers]
    for request_id in requests:
        line: dict[str, Any] = {"request_id": request_id, "task": task, "prompt": "P", "completion": text}
        line |= {"time": NOW, "latency_ms": 5, "model_version": "shop/1", "valid": True, "checked": True}
        line |= {"reason": None, "shown": text, "guided": True, "tokens": 3}
        log.append(ServedAnswer.model_validate(line), NOW)
    log.close()
    return requests


def said(folder: Path, *lines: tuple[str, dict[str, Any]]) -> None:
    """Write feedback, a minute between two lines."""
    file = DailyFile(folder / "feedback", days=90)
    for minute, (request_id, known) in enumerate(lines):
        time = NOW + timedelta(minutes=minute)
        file.append(Feedback(request_id=request_id, time=time, **known), time)
    file.close()


def test_a_low_rating_or_a_correction_is_listed_and_a_confirmation_is_not(tmp_path: Path) -> None:
    first, second, third, fourth, fifth = logged(tmp_path, range(5))
    said(
        tmp_path,
        (first, {"rating": 2}),
        (second, {"rating": 3}),
        (third, {"reference": RIGHT}),
        (fourth, {"reference": RIGHT | {"polarity": "positive"}}),
        # The newest word counts.
        (fifth, {"rating": 1}),
        (fifth, {"rating": 5}),
        ("sentiment-" + "f" * 32, {"rating": 1}),
    )
    found = wrong_answers(tmp_path)
    assert [each.request_id for each in found] == [fourth, first]
    assert (found[0].prompt, json.loads(found[0].shown or ""), found[0].model_version) == ("P", RIGHT, "shop/1")
    assert found[0].reference == RIGHT | {"polarity": "positive"}
    assert (found[1].rating, found[1].time) == (2, NOW)


def test_another_query_than_the_right_one_is_listed_and_a_folder_without_feedback_has_none(tmp_path: Path) -> None:
    assert wrong_answers(tmp_path) == []
    same, other = logged(tmp_path, range(2), "sql_qa", "SELECT 1")
    said(tmp_path, (same, {"reference": {"sql": "SELECT 1"}}), (other, {"reference": {"sql": "SELECT 2"}}))
    assert [each.request_id for each in wrong_answers(tmp_path)] == [other]


def test_a_line_that_is_being_written_and_other_files_are_passed_over(tmp_path: Path) -> None:
    (request_id,) = logged(tmp_path, range(1))
    said(tmp_path, (request_id, {"rating": 1}))
    (file,) = tmp_path.glob("*.jsonl")
    with file.open("a") as half:
        half.write('{"request_id":"sentiment-0')
    (tmp_path / "kept.parquet").write_bytes(b"no table")
    assert [each.request_id for each in wrong_answers(tmp_path)] == [request_id]
