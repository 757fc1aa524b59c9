"""What a rater scores is in the sheet at once and nothing else is changed, and what comes next is never a surprise."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.tasks import TASK_NAMES
from tasks.audit.labelling import Labelling, RaterView, general_rubric, task_rubric
from tasks.audit.sheet import Row, as_row, read_rows, write_rows

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


def test_a_note_comes_back_with_undo_and_may_be_taken_back(sheet: Path) -> None:
    labelling = Labelling(sheet, "ana", TASK_NAMES[0])
    labelling.score(4, "difícil")
    labelling.undo()
    assert (labelling.note, read_rows(sheet)[0]["notes"]) == ("difícil", "")
    labelling.score(4, "")
    assert read_rows(sheet)[0]["notes"] == ""


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


@pytest.mark.parametrize("kind", ["rubric", "model"])
def test_the_pseudonym_of_no_person_is_refused(sheet: Path, kind: str) -> None:
    edit(sheet, lambda rows: rows[3].update(human_score="1", rater="robo", rater_kind=kind))
    with pytest.raises(InputError, match=f"rater robo is a {kind} there.*another pseudonym"):
        Labelling(sheet, "robo")
    assert Labelling(sheet, "ana").total == len(ROLLOUTS)


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
