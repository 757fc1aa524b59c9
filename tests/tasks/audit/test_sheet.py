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
from schemas.tables.delimited import Dialect
from tasks.audit.sheet import (
    COLUMNS,
    as_kept,
    as_row,
    audit_id,
    read_rows,
    read_scored_sheet,
    read_with_dialect,
    write_rows,
)

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


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-8"])
def test_reads_what_a_spreadsheet_saved(tmp_path: Path, encoding: str) -> None:
    rows = [cells(1), cells(2, human_score="5", notes="ótimo")]
    sheet = read_scored_sheet(write(tmp_path / "sheet.csv", rows, encoding=encoding), ROLLOUTS)
    assert [item.score for item in sheet.items] == [4, 5]
    assert [item.rollout for item in sheet.items] == ROLLOUTS[:2]
    assert sheet.items[1].notes == ("ótimo",)
    assert sheet.tasks == ("push",)
    assert sheet.unscored == ()
    more = [*ROLLOUTS, Rollout(prompt_id="c", task="churn", prompt="Vai embora?", completion="{}")]
    assert read_scored_sheet(tmp_path / "sheet.csv", more).unscored == ("churn",)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "cp1252"])
def test_a_sheet_keeps_the_dialect_of_the_spreadsheet_that_saved_it(
    tmp_path: Path, delimiter: str, encoding: str
) -> None:
    said = [cells(number, rater="ana", completion=f"João; nº {number}, “já”\n=1") for number in (1, 2)]
    rows = [{**row, "audit_id": audit_id(Rollout.model_validate(row))} for row in said]
    path = write(tmp_path / "sheet.csv", rows, encoding=encoding, delimiter=delimiter)
    before = path.read_bytes()
    read, dialect = read_with_dialect(path)
    write_rows(path, read, dialect)
    assert path.read_bytes() == before
    write_rows(path, [{**row, "notes": "não gostei 😞"} for row in read], dialect)
    again, now = read_with_dialect(path)
    assert [row["notes"] for row in again] == ["não gostei 😞"] * 2
    assert now == Dialect(delimiter, "utf-8-sig", "\r\n")


def test_characters_that_cp1252_lacks_do_not_make_a_completion_an_edited_one(tmp_path: Path) -> None:
    """Excel in Brazil saves an emoji as two question marks, and an arrow as one."""
    asked = rollout(1, "Amei 😀 → recomendo")
    row = as_row(asked, "random") | {"human_score": "4", "rater": "r1", "rater_kind": "human"}
    saved = write(tmp_path / "sheet.csv", [row | {"completion": "Amei ?? ? recomendo"}], encoding="cp1252")
    (item,) = read_scored_sheet(saved, [asked]).items
    assert (item.rollout, item.audit_id) == (asked, audit_id(asked))
    edited = write(tmp_path / "edited.csv", [row | {"completion": "Amei ?? ? não recomendo"}], encoding="cp1252")
    with pytest.raises(InputError, match="row 2: its prompt or completion was edited"):
        read_scored_sheet(edited, [asked])


def test_a_score_with_a_decimal_comma_is_the_whole_number_that_it_is(tmp_path: Path) -> None:
    path = write(tmp_path / "sheet.csv", [cells(1, human_score="4,0"), cells(2, human_score=" 5,00 ")], delimiter=";")
    assert [item.score for item in read_scored_sheet(path, ROLLOUTS).items] == [4, 5]
    rows, dialect = read_with_dialect(path)
    write_rows(path, rows, dialect)
    assert [row["human_score"] for row in read_rows(path)] == ["4,0", " 5,00 "]


