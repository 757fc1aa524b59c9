"""A rater's score is in the sheet at once and nothing else is changed, and what comes next is never a surprise."""

import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.tables.delimited import Dialect
from schemas.tasks import TASK_NAMES
from tasks.audit.labelling import SHOWN, Labelling, Rows, change_rows, rubric, with_score
from tasks.audit.sheet import Row, as_row, read_rows, read_with_dialect, write_rows

ROLLOUTS = tuple(
    Rollout(prompt_id=f"{task}-{prompt}", task=task, prompt=f"pedido {prompt}", completion=f"{task} {prompt}.{answer}")
    for task in TASK_NAMES[:2]
    for prompt in range(2)
    for answer in range(2)
)
BLANK: Rows = tuple(as_row(rollout, "random") for rollout in ROLLOUTS)
COMPLETIONS = [rollout.completion for rollout in ROLLOUTS]
FIRST, SECOND, THIRD = (row["audit_id"] for row in BLANK[:3])


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    return new_sheet(tmp_path)


def new_sheet(folder: Path) -> Path:
    path = folder / "sheet.csv"
    write_rows(path, BLANK)
    return path


def edit(sheet: Path, change: Callable[[list[dict[str, str]]], object]) -> None:
    rows = [dict(row) for row in read_rows(sheet)]
    change(rows)
    write_rows(sheet, rows)


def scores(rows: Rows) -> list[tuple[str, str, str]]:
    return [(row["completion"], row["rater"], row["human_score"]) for row in rows if row["human_score"]]


def now(labelling: Labelling) -> str:
    return labelling.current["completion"] if labelling.current else "nothing"


def score_all(labelling: Labelling, score: int = 3) -> list[str]:
    seen = []
    while labelling.current:
        seen.append(now(labelling))
        labelling.score(score)
    return seen


def test_the_first_score_fills_the_blank_row_and_a_second_rater_gets_a_row_behind(sheet: Path) -> None:
    Labelling(sheet, "ana").score(4, "quase")
    filled: Row = {**BLANK[0], "human_score": "4", "rater": "ana", "rater_kind": "human", "notes": "quase"}
    assert read_rows(sheet) == (filled, *BLANK[1:])
    second = Labelling(sheet, "bia")
    assert set(second.current or {}) == set(SHOWN) == {"audit_id", "task", "prompt", "completion"}
    assert second.note == ""
    second.score(2)
    assert read_rows(sheet)[:2] == (filled, {**filled, "human_score": "2", "rater": "bia", "notes": ""})
    changed = with_score(read_rows(sheet), FIRST, "ana", "human", 5, "")
    assert scores(changed) == [(COMPLETIONS[0], "ana", "5"), (COMPLETIONS[0], "bia", "2")]


def test_a_row_that_a_rater_began_in_a_spreadsheet_is_that_raters() -> None:
    begun: Rows = ({**BLANK[0], "rater": "bia"}, *BLANK[1:])
    assert len(with_score(begun, FIRST, "bia", "human", 3, "")) == len(BLANK)
    assert [row["rater"] for row in with_score(begun, FIRST, "ana", "human", 3, "")][:2] == ["bia", "ana"]


def test_a_restarted_session_resumes(sheet: Path) -> None:
    first = Labelling(sheet, "ana")
    first.score(1)
    first.skip()
    first.score(2)
    second = Labelling(sheet, "ana")
    assert (second.left, second.total) == (6, 8)
    assert score_all(second) == [COMPLETIONS[1], *COMPLETIONS[3:]]
    assert now(Labelling(sheet, "bia")) == COMPLETIONS[0]
    of_task = Labelling(sheet, "bia", TASK_NAMES[1])
    assert of_task.total == 4
    assert score_all(of_task) == COMPLETIONS[4:]


def test_skipped_completions_come_again_at_the_end_and_in_turn(sheet: Path) -> None:
    labelling = Labelling(sheet, "ana", TASK_NAMES[0])
    for act in ("skip", "score", "skip", "score"):
        labelling.skip() if act == "skip" else labelling.score(1)
    assert now(labelling) == COMPLETIONS[0]
    labelling.skip()
    assert score_all(labelling) == [COMPLETIONS[2], COMPLETIONS[0]]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from(["score", "skip", "undo"]), max_size=25))
