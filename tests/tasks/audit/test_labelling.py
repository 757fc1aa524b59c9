"""What a rater scores is in the sheet at once and nothing else is changed, and what comes next is never a surprise."""

import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.tasks import TASK_NAMES
from tasks.audit.labelling import Labelling, RaterView
from tasks.audit.rubrics import general_rubric, task_rubric
from tasks.audit.sheet import Row, as_row, read_rows, read_scored_sheet, write_rows

ROLLOUTS = tuple(
    Rollout(prompt_id=f"{task}-{prompt}", task=task, prompt=f"pedido {prompt}", completion=f"{task} {prompt}.{answer}")
    for task in TASK_NAMES[:2]
    for prompt in range(2)
    for answer in range(2)
)
COMPLETIONS = [rollout.completion for rollout in ROLLOUTS]


@pytest.fixture
def sheet(tmp_path: Path) -> Path:
    return new_sheet(tmp_path)


def new_sheet(folder: Path) -> Path:
    path = folder / "sheet.csv"
    write_rows(path, [as_row(rollout, "random") for rollout in ROLLOUTS])
    return path


def edit(sheet: Path, change: Callable[[list[dict[str, str]]], None]) -> None:
    rows = [dict(row) for row in read_rows(sheet)]
    change(rows)
    write_rows(sheet, rows)


def scores(sheet: Path) -> list[tuple[str, str, str]]:
    return [(row["completion"], row["rater"], row["human_score"]) for row in read_rows(sheet) if row["human_score"]]


def now(labelling: Labelling) -> str:
    return labelling.current.completion if labelling.current else "nothing"


def score_all(labelling: Labelling, score: int = 3) -> list[str]:
    seen = []
    while labelling.current:
        seen.append(now(labelling))
        labelling.score(score)
    return seen


def test_the_first_score_fills_the_blank_row_and_changes_nothing_else(sheet: Path) -> None:
    before = read_rows(sheet)
    Labelling(sheet, "ana").score(4)
    filled: Row = {**before[0], "human_score": "4", "rater": "ana", "rater_kind": "human", "notes": ""}
    assert read_rows(sheet) == (filled, *before[1:])


def test_another_raters_score_stands_right_behind(sheet: Path) -> None:
    Labelling(sheet, "ana").score(4)
    Labelling(sheet, "bia").score(2)
    Labelling(sheet, "caio").score(1)
    assert [(row["completion"], row["rater"], row["human_score"]) for row in read_rows(sheet)[:4]] == [
        (COMPLETIONS[0], "ana", "4"),
        (COMPLETIONS[0], "bia", "2"),
        (COMPLETIONS[0], "caio", "1"),
        (COMPLETIONS[1], "", ""),
    ]


def test_what_was_scored_is_a_sheet_that_the_audit_reads(sheet: Path) -> None:
    score_all(Labelling(sheet, "ana"), 4)
    score_all(Labelling(sheet, "bia"), 5)
    read = read_scored_sheet(sheet, ROLLOUTS, ("ana", "bia"))
    assert [item.scores for item in read.items] == [{"ana": 4, "bia": 5}] * len(ROLLOUTS)
    assert read.rater_kinds == {"ana": "human", "bia": "human"}


def test_completions_come_in_the_sheets_order(sheet: Path) -> None:
    edit(sheet, lambda rows: rows.reverse())
    assert score_all(Labelling(sheet, "ana")) == COMPLETIONS[::-1]


def test_who_starts_again_goes_on(sheet: Path) -> None:
    first = Labelling(sheet, "ana")
    first.score(1)
    first.skip()
    first.score(2)
    second = Labelling(sheet, "ana")
    assert (second.left, second.total) == (6, 8)
    assert score_all(second) == [COMPLETIONS[1], *COMPLETIONS[3:]]
    assert now(Labelling(sheet, "ana")) == "nothing"
    assert now(Labelling(sheet, "bia")) == COMPLETIONS[0]


