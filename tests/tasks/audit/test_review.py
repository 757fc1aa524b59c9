"""A sheet is published in MLflow's review queues, and people's answers come back into its rows under pseudonyms."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.progress import silent
from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit import review
from tasks.audit.review import OPTIONS, Collected, Published, collect, publish
from tasks.audit.scoring import Rows, with_score
from tasks.audit.sheet import as_row, read_rows, write_rows
from tasks.lineage.mlflow.review_queue import INSTRUCTION_CHARACTERS

pytestmark = pytest.mark.integration

FIVE, FOUR, THREE, TWO, ONE = OPTIONS
TASKS: tuple[TaskName, ...] = ("push", "push", "sql_qa")


@pytest.fixture(scope="module")
def mlflow_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mlflow")


class Audit:
    """A sheet of three completions, with an MLflow experiment of its own."""

    def __init__(self, folder: Path, mlflow_home: Path, experiment: str) -> None:
        self.sheet = folder / "sheet.csv"
        self.database = mlflow_home / "mlflow.db"
        self.place = (f"sqlite:///{self.database}", mlflow_home / "artifacts", experiment)
        rollouts = [
            Rollout(prompt_id=f"p{number}", task=task, prompt=f"Pedido {number}", completion=f"=SOMA({number})\n`x`")
            for number, task in enumerate(TASKS)
        ]
        write_rows(self.sheet, [as_row(rollout, "estrato-secreto") for rollout in rollouts])
        self.ids = [row["audit_id"] for row in self.rows]

    @property
    def rows(self) -> Rows:
        return read_rows(self.sheet)

    def change(self, change: Callable[[Rows], Rows]) -> None:
        write_rows(self.sheet, change(self.rows))

    def publish(self) -> Published:
        return publish(self.sheet, *self.place, silent)

    def collect(self) -> Collected:
        return collect(self.sheet, *self.place)

    def answer(self, number: int, value: object, who: str, notes: str | None = None, **more: Any) -> str:
        """Answer as MLflow's page does, which gives the answer that it overrides."""
        from mlflow import MlflowClient
        from mlflow.entities import AssessmentSource, Feedback
        from mlflow.tracing.client import TracingClient

        client = MlflowClient(self.place[0])
        (trace,) = client.search_traces(
            locations=[client.get_experiment_by_name(self.place[2]).experiment_id],
            filter_string=f"tags.audit_id = '{self.ids[number]}'",
        )
        feedback = Feedback(
            name=f"Nota da resposta ({more.get('task', TASKS[number])})",
            value=value,
            rationale=notes,
            source=AssessmentSource(source_type=more.get("source_type", "HUMAN"), source_id=who),
            overrides=more.get("overrides"),
        )
        return str(TracingClient(self.place[0]).log_assessment(trace.info.trace_id, feedback).assessment_id)

    def scores(self) -> list[tuple[str, ...]]:
        columns = ("human_score", "rater", "rater_kind", "notes")
        return [(row["prompt_id"], *(row[column] for column in columns)) for row in self.rows]


@pytest.fixture
def audit(tmp_path: Path, mlflow_home: Path, request: pytest.FixtureRequest) -> Audit:
    return Audit(tmp_path, mlflow_home, request.node.name)


BLANK = [("p0", "", "", "", ""), ("p1", "", "", "", ""), ("p2", "", "", "", "")]


def test_a_sheet_is_published_once_with_a_queue_for_each_task(audit: Audit) -> None:
    from mlflow.genai.review_queues import list_review_queue_items

    first = audit.publish()
    assert (first.new, first.completions, list(first.queues)) == (3, 3, ["sql_qa", "push"])
    assert [len(list_review_queue_items(queue_id)) for queue_id in first.queues.values()] == [1, 2]
    assert "/review-queue" in first.where
    again = audit.publish()
    assert (again.new, again.queues) == (0, first.queues)
    assert audit.scores() == BLANK