def test_undo_leads_back_the_way_that_was_gone(acts: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sheet = new_sheet(Path(folder))
        Labelling(sheet, "bia").score(5)
        labelling = Labelling(sheet, "ana")
        path = [(labelling.current, labelling.left, sheet.read_bytes())]
        for act in acts:
            if act == "undo":
                assert labelling.undo() == (len(path) > 1)
                path = path[: max(1, len(path) - 1)]
            elif labelling.current:
                labelling.score(3) if act == "score" else labelling.skip()
                path.append((labelling.current, labelling.left, sheet.read_bytes()))
            assert (labelling.current, labelling.left, sheet.read_bytes()) == path[-1]


def test_a_note_comes_back_with_undo_and_may_be_taken_back(sheet: Path) -> None:
    labelling = Labelling(sheet, "ana", TASK_NAMES[0])
    labelling.score(4, "difícil")
    labelling.undo()
    assert (labelling.note, read_rows(sheet)[0]["notes"]) == ("difícil", "")
    labelling.score(4, "")
    assert read_rows(sheet)[0]["notes"] == ""


def test_edits_of_a_spreadsheet_meanwhile_stay(sheet: Path) -> None:
    labelling = Labelling(sheet, "ana")
    edit(sheet, lambda rows: rows[1].update(human_score="5", rater="ana", rater_kind="human"))
    edit(sheet, lambda rows: rows[5].update(human_score="5", rater="bia", rater_kind="human", notes="minha"))
    labelling.score(1)
    assert now(labelling) == COMPLETIONS[2]
    labelling.score(2)
    labelling.undo()
    row = read_rows(sheet)[5]
    assert (row["human_score"], row["rater"], row["notes"]) == ("5", "bia", "minha")


def test_a_name_or_an_address_is_refused_and_not_repeated(sheet: Path) -> None:
    names = ("Ana", "ana.souza", "ana@loja.com", "joão", "-ana", "", "ana souza", "a" * 32, "ana\n", "ana_1")
    for rater in names:
        with pytest.raises(InputError, match="pseudonym, no name or e-mail") as refused:
            Labelling(sheet, rater)
        assert not rater or rater not in str(refused.value).replace("a pseudonym", "")


def test_the_pseudonym_of_no_person_is_refused(sheet: Path) -> None:
    edit(sheet, lambda rows: rows[3].update(human_score="1", rater="robo", rater_kind="model"))
    with pytest.raises(InputError, match=r"rater robo is a model there.*another pseudonym"):
        Labelling(sheet, "robo")


def test_a_sheet_that_vanished_is_named_and_nothing_is_forgotten(sheet: Path) -> None:
    labelling = Labelling(sheet, "ana")
    labelling.score(1)
    text = sheet.read_bytes()
    sheet.unlink()
    with pytest.raises(InputError, match=r"sheet .*sheet\.csv"):
        labelling.score(2)
    sheet.write_bytes(text)
    assert now(labelling) == COMPLETIONS[1]
    labelling.score(2)
    assert [score for *_, score in scores(read_rows(sheet))] == ["1", "2"]


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows.pop(0),
        lambda rows: rows[0].update(completion="outra"),
        lambda rows: rows[0].update(prompt="x"),
    ],
)
def test_no_score_goes_to_a_text_that_the_rater_did_not_see(
    sheet: Path, change: Callable[[list[dict[str, str]]], object]
) -> None:
    labelling = Labelling(sheet, "ana")
    edit(sheet, change)
    before = sheet.read_bytes()
    with pytest.raises(InputError, match=r"was changed: the completion .* put it back"):
        labelling.score(2)
    assert sheet.read_bytes() == before


def test_every_task_has_a_rubric_with_five_anchors() -> None:
    for task in TASK_NAMES:
        lines = rubric(task).splitlines()
        assert lines[0].startswith(f"## {task}: ")
        assert [line[2] for line in lines if line[2:3].isdigit() and line[:2] == "| "] == [*"54321"]
    assert rubric("general").startswith("# ")


@pytest.mark.parametrize("notes", ["=SOMA(1)", "linha 1\r\nlinha 2", "\x00\x1b[31m", "ótimo; 'aspas', \"aspas\""])
def test_written_rows_are_returned_and_read_again(sheet: Path, notes: str) -> None:
    written = change_rows(sheet, lambda rows: with_score(rows, FIRST, "ana", "human", 4, notes))
    assert read_rows(sheet) == written
    before = sheet.stat()
    assert change_rows(sheet, lambda rows: with_score(rows, FIRST, "ana", "human", 4, notes)) == written
    # A sheet that is written again is another file.
    assert sheet.stat().st_ino == before.st_ino


@pytest.mark.parametrize("line_end", ["\r\n", "\n", "\r"])
def test_a_score_leaves_the_dialect_of_excel_in_brazil(sheet: Path, line_end: str) -> None:
    dialect = Dialect(";", "cp1252", line_end)
    write_rows(sheet, [{**row, "notes": "não\nsei"} for row in BLANK], dialect)
    change_rows(sheet, lambda rows: with_score(rows, FIRST, "ana", "human", 4, "já é bom"))
    scored, now = read_with_dialect(sheet)
    assert now == dialect
    assert [(row["human_score"], row["notes"]) for row in scored][:2] == [("4", "já é bom"), ("", "não\nsei")]


def test_raters_at_work_at_once_lose_no_score(sheet: Path) -> None:
    def score(rows: Rows, audit_id: str, rater: str) -> Rows:
        return with_score(rows, audit_id, rater, "human", 3, "")

    def score_three(rater: str) -> None:
        for audit_id in (FIRST, SECOND, THIRD):
            change_rows(sheet, partial(score, audit_id=audit_id, rater=rater))

    raters = [f"rater-{number}" for number in range(6)]
    with ThreadPoolExecutor(len(raters)) as pool:
        list(pool.map(score_three, raters))
    scored = [(row["audit_id"], row["rater"]) for row in read_rows(sheet) if row["rater"]]
    assert sorted(scored) == sorted((audit_id, rater) for audit_id in (FIRST, SECOND, THIRD) for rater in raters)


def test_a_failed_change_leaves_the_sheet_as_it_was(sheet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    before = sheet.read_bytes()
    with pytest.raises(InputError, match="no row of the sheet has the audit_id abc"):
        change_rows(sheet, lambda rows: with_score(rows, "abc", "ana", "human", 3, ""))
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match=r"sheet\.csv cannot be written \(No space left on device\)"):
        change_rows(sheet, lambda rows: with_score(rows, FIRST, "ana", "human", 3, ""))
    assert sheet.read_bytes() == before
    assert [path.name for path in sheet.parent.iterdir() if not path.name.startswith(".")] == ["sheet.csv"]