def test_only_the_task_that_was_asked_for_is_scored(sheet: Path) -> None:
    labelling = Labelling(sheet, "ana", TASK_NAMES[1])
    assert labelling.total == 4
    assert score_all(labelling) == COMPLETIONS[4:]
    assert Labelling(sheet, "ana").left == 4


def test_what_was_skipped_comes_again_at_the_end_and_in_turn(sheet: Path) -> None:
    labelling = Labelling(sheet, "ana", TASK_NAMES[0])
    labelling.skip()
    labelling.score(1)
    labelling.skip()
    labelling.score(1)
    assert now(labelling) == COMPLETIONS[0]
    labelling.skip()
    assert score_all(labelling) == [COMPLETIONS[2], COMPLETIONS[0]]


def test_each_undo_restores_the_sheet_to_the_byte(sheet: Path) -> None:
    Labelling(sheet, "bia").score(5)
    labelling = Labelling(sheet, "ana")
    past: list[tuple[bytes, str]] = []
    for score in (5, None, 1, 2):
        past.append((sheet.read_bytes(), now(labelling)))
        labelling.skip() if score is None else labelling.score(score)
    for text, completion in reversed(past):
        assert labelling.undo()
        assert sheet.read_bytes() == text
        assert now(labelling) == completion
    assert not labelling.undo()
    assert scores(sheet) == [(COMPLETIONS[0], "bia", "5")]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from(["score", "skip", "undo"]), max_size=25))
def test_undo_leads_back_the_way_that_was_gone(acts: Sequence[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        sheet = new_sheet(Path(folder))
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


def test_an_undone_first_score_leaves_the_second_raters(sheet: Path) -> None:
    ana, bia = Labelling(sheet, "ana"), Labelling(sheet, "bia")
    ana.score(1)
    bia.score(2)
    ana.undo()
    assert scores(sheet) == [(COMPLETIONS[0], "bia", "2")]
    bia.undo()
    assert read_rows(sheet) == read_rows(new_sheet(sheet.parent))


def test_a_note_is_kept_with_its_score(sheet: Path) -> None:
    labelling = Labelling(sheet, "ana")
    labelling.score(2, "=não é só “preço”, né; 1,5")
    assert read_rows(sheet)[0]["notes"] == "=não é só “preço”, né; 1,5"
    assert labelling.note == ""


def test_a_note_comes_back_with_undo_and_may_be_taken_back(sheet: Path) -> None:
    labelling = Labelling(sheet, "ana", TASK_NAMES[0])
    labelling.score(4, "difícil")
    labelling.undo()
    assert (labelling.note, read_rows(sheet)[0]["notes"]) == ("difícil", "")
    labelling.score(4, "")
    assert read_rows(sheet)[0]["notes"] == ""


def test_a_note_that_stands_in_the_raters_unscored_row_is_not_lost(sheet: Path) -> None:
    edit(sheet, lambda rows: rows[0].update(rater="ana", notes="já vi"))
    labelling = Labelling(sheet, "ana")
    assert labelling.note == "já vi"
    labelling.score(2)
    assert read_rows(sheet)[0]["notes"] == "já vi"
    assert len(read_rows(sheet)) == len(ROLLOUTS)
    labelling.undo()
    assert labelling.note == "já vi"


def test_what_a_spreadsheet_changed_meanwhile_stays(sheet: Path) -> None:
    labelling = Labelling(sheet, "ana")
    labelling.score(1)
    edit(sheet, lambda rows: rows[5].update(human_score="5", rater="bia", rater_kind="human", notes="minha"))
    labelling.score(2)
    labelling.undo()
    row = read_rows(sheet)[5]
    assert (row["human_score"], row["rater"], row["notes"]) == ("5", "bia", "minha")


def test_what_the_rater_scored_elsewhere_meanwhile_is_not_asked_again(sheet: Path) -> None:
    labelling = Labelling(sheet, "ana")
    edit(sheet, lambda rows: rows[1].update(human_score="5", rater="ana", rater_kind="human"))
    labelling.score(1)
    assert now(labelling) == COMPLETIONS[2]


def test_two_raters_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    many = [
        Rollout(prompt_id=str(number), task="push", prompt="p", completion=f"resposta {number}") for number in range(60)
    ]
    write_rows(sheet, [as_row(rollout, "random") for rollout in many])
    code = (
        "import sys; from pathlib import Path; from tasks.audit.labelling import Labelling\n"
        "labelling = Labelling(Path(sys.argv[1]), sys.argv[2]); print('ready', flush=True); input()\n"
        "given = 0\nwhile labelling.current: labelling.score(4); given += 1\n"
        "print(given)"
    )
    raters = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(sheet), rater], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for rater in ("ana", "bia", "caio")
    ]
    for process in raters:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in raters:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    # A score that was overwritten would have to be given again.
    assert [process.communicate()[0] for process in raters] == ["60\n"] * 3
    assert [process.returncode for process in raters] == [0, 0, 0]
    rows = read_rows(sheet)
    assert [row["completion"] for row in rows] == [rollout.completion for rollout in many for _ in range(3)]
    assert all(
        {row["rater"] for row in rows[place : place + 3]} == {"ana", "bia", "caio"} for place in range(0, 180, 3)
    )


