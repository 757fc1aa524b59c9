"""A sheet goes through spreadsheets and people's hands, and comes back whole or is refused by row."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.documents import Rollout
from schemas.errors import InputError
from tasks.audit.sheet import as_kept, as_row, audit_id, read_rows, read_scored_sheet, write_rows
from tests.cases import cases_of

CASES = cases_of(__file__)
HOSTILE = 'linha 1\nlinha 2; "aspas", =SOMA(A1) \u2028 fim'


def rollout(number: int, completion: str = HOSTILE, **more: Any) -> Rollout:
    return Rollout(prompt_id=f"p{number}", task="push", prompt="Crie um push", completion=completion, **more)


def cells(number: int = 1, **changes: Any) -> dict[str, Any]:
    scored = {"human_score": "4", "rater": "r1", "rater_kind": "human"}
    return as_row(rollout(number), "random") | scored | changes


ROLLOUTS = [rollout(number) for number in range(1, 10)]


def write(path: Path, rows: list[dict[str, Any]], *, encoding: str = "utf-8-sig", delimiter: str = ",") -> Path:
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_a_scored_sheet_is_read_with_its_rollouts(tmp_path: Path) -> None:
    rows = [cells(1), cells(2, human_score="5", notes="ótimo")]
    sheet = read_scored_sheet(write(tmp_path / "sheet.csv", rows, encoding="utf-8"), ROLLOUTS)
    assert [item.score for item in sheet.items] == [4, 5]
    assert [item.rollout for item in sheet.items] == ROLLOUTS[:2]
    assert sheet.items[1].notes == ("ótimo",)
    assert (sheet.tasks, sheet.unscored) == (("push",), ())
    more = [*ROLLOUTS, Rollout(prompt_id="c", task="churn", prompt="Vai embora?", completion="{}")]
    assert read_scored_sheet(tmp_path / "sheet.csv", more).unscored == ("churn",)


@pytest.mark.parametrize(("delimiter", "encoding"), [(",", "utf-8-sig"), (";", "cp1252"), ("\t", "cp1252")])
def test_a_sheet_of_any_spreadsheet_is_written_again_with_every_text(
    tmp_path: Path, delimiter: str, encoding: str
) -> None:
    said = [cells(number, rater="ana", completion=f"João; nº {number}, “já”\n=1") for number in (1, 2)]
    rows = [{**row, "audit_id": audit_id(Rollout.model_validate(row))} for row in said]
    read = read_rows(write(tmp_path / "sheet.csv", rows, encoding=encoding, delimiter=delimiter))
    write_rows(tmp_path / "sheet.csv", [{**row, "notes": "não gostei 😞"} for row in read])
    assert read_rows(tmp_path / "sheet.csv") == tuple({**row, "notes": "não gostei 😞"} for row in read)


FORMULAS: list[str] = CASES["formulas"]
ODD = ("''-x", "\t\r\n", "a\r\nb", "\x00\x1b[31m", "\ud800", "'só aspas'", "'", "\n\n'")
TEXTS = st.text(st.characters(codec=None), max_size=60) | st.sampled_from([*FORMULAS, *ODD])


@settings(deadline=None, max_examples=50)
@given(prompt=TEXTS, completion=TEXTS)
def test_every_text_comes_back_as_its_own_rollout(
    prompt: str, completion: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    asked = Rollout(prompt_id="p", task="push", prompt=prompt, completion=completion)
    path = tmp_path_factory.getbasetemp() / "hypothesis.csv"
    write_rows(path, [as_row(asked, "random") | {"human_score": "3", "rater": "r", "rater_kind": "human"}])
    (item,) = read_scored_sheet(path, [rollout(1), asked]).items
    assert item.rollout is asked
    assert item.audit_id == audit_id(asked)


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    written = [as_row(rollout(1, formula), "random") | {"notes": formula} for formula in FORMULAS]
    write_rows(tmp_path / "sheet.csv", written)
    with (tmp_path / "sheet.csv").open(encoding="utf-8-sig", newline="") as file:
        saved = list(csv.DictReader(file, delimiter=";"))
    for formula, row, read in zip(FORMULAS, saved, read_rows(tmp_path / "sheet.csv"), strict=True):
        assert row["completion"].startswith("'"), formula
        assert row["notes"].startswith("'"), formula
        assert read["completion"] == as_kept(formula) == formula.replace("\r", "\n").removeprefix("'")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"human_score": "6"}, "human_score"),
        ({"human_score": "3,5"}, "3,5"),
        ({"human_score": "bom"}, "human_score: Input should be a valid integer"),
        ({"rater": ""}, "rater"),
        ({"audit_id": ""}, "audit_id"),
        ({"completion": HOSTILE.replace("fim", "FIM")}, "edited"),
        ({"audit_id": audit_id(rollout(9))}, "audit_id is that of another completion"),
        ({"audit_id": audit_id(rollout(1)), "rater": "r2"}, "in another row with another text"),
    ],
)
def test_names_the_row_that_is_faulty(tmp_path: Path, changes: dict[str, str], complaint: str) -> None:
    path = write(tmp_path / "sheet.csv", [cells(1), cells(2, **changes), cells(3)])
    with pytest.raises(InputError, match=rf"sheet\.csv: row 3: .*{complaint}"):
        read_scored_sheet(path, ROLLOUTS)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (lambda text: text.replace(",rater,", ",who,", 1), "row 1, lacks the columns rater;"),
        (lambda text: text.replace("audit_id,task", "task,audit_id", 1), r"row 1: the columns are not audit_id, task,"),
        (lambda text: f"{text}a2,push\n", "row 3: it has fewer cells"),
        (lambda text: f"{text.rstrip()},mais,ainda\n", "row 2: it has more cells"),
        (lambda text: text.splitlines()[0] + "\n", "no rows"),
        (lambda text: text.encode("utf-16").decode("latin-1"), "UTF-16 or no text"),
    ],
)
def test_files_that_are_no_sheet_are_refused(tmp_path: Path, text: Callable[[str], str], complaint: str) -> None:
    path = write(tmp_path / "sheet.csv", [cells(notes="fim", completion="x")], encoding="latin-1")
    path.write_bytes(text(path.read_text(encoding="latin-1")).encode("latin-1"))
    with pytest.raises(InputError, match=complaint):
        read_rows(path)
    with pytest.raises(InputError, match=r"absent\.csv cannot be read"):
        read_rows(tmp_path / "absent.csv")
