"""A rater's score is in the sheet at once and nothing else is changed, and what comes next is never a surprise."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.tasks import TASK_NAMES
from tasks.audit.labelling import SHOWN, Labelling, Rows, change_rows, with_score
from tasks.audit.sheet import Row, as_row, read_rows, write_rows

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
    path = tmp_path / "sheet.csv"
    write_rows(path, BLANK)
    return path


def scores(rows: Rows) -> list[tuple[str, str, str]]:
    return [(row["completion"], row["rater"], row["human_score"]) for row in rows if row["human_score"]]


def score_all(labelling: Labelling, score: int = 3) -> list[str]:
    seen = []
    while labelling.current:
        seen.append(labelling.current["completion"])
        labelling.score(score)
    return seen


def test_the_first_score_fills_the_blank_row_and_a_second_rater_gets_a_row_behind(sheet: Path) -> None:
    Labelling(sheet, "ana").score(4, "quase")
    filled: Row = {**BLANK[0], "human_score": "4", "rater": "ana", "rater_kind": "human", "notes": "quase"}
    assert read_rows(sheet) == (filled, *BLANK[1:])
    second = Labelling(sheet, "bia")
    assert set(second.current or {}) == set(SHOWN) == {"audit_id", "task", "prompt", "completion"}
    assert second.view()["note"] == ""
    second.score(2)
    assert read_rows(sheet)[:2] == (filled, {**filled, "human_score": "2", "rater": "bia", "notes": ""})
    changed = with_score(read_rows(sheet), FIRST, "ana", "human", 5, "")
    assert scores(changed) == [(COMPLETIONS[0], "ana", "5"), (COMPLETIONS[0], "bia", "2")]


def test_a_restarted_session_resumes(sheet: Path) -> None:
    first = Labelling(sheet, "ana")
    first.score(1)
    first.skip()
    first.score(2)
    second = Labelling(sheet, "ana")
    assert (second.left, second.total) == (6, 8)
    assert score_all(second) == [COMPLETIONS[1], *COMPLETIONS[3:]]
    assert Labelling(sheet, "bia").view()["completion"] == COMPLETIONS[0]
    of_task = Labelling(sheet, "bia", TASK_NAMES[1])
    assert of_task.total == 4
    assert score_all(of_task) == COMPLETIONS[4:]


def test_a_name_or_an_address_is_refused_and_not_repeated(sheet: Path) -> None:
    names = ("Ana", "ana.souza", "ana@loja.com", "joão", "-ana", "", "ana souza", "a" * 32, "ana\n", "ana_1")
    for rater in names:
        with pytest.raises(InputError, match="pseudonym, no name or e-mail") as refused:
            Labelling(sheet, rater)
        assert not rater or rater not in str(refused.value).replace("a pseudonym", "")


@pytest.mark.parametrize("first", [(), ({"completion": "outra"},), ({"prompt": "x"},)])
def test_no_score_goes_to_a_text_that_the_rater_did_not_see(sheet: Path, first: tuple[Row, ...]) -> None:
    labelling = Labelling(sheet, "ana")
    write_rows(sheet, [*({**BLANK[0], **each} for each in first), *BLANK[1:]])
    before = sheet.read_bytes()
    with pytest.raises(InputError, match=r"was changed: the completion .* put it back"):
        labelling.score(2)
    assert sheet.read_bytes() == before


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
