"""Answers of the log that feedback says are wrong: a correction that they do not match, or a low rating."""

from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final

import orjson
import polars as pl
from pydantic import BaseModel

from schemas.documents import Rollout
from schemas.tables.production_logs import LogFile, files_of_folder, read_feedback
from schemas.tasks import TaskName
from tasks.commerce.registry import TASKS
from tasks.serve.gateway.answer_log import SUFFIX

MAX_SHOWN: Final = 50
"""Most answers that are shown, the newest feedback first."""
DAYS: Final = 7
"""Days of log and feedback that are read."""
MAX_LOW_RATING: Final = 2
"""Highest rating, in stars, of a wrong answer."""
_LOGGED: Final = dict.fromkeys(("request_id", "prompt", "completion", "shown", "model_version"), pl.String)


class WrongAnswer(BaseModel):
    """An answer of the log with what feedback says of it."""

    request_id: str
    task: TaskName
    time: datetime
    """Time of the feedback."""
    model_version: str
    """The version that answered, as the log names it."""
    prompt: str
    shown: str | None
    """Text that was sent; None where nothing was."""
    rating: int | None
    reference: dict[str, Any] | None
    """The known part of the right answer."""


def wrong_answers(folder: Path) -> list[WrongAnswer]:
    """Return the newest wrong answers of a folder of logs; the newest feedback of a request counts."""
    found = files_of_folder(folder)
    said = read_feedback(found.feedback[-DAYS:]).sort("time").unique("request_id", keep="last")
    doubted = said.filter(pl.col("reference").is_not_null() | (pl.col("rating") <= MAX_LOW_RATING))
    if not doubted.height:
        return []
    logs = [file for file in found.files if file.path.suffix == SUFFIX and file.size][-DAYS:]
    answers = pl.concat([pl.DataFrame(schema=_LOGGED), *(_answers(file, doubted["request_id"]) for file in logs)])
    joined = doubted.join(answers, on="request_id").sort("time", "request_id", descending=[True, False])
    rows = ({**row, "reference": orjson.loads(row["reference"] or "null")} for row in joined.iter_rows(named=True))
    return [WrongAnswer.model_validate(row) for row in islice(filter(_is_wrong, rows), MAX_SHOWN)]


def _answers(file: LogFile, requests: pl.Series) -> pl.DataFrame:
    """Return the answers to some requests in a file of the log; a line that is being written is none of them."""
    with file.path.open("rb") as lines:
        table = pl.read_ndjson(lines.read(file.size), schema=_LOGGED)
    return table.filter(pl.col("request_id").is_in(requests.implode()))


def _is_wrong(row: dict[str, Any]) -> bool:
    """Return whether a rating is low, or a correction is another answer; any other query than the right one counts."""
    task, rating, reference = TASKS[row["task"]], row["rating"], row["reference"]
    if rating is not None and rating <= MAX_LOW_RATING:
        return True
    if reference is None:
        return False
    if task.name == "sql_qa":
        return bool(reference["sql"] != row["shown"])
    rollout = Rollout.model_validate({**row, "prompt_id": row["request_id"]})
    return task.metric([rollout], None).get(task.answer_metrics[-1], 0.0) < 1