FORMULAS = (
    *("=HYPERLINK(1)", "+1", "-1", "@x", "'=1", "\uff1d1", "\uff0b1", "\uff0d1", "\uff20x"),
    *("\n=1", "\r=1", " =1", "\u00a0\uff1d1", "\ttexto", "\ntexto", " \t=1", "\u2028=1", "\u3000+1"),
    # Small forms, superscripts, the sign of minus, and a sign that a combining stroke changes.
    *("\ufe661", "\ufe621", "\ufe631", "\ufe6bx", "\u207b1", "\ufb291", "\u22121", "=\u0338SUM(1)"),
    # Characters that show nothing: zero-width ones, marks of direction and of bytes, fillers, variation selectors.
    *(
        f"{nothing}=1"
        for nothing in "\u200b\u200c\u2060\u200e\u202a\u2066\ufeff\u00ad\u034f\u061c\u180e\u3164\ufe0f\U000e0001"
    ),
    *("\u200b \ufeff\uff1d1", "'\u200b=1", "\u200b0.50", "\uff11\uff12", "\u2060VERDADEIRO"),
)
ODD = ("''-x", "\t\r\n", "a\r\nb", "\x00\x1b[31m", "\ud800", "'só aspas'", "'", "\n\n'")
TEXTS = st.text(st.characters(codec=None), max_size=60) | st.sampled_from([*FORMULAS, *ODD])


@settings(deadline=None)
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


def test_the_reward_is_never_in_the_sheet() -> None:
    assert "reward" not in " ".join(COLUMNS)
    scored = rollout(1, reward=0.987, components={"a": 0.987})
    assert "0.987" not in "".join(as_row(scored, "by reward").values())


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"human_score": "6"}, "human_score"),
        ({"human_score": "3,5"}, "3,5"),
        ({"human_score": "bom"}, "human_score: Input should be a valid integer"),
        ({"task": "poesia"}, "task"),
        ({"rater_kind": "robot"}, "rater_kind"),
        ({"rater_kind": ""}, "rater_kind"),
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


def test_names_rows_that_contradict_each_other(tmp_path: Path) -> None:
    rows = [cells(1, rater="maria"), cells(1, rater="maria"), cells(3, rater="maria", rater_kind="model")]
    with pytest.raises(InputError, match=r"row 4: not true: each rater .*rows 2, 3: audit_id, rater tog") as caught:
        read_scored_sheet(write(tmp_path / "sheet.csv", rows), ROLLOUTS)
    assert "maria" not in str(caught.value)


def test_only_known_raters_may_score_where_they_are_named(tmp_path: Path) -> None:
    path = write(tmp_path / "sheet.csv", [cells(1), cells(2, rater="fulano"), cells(3)])
    assert len(read_scored_sheet(path, ROLLOUTS, ["r1", "fulano"]).items) == 3
    with pytest.raises(
        InputError, match=r"the rater of row 3 is not among audit\.raters, which names r1, r2"
    ) as caught:
        read_scored_sheet(path, ROLLOUTS, ["r1", "r2"])
    assert "fulano" not in str(caught.value)


def test_rows_of_another_sheet_are_named_and_counted(tmp_path: Path) -> None:
    stranger = Rollout(prompt_id="x", task="churn", prompt="outro", completion="outra")
    other = as_row(stranger, "random") | {"human_score": "1", "rater": "r1", "rater_kind": "human"}
    with pytest.raises(InputError, match=r"of row 3 is not among the rollouts: 1 of 2 rows .*another sheet"):
        read_scored_sheet(write(tmp_path / "sheet.csv", [cells(1), other]), ROLLOUTS)
    with pytest.raises(InputError, match=r"of row 2; row 3 is not .*: 2 of 2 rows .*other rollouts"):
        read_scored_sheet(tmp_path / "sheet.csv", [rollout(7, "x")])


def test_names_the_line_that_is_not_utf8(tmp_path: Path) -> None:
    path = write(tmp_path / "sheet.csv", [cells(1), cells(2, notes="NOTE")], encoding="utf-8")
    path.write_bytes(path.read_bytes().replace(b"NOTE", "ótimo".encode("latin-1")))
    with pytest.raises(InputError, match=r"line \d+ is not UTF-8 as the rest of it is; save it as CSV UTF-8 again"):
        read_rows(path)