def test_a_rater_is_shown_nothing_that_could_sway(sheet: Path) -> None:
    assert set(RaterView.__dataclass_fields__) == {"audit_id", "task", "prompt", "completion"}
    edit(sheet, lambda rows: rows[0].update(human_score="1", rater="bia", rater_kind="human", notes="péssima"))
    labelling = Labelling(sheet, "ana")
    assert labelling.note == ""
    labelling.score(5)
    assert scores(sheet) == [(COMPLETIONS[0], "bia", "1"), (COMPLETIONS[0], "ana", "5")]


@pytest.mark.parametrize(
    "rater", ["Ana", "ana.souza", "ana@loja.com", "joão", "-ana", "", "ana souza", "a" * 32, "ana\n", "ana_1"]
)
def test_a_name_or_an_address_is_refused_and_not_repeated(sheet: Path, rater: str) -> None:
    with pytest.raises(InputError, match="pseudonym, no name or e-mail") as refused:
        Labelling(sheet, rater)
    assert not rater or rater not in str(refused.value).replace("a pseudonym", "")


@pytest.mark.parametrize("rater", ["a", "r1", "rater-1", "7", "a" * 31])
def test_a_pseudonym_is_taken(sheet: Path, rater: str) -> None:
    assert Labelling(sheet, rater).total == len(ROLLOUTS)


@pytest.mark.parametrize("kind", ["rubric", "model"])
def test_the_pseudonym_of_no_person_is_refused(sheet: Path, kind: str) -> None:
    edit(sheet, lambda rows: rows[3].update(human_score="1", rater="robo", rater_kind=kind))
    with pytest.raises(InputError, match=f"rater robo is a {kind} there.*another pseudonym"):
        Labelling(sheet, "robo")
    assert Labelling(sheet, "ana").total == len(ROLLOUTS)


def test_a_task_that_the_sheet_has_not_is_named(sheet: Path) -> None:
    with pytest.raises(InputError, match="has no completion of churn; it has extraction, sql_qa"):
        Labelling(sheet, "ana", "churn")


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
    assert [score for *_, score in scores(sheet)] == ["1", "2"]


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows.pop(0),
        lambda rows: rows[0].update(completion="outra"),
        lambda rows: rows[0].update(prompt="x"),
    ],
)
def test_no_score_goes_to_what_the_rater_did_not_see(
    sheet: Path, change: Callable[[list[dict[str, str]]], None]
) -> None:
    labelling = Labelling(sheet, "ana")
    edit(sheet, change)
    with pytest.raises(InputError, match=r"was changed: the completion .* put it back"):
        labelling.score(2)
    assert scores(sheet) == []


def test_every_task_has_a_rubric_with_five_anchors() -> None:
    for task in TASK_NAMES:
        assert task_rubric(task).startswith(f"## {task}: ")
        assert [line[2] for line in task_rubric(task).splitlines() if line[2:3].isdigit() and line[:2] == "| "] == [
            *"54321"
        ]
    assert general_rubric().startswith("# ")