def test_what_would_bias_a_rater_is_not_in_mlflow(audit: Audit) -> None:
    audit.change(lambda rows: with_score(rows, audit.ids[0], "caio", "human", 1, "nota-secreta"))
    audit.publish()
    stored = b"".join(path.read_bytes() for path in audit.database.parent.glob("mlflow.db*"))
    assert audit.ids[0].encode() in stored
    assert b"estrato-secreto" not in stored
    assert b"nota-secreta" not in stored


@pytest.mark.parametrize("task", TASK_NAMES)
def test_every_rubric_fits_and_is_read_without_markdown(task: TaskName) -> None:
    instruction = review._question(task).instruction
    assert len(instruction) <= INSTRUCTION_CHARACTERS
    assert [line[:4] for line in instruction.splitlines() if line.startswith("•")] == [
        f"• {n}:" for n in (5, 4, 3, 2, 1)
    ]
    assert not set(instruction) & set("|#`")


def test_a_rubric_that_is_too_long_is_named(audit: Audit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(review, "task_rubric", lambda task: "longa " * 200)
    with pytest.raises(InputError, match="the rubric of sql_qa has 1239 characters"):
        audit.publish()


def test_answers_come_back_under_pseudonyms_and_twice_is_once(audit: Audit) -> None:
    audit.publish()
    audit.answer(1, FOUR, "bia@example.com", "=quase")
    audit.answer(0, TWO, "ana@example.com")
    audit.answer(1, FIVE, "ana@example.com", "ótimo")
    assert audit.collect() == Collected(answers=3, raters=2, unscored=1, not_by_people=0)
    assert audit.scores() == [
        ("p0", "2", "mlflow-2", "human", ""),
        ("p1", "4", "mlflow-1", "human", "=quase"),
        ("p1", "5", "mlflow-2", "human", "ótimo"),
        ("p2", "", "", "", ""),
    ]
    text = audit.sheet.read_bytes()
    assert b"example" not in text
    assert b"'=quase" in text
    assert audit.collect() == Collected(answers=3, raters=2, unscored=1, not_by_people=0)
    assert audit.sheet.read_bytes() == text


def test_a_persons_newest_answer_counts(audit: Audit) -> None:
    audit.publish()
    old = audit.answer(0, TWO, "ana@example.com", "ruim")
    audit.collect()
    audit.answer(0, FIVE, "Ana@example.com", "pensei melhor", overrides=old)
    assert audit.collect().answers == 1
    assert audit.scores() == [("p0", "5", "mlflow-1", "human", "pensei melhor"), *BLANK[1:]]
    # Without an override, as another program may write it.
    audit.answer(0, 3, "ana@example.com")
    assert audit.collect().answers == 1
    assert audit.scores() == [("p0", "3", "mlflow-1", "human", ""), *BLANK[1:]]


def test_an_answer_that_somebody_else_overrode_does_not_count(audit: Audit) -> None:
    audit.publish()
    wrong = audit.answer(0, TWO, "ana@example.com")
    audit.answer(0, FIVE, "bia@example.com", overrides=wrong)
    assert audit.collect() == Collected(answers=1, raters=1, unscored=2, not_by_people=0)
    assert audit.scores() == [("p0", "5", "mlflow-2", "human", ""), *BLANK[1:]]


def test_pseudonyms_outlast_answers_and_are_not_given_twice(audit: Audit) -> None:
    from mlflow.tracing.client import TracingClient

    audit.change(lambda rows: with_score(rows, audit.ids[2], "mlflow-4", "human", 3, "de outro MLflow"))
    audit.publish()
    gone = audit.answer(0, TWO, "ana@example.com")
    audit.answer(0, FOUR, "bia@example.com")
    audit.collect()
    assert [score[:3] for score in audit.scores()] == [
        ("p0", "2", "mlflow-5"),
        ("p0", "4", "mlflow-6"),
        ("p1", "", ""),
        ("p2", "3", "mlflow-4"),
    ]
    tracing = TracingClient(audit.place[0])
    (trace,) = [one for one in tracing.search_traces(locations=[_experiment_id(audit)]) if one.info.assessments]
    tracing.delete_assessment(trace.info.trace_id, gone)
    audit.answer(1, ONE, "caio@example.com")
    audit.answer(1, FIVE, "bia@example.com")
    audit.collect()
    assert [score[:3] for score in audit.scores()] == [
        ("p0", "2", "mlflow-5"),
        ("p0", "4", "mlflow-6"),
        ("p1", "1", "mlflow-7"),
        ("p1", "5", "mlflow-6"),
        ("p2", "3", "mlflow-4"),
    ]


def _experiment_id(audit: Audit) -> str:
    from mlflow import MlflowClient

    return str(MlflowClient(audit.place[0]).get_experiment_by_name(audit.place[2]).experiment_id)


def test_who_scored_elsewhere_keeps_the_row(audit: Audit) -> None:
    audit.publish()
    audit.change(lambda rows: with_score(rows, audit.ids[0], "caio", "human", 1, "no terminal"))
    audit.answer(0, FIVE, "ana@example.com")
    assert audit.collect() == Collected(answers=1, raters=1, unscored=2, not_by_people=0)
    assert audit.scores()[:2] == [("p0", "1", "caio", "human", "no terminal"), ("p0", "5", "mlflow-1", "human", "")]


def test_only_people_who_answered_this_question_count(audit: Audit) -> None:
    audit.publish()
    audit.answer(0, FIVE, "gpt", source_type="LLM_JUDGE")
    audit.answer(0, 4, "score.py", source_type="CODE")
    audit.answer(0, THREE, "ana@example.com", task="sql_qa")
    assert audit.collect() == Collected(answers=0, raters=0, unscored=3, not_by_people=2)
    assert audit.scores() == BLANK


@pytest.mark.parametrize("value", [1, 1.0, "1", ONE, "1 – outra frase"])
def test_numbers_and_options_are_scores(value: object) -> None:
    assert review._as_score(value) == 1


@pytest.mark.parametrize("value", [0, 6, 4.5, float("nan"), True, "10", "4,5", "cinco", "", None, [5], {"score": 5}])
def test_anything_else_is_no_score(value: object) -> None:
    assert review._as_score(value) is None


def test_an_answer_that_is_no_score_is_named_and_changes_nothing(audit: Audit) -> None:
    audit.publish()
    audit.answer(0, FIVE, "ana@example.com")
    audit.answer(1, 4.5, "ana@example.com")
    audit.answer(2, "ana@example.com diz 5", "ana@example.com")
    with pytest.raises(InputError) as caught:
        audit.collect()
    assert f"{audit.ids[1]} was given 4.5; {audit.ids[2]} was given something else" in str(caught.value)
    assert "example" not in str(caught.value)
    assert audit.scores() == BLANK


def test_rows_that_were_deleted_since_are_no_obstacle(audit: Audit) -> None:
    audit.publish()
    audit.answer(0, FIVE, "ana@example.com")
    audit.answer(2, FOUR, "ana@example.com")
    audit.change(lambda rows: rows[:2])
    assert audit.collect() == Collected(answers=1, raters=1, unscored=1, not_by_people=0)
    assert audit.scores() == [("p0", "5", "mlflow-1", "human", ""), BLANK[1]]


def test_a_sheet_that_was_not_published_says_so(audit: Audit) -> None:
    with pytest.raises(InputError, match=r"nothing of sheet .* publish it with `tucano audit publish"):
        audit.collect()


def test_an_edited_completion_is_named_by_row(audit: Audit) -> None:
    audit.change(lambda rows: (rows[0], {**rows[1], "completion": "outra"}, rows[2]))
    for ask in (audit.publish, audit.collect):
        with pytest.raises(InputError, match="row 3: its prompt or completion was edited; restore the text"):
            ask()
