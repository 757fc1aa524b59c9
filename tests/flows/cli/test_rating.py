"""The page of raters: its views, each saved answer, and its token."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from schemas.documents import Rollout
from schemas.references import read_given
from tasks.audit.sheet import as_row, read_rows, write_rows
from tests.flows.command import in_this_process
from tests.prompt_tables import prompt_table
from tests.tasks.curate.prompt_rows import prompt_row

pytestmark = pytest.mark.integration
HOSTILE = "\x1b[2J <img src=x onerror=alert(1)> \u202e fim"


@dataclass
class Page:
    """A rater's browser."""

    http: httpx.Client
    token: str
    process: "subprocess.Popen[str]"

    def view(self) -> Any:
        return self.http.get(f"/{self.token}/view").json()

    def send(self, action: str, value: str = "", note: str = "", id: str | None = None) -> Any:  # noqa: A002
        body = {"id": self.view().get("id") if id is None else id, "action": action, "value": value, "note": note}
        return self.http.post(f"/{self.token}", json=body).json()


@contextmanager
def page(*arguments: str | Path) -> Iterator[Page]:
    command = [sys.executable, "-m", "flows", "audit", *map(str, arguments), "--rater", "ana", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            address = next(word for word in process.stderr.readline().split() if word.startswith("http"))
            place, _, token = address.rpartition("/")
            with httpx.Client(base_url=place, timeout=20) as http:
                yield Page(http, token, process)
        finally:
            process.kill()


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    rollouts = [Rollout(prompt_id=f"{n}", task="push", prompt=HOSTILE, completion=f"Oferta {n}") for n in range(3)]
    write_rows(tmp_path / "sheet.csv", [as_row(rollout, "random") for rollout in rollouts])
    return tmp_path / "sheet.csv"


def scored(sheet: Path) -> list[tuple[str, str, str]]:
    return [(row["human_score"], row["rater"], row["notes"]) for row in read_rows(sheet) if row["human_score"]]


def test_each_score_is_in_the_sheet_at_once_and_leaving_ends_the_command(sheet: Path) -> None:
    with page("label", sheet) as opened:
        first = opened.view()
        assert (first["left"], first["total"], first["task"], first["completion"]) == (3, 3, "push", "Oferta 0")
        assert first["prompt"] == "�[2J <img src=x onerror=alert(1)> \\u202e fim"
        assert "reward" not in first
        second = opened.send("answer", "4", " cafe\u0301\ncurto ")
        assert scored(sheet) == [("4", "ana", "café curto")]
        # Pressed twice, the key is no answer to the next one.
        assert opened.send("answer", "1", id=first["id"])["id"] == second["id"]
        assert opened.send("answer", "9")["left"] == 2
        assert opened.send("skip")["completion"] == "Oferta 2"
        assert opened.send("undo")["completion"] == "Oferta 1"
        assert opened.send("undo")["note"] == "café curto"
        assert scored(sheet) == []
        for score in "123":
            last = opened.send("answer", score)
        assert "id" not in last
        opened.send("leave")
        assert opened.process.wait(20) == 0
        assert "3 of 3 answers are given" in opened.process.communicate()[0]
    assert [score for score, _, _ in scored(sheet)] == ["1", "2", "3"]
    assert "3 of 3" in in_this_process("audit", "label", sheet, "--rater", "ana").stdout


def test_a_request_without_the_token_gets_nothing_and_a_signal_says_that_all_is_saved(sheet: Path) -> None:
    with page("label", sheet) as opened:
        for path in ("/", "/view", "/else", f"/{opened.token}x"):
            assert opened.http.get(path).status_code == 404
        assert opened.http.post("/", json={"id": "", "action": "leave"}).status_code == 404
        page_of = opened.http.get(f"/{opened.token}")
        assert (page_of.status_code, "NONCE" in page_of.text) == (200, False)
        assert f"script-src 'nonce-{opened.token}'" in page_of.headers["Content-Security-Policy"]
        sheet.unlink()
        assert "there is no sheet" in opened.send("answer", "3")["error"]
        opened.process.send_signal(signal.SIGINT)
        assert opened.process.wait(20) == 4
        assert "every answer is saved, and the same command resumes" in opened.process.communicate()[1]


def test_references_are_asked_field_by_field_and_may_be_written(tmp_path: Path) -> None:
    fields = dict.fromkeys(["sentiment", "sentiment_score", "churn_risk"], None)
    rows = [
        prompt_row("sentiment", "Veio quebrado", {"polarity": None, "score": 1}),
        prompt_row("extraction", "Atrasou", {"rating": 2, "fields": fields}),
    ]
    (tmp_path / "dataset" / "data").mkdir(parents=True)
    prompt_table(rows).write_parquet(tmp_path / "dataset" / "data" / "test.parquet")
    out = tmp_path / "references.jsonl"
    with page("references", tmp_path / "dataset", "--out", out) as opened:
        assert opened.view()["question"] == "Qual é o sentimento do cliente?"
        assert opened.send("answer", "1")["task"] == "extraction"
        while not opened.view()["written"]:
            opened.send("answer", "d")
        opened.send("write", "  chegou\ttarde ")
    values = {name: value for line in read_given(out) for name, value in line.values.items()}
    assert (values["polarity"], values["main_complaint"]) == ("negative", "chegou tarde")