def test_counts_the_rows_without_a_score(tmp_path: Path) -> None:
    rows = [cells(number, human_score="" if number > 2 else "3") for number in range(1, 10)]
    with pytest.raises(InputError, match=r"7 of 9 rows have no score: row 4; .*and 2 more"):
        read_scored_sheet(write(tmp_path / "sheet.csv", rows), ROLLOUTS)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (lambda text: text.replace(",rater,", ",who,", 1), "row 1, lacks the columns rater;"),
        (lambda text: text.replace("audit_id,task", "task,audit_id", 1), r"row 1: the columns are not audit_id, task,"),
        (lambda text: f"{text}a2,push\n", "row 3: it has fewer cells"),
        (lambda text: f"{text.rstrip()},mais,ainda\n", "row 2: it has more cells"),
        (lambda text: text.splitlines()[0] + "\n", "no rows"),
        (lambda text: text.encode("utf-16").decode("latin-1"), "is UTF-16"),
    ],
)
def test_files_that_are_no_sheet_are_refused(tmp_path: Path, text: Callable[[str], str], complaint: str) -> None:
    path = write(tmp_path / "sheet.csv", [cells(notes="fim", completion="x")], encoding="latin-1")
    path.write_bytes(text(path.read_text(encoding="latin-1")).encode("latin-1"))
    with pytest.raises(InputError, match=complaint):
        read_rows(path)
    with pytest.raises(InputError, match=r"absent\.csv cannot be read"):
        read_rows(tmp_path / "absent.csv")


def test_a_sheet_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    write_rows(tmp_path / "sheet.csv", [cells(1)])
    # As Excel in Brazil opens it in columns.
    assert (tmp_path / "sheet.csv").read_bytes().startswith("\ufeff".encode() + ";".join(COLUMNS).encode())
    before = (tmp_path / "sheet.csv").read_bytes()
    with pytest.raises(KeyError):
        write_rows(tmp_path / "sheet.csv", [cells(2), {"audit_id": "torn"}])
    assert (tmp_path / "sheet.csv").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["sheet.csv"]


def test_a_completion_counts_once_whatever_its_rows_are_called(tmp_path: Path) -> None:
    """The historic way to forty scores: ten completions, each pasted four times under other ids."""
    rows = [cells(1, audit_id=f"x{copy}") for copy in range(4)]
    sheet = read_scored_sheet(write(tmp_path / "sheet.csv", rows), ROLLOUTS)
    assert len(sheet.items) == 1
    contrary = [cells(1), cells(1, audit_id="x1", human_score="1")]
    with pytest.raises(InputError, match="row 3: its rater gave the same completion another score"):
        read_scored_sheet(write(tmp_path / "sheet.csv", contrary), ROLLOUTS)


@pytest.mark.parametrize("text", ["0.50", "1.234,56", "TRUE", "falso", "10/12/2018", "2018-01-02", "R$ 10,00", "80%"])
def test_what_a_spreadsheet_would_change_is_kept_as_text(tmp_path: Path, text: str) -> None:
    write_rows(tmp_path / "sheet.csv", [as_row(rollout(1, text), "random") | {"human_score": "3"}])
    with (tmp_path / "sheet.csv").open(encoding="utf-8-sig", newline="") as file:
        (row,) = csv.DictReader(file, delimiter=";")
    assert row["completion"] == f"'{text}"
    assert row["human_score"] == "3"
    assert row["audit_id"][0].isalpha()
    assert read_rows(tmp_path / "sheet.csv")[0]["completion"] == text


def test_empty_cells_that_a_spreadsheet_leaves_out_or_adds_change_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "sheet.csv", [cells(1), cells(2)])
    path.write_bytes(path.read_bytes().replace(b"human,\r\n", b"human\r\n"))
    assert len(read_scored_sheet(path, ROLLOUTS).items) == 2
    with path.open(encoding="utf-8-sig", newline="") as file:
        wide = [[*row, "", ""] for row in csv.reader(file)]
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows([*wide, [""] * 12, [""] * 12])
    assert len(read_rows(path)) == 2


def test_nobody_is_two_raters_by_a_slip_and_no_rater_is_an_address(tmp_path: Path) -> None:
    rows = [cells(1, rater="Ana "), cells(2, rater="ana", rater_kind=" Human")]
    assert read_scored_sheet(write(tmp_path / "sheet.csv", rows), ROLLOUTS).rater_kinds == {"ana": "human"}
    for name in ("maria@loja.com.br", "![x](http://x)", "x" * 41, "<b>"):
        with pytest.raises(InputError, match="row 2: rater: must be a pseudonym") as caught:
            read_scored_sheet(write(tmp_path / "sheet.csv", [cells(1, rater=name)]), ROLLOUTS)
        assert name not in str(caught.value)
