import csv
from pathlib import Path
from typing import Any

import pytest

from schemas.documents import Rollout, SheetRow
from schemas.errors import InputError
from tasks.audit.sheet import match_rollouts, read_sheet

HOSTILE = 'linha 1\nlinha 2; "aspas", =SOMA(A1) \u2028 fim'


def cells(number: int = 1, **changes: Any) -> dict[str, Any]:
    return {
        "audit_id": f"a{number}",
        "task": "push",
        "prompt_id": f"p{number}",
        "stratum": "random",
        "prompt": "Crie um push",
        "completion": HOSTILE,
        "human_score": "4",
        "rater": "r1",
        "rater_kind": "human",
        "notes": "",
    } | changes


def write(path: Path, rows: list[dict[str, Any]], *, encoding: str = "utf-8-sig", delimiter: str = ",") -> Path:
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-8"])
def test_reads_what_a_spreadsheet_saved_in_any_order_of_columns(tmp_path: Path, encoding: str) -> None:
    rows = [cells(1), cells(2, human_score="5", notes="ótimo")]
    reordered = [dict(reversed(row.items())) for row in rows]
    sheet = read_sheet(write(tmp_path / "sheet.csv", reordered, encoding=encoding))
    assert [row.human_score for row in sheet] == [4, 5]
    assert sheet[0].completion == HOSTILE
    assert sheet[1].notes == "ótimo"


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"human_score": "6"}, "human_score"),
        ({"human_score": "0"}, "human_score"),
        ({"human_score": "3,5"}, "3,5"),
        ({"human_score": "bom"}, "human_score: Input should be a valid integer"),
        ({"task": "poesia"}, "task"),
        ({"rater_kind": "robot"}, "rater_kind"),
        ({"rater": ""}, "rater"),
        ({"audit_id": ""}, "audit_id"),
    ],
)
def test_names_the_row_that_is_faulty(tmp_path: Path, changes: dict[str, str], complaint: str) -> None:
    path = write(tmp_path / "sheet.csv", [cells(1), cells(2, **changes), cells(3)])
    with pytest.raises(InputError, match=rf"sheet\.csv: row 3: .*{complaint}"):
        read_sheet(path)


def test_names_rows_that_contradict_each_other(tmp_path: Path) -> None:
    rows = [cells(1, rater="maria"), cells(1, rater="joão"), cells(3, rater="maria", rater_kind="model")]
    with pytest.raises(InputError, match=r"each rater is of one kind.*rows 2, 3: audit_id is there more") as caught:
        read_sheet(write(tmp_path / "sheet.csv", rows))
    assert "row 4: not true" in str(caught.value)
    assert "maria" not in str(caught.value)


def test_faults_of_rows_and_between_rows_are_in_one_report(tmp_path: Path) -> None:
    rows = [cells(1, human_score="9"), cells(2), cells(3), cells(2, notes="de novo")]
    with pytest.raises(InputError, match=r"row 2: human_score.*rows 3, 5: audit_id"):
        read_sheet(write(tmp_path / "sheet.csv", rows))


def test_names_the_cell_that_is_not_utf8(tmp_path: Path) -> None:
    path = write(tmp_path / "sheet.csv", [cells(1), cells(2, notes="NOTE")], encoding="utf-8")
    path.write_bytes(path.read_bytes().replace(b"NOTE", "ótimo".encode("latin-1")))
    with pytest.raises(InputError, match=r"column notes, row \d+ is not UTF-8; save it as UTF-8 CSV"):
        read_sheet(path)


def test_counts_the_rows_without_a_score(tmp_path: Path) -> None:
    rows = [cells(number, human_score="" if number > 2 else "3") for number in range(1, 10)]
    with pytest.raises(InputError, match=r"7 of 9 rows have no score: row 4; .*and 2 more"):
        read_sheet(write(tmp_path / "sheet.csv", rows))


def test_refuses_other_separators_missing_columns_and_torn_rows(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="separated by commas"):
        read_sheet(write(tmp_path / "semicolons.csv", [cells()], delimiter=";"))
    without = {name: value for name, value in cells().items() if name != "rater"}
    with pytest.raises(InputError, match="lacks the columns rater;"):
        read_sheet(write(tmp_path / "without.csv", [without]))
    path = write(tmp_path / "torn.csv", [cells()])
    path.write_text(path.read_text(encoding="utf-8") + "a2,push\n", encoding="utf-8")
    with pytest.raises(InputError, match="row"):
        read_sheet(path)
    path = write(tmp_path / "surplus.csv", [cells(notes="fim")])
    path.write_text(path.read_text(encoding="utf-8").rstrip() + ",mais,ainda\n", encoding="utf-8")
    with pytest.raises(InputError, match="row 2: it has more cells"):
        read_sheet(path)


def test_refuses_files_that_are_no_sheet(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.csv cannot be read"):
        read_sheet(tmp_path / "absent.csv")
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(InputError, match="cannot be read"):
        read_sheet(tmp_path / "binary.csv")
    (tmp_path / "empty.csv").write_text(",".join(cells()) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="no rows"):
        read_sheet(tmp_path / "empty.csv")


def rollout(number: int, completion: str = HOSTILE) -> Rollout:
    return Rollout(prompt_id=f"p{number}", task="push", prompt="Crie um push", completion=completion)


def test_finds_each_rows_rollout() -> None:
    rows = [SheetRow.model_validate(cells(2)), SheetRow.model_validate(cells(1))]
    assert match_rollouts(rows, [rollout(1), rollout(1, "outra"), rollout(2)]) == (rollout(2), rollout(1))


@pytest.mark.parametrize(
    "changes", [{"completion": "editada"}, {"prompt": "outro"}, {"prompt_id": "p9"}, {"task": "insights"}]
)
def test_names_the_row_whose_text_was_edited(changes: dict[str, str]) -> None:
    rows = [SheetRow.model_validate(cells(1)), SheetRow.model_validate(cells(2, **changes))]
    with pytest.raises(InputError, match="row 3 is not among the rollouts"):
        match_rollouts(rows, [rollout(1), rollout(2)])
