"""Completions are published in MLflow once and as they are, and people's answers come back without their names."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from schemas.errors import InputError
from schemas.progress import silent
from tasks.lineage.erase.traces import Traces
from tasks.lineage.mlflow import review_queue
from tasks.lineage.mlflow.removal import Removal
from tasks.lineage.mlflow.review_queue import (
    CUT_OFF,
    EMPTY,
    PREVIEW_CHARACTERS,
    QueuedCompletion,
    RaterQuestion,
    ReviewStore,
    as_preview,
    review_store,
)

QUESTION = RaterQuestion("Nota (push)", "Dê uma nota.", ("2 – serve", "1 – não serve"))
HOSTILE = [
    '{"a": 1.0, "a": 2}',
    "```sql\nSELECT 1;\n```",
    "<img src=x onerror=alert(1)> ![x](http://example.com/x.png)",
    "1. um\n\n\n   - dois *três* _quatro_ | a | b |\n|---|---|\n# fim",
    "  ` `` ``` ",
    "\\",
    "",
]


def completion(number: int, text: str = "Compre já", task: str = "push") -> QueuedCompletion:
    return QueuedCompletion(f"{number:012}", task, f"Pedido {number}\nem duas linhas", text)


COMPLETIONS = tuple(completion(number, text) for number, text in enumerate(HOSTILE))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mlflow")


@pytest.fixture(scope="module")
def uri(folder: Path) -> str:
    return f"sqlite:///{folder / 'mlflow.db'}"


@pytest.fixture
def store(folder: Path, uri: str, request: pytest.FixtureRequest) -> Iterator[ReviewStore]:
    """Give each test an experiment of its own."""
    with review_store(uri, folder / "artifacts", request.node.name) as opened:
        yield opened


def traces(store: ReviewStore) -> list[Any]:
    """Return the traces as the page orders them: the newest first."""
    found = store._client.search_traces(locations=[store._experiment_id])
    return sorted(found, key=lambda trace: -trace.info.request_time)


def queue_items(queue_id: str) -> list[str]:
    from mlflow.genai.review_queues import list_review_queue_items

    return [item.item_id for item in list_review_queue_items(queue_id)]


def answer(
    trace_id: str, value: object, source: str, notes: str | None = None, overrides: str | None = None, **more: Any
) -> str:
    """Answer as MLflow's page does: a new assessment, which overrides the person's earlier one."""
    from mlflow.entities import AssessmentSource, Feedback
    from mlflow.tracing.client import TracingClient

    given = Feedback(
        name=more.get("name", QUESTION.title),
        value=value,
        rationale=notes,
        source=AssessmentSource(source_type=more.get("source_type", "HUMAN"), source_id=source),
        overrides=overrides,
    )
    return str(TracingClient().log_assessment(trace_id, given).assessment_id)


def as_page_shows(markdown: str) -> str:
    """Return the text that a reader of rendered Markdown sees; only code and line breaks are let through."""
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(markdown)
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    parts = tokens[1].children or []
    assert {part.type for part in parts} <= {"code_inline", "hardbreak"}
    return "".join("\n" if part.type == "hardbreak" else part.content for part in parts)


def test_a_persons_traces_are_removed_and_the_rest_stays(store: ReviewStore, folder: Path, uri: str) -> None:
    words = Traces(frozenset(), ("não serviu, veio pequeno",), ())
    theirs = replace(COMPLETIONS[0], prompt="Resuma.\nAvaliação: não serviu, veio pequeno")
    store.publish([theirs, *COMPLETIONS[1:3]], "sheet", silent)
    removal = Removal(uri, folder / "artifacts", "none")
    assert removal.traces(words.are_in_json) == 1
    assert removal.traces(words.are_in_json) == 0
    left = {trace.info.tags["audit_id"] for trace in traces(store)}
    assert left == {each.audit_id for each in COMPLETIONS[1:3]}


MARKS = "ab `\\\n*_#>|-<[]()!&1.~\t{}"
TEXTS = st.text(MARKS, max_size=80) | st.text(max_size=80) | st.sampled_from(HOSTILE)


@settings(deadline=None, max_examples=300)
@given(TEXTS)
def test_the_page_shows_every_text_as_it_is(text: str) -> None:
    kept = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    if not kept.strip("\n"):
        assert as_preview(kept) == EMPTY
    else:
        assert as_page_shows(as_preview(kept)) == kept.rstrip("\n")


@pytest.mark.parametrize("text", ["x" * 5000, "`" * 1500, "linha\n" * 900, "` x `` " * 300])
def test_a_text_that_a_preview_cannot_hold_is_cut_off_and_says_so(text: str) -> None:
    preview = as_preview(text)
    assert len(preview) <= PREVIEW_CHARACTERS
    assert preview.endswith(CUT_OFF)
    shown = as_page_shows(preview.removesuffix(CUT_OFF))
    assert len(shown) > 400
    assert text.startswith(shown)


@pytest.mark.integration
def test_publishes_each_completion_once_whole_and_in_order(store: ReviewStore) -> None:
    reports: list[int] = []
    assert store.publish(COMPLETIONS, "sheet-1", lambda done, total, text: reports.append(done)) == len(COMPLETIONS)
    assert store.publish(COMPLETIONS, "sheet-1", silent) == 0
    found = traces(store)
    assert [trace.info.tags["audit_id"] for trace in found] == [one.audit_id for one in COMPLETIONS]
    assert [trace.data.spans[0].inputs["prompt"] for trace in found] == [one.prompt for one in COMPLETIONS]
    assert [trace.data.spans[0].outputs["completion"] for trace in found] == HOSTILE
    assert [trace.info.request_preview for trace in found] == [as_preview(one.prompt) for one in COMPLETIONS]
    assert [trace.info.response_preview for trace in found] == [as_preview(text) for text in HOSTILE]
    assert {trace.info.tags["sheet"] for trace in found} == {"sheet-1"}
    assert {trace.info.tags["mlflow.traceName"] for trace in found} == {"push"}
    assert reports[-1] == len(COMPLETIONS)


@pytest.mark.integration
def test_traces_hold_nothing_of_who_published(store: ReviewStore) -> None:
    store.publish(COMPLETIONS, "sheet-1", silent)
    for trace in traces(store):
        assert trace.info.trace_metadata == {}
        assert set(trace.info.tags) == {
            "audit_id",
            "sheet",
            "mlflow.traceName",
            "mlflow.artifactLocation",
            "mlflow.trace.spansLocation",
        }
        (span,) = trace.data.spans
        assert set(span.inputs) == {"prompt", "messages"}
        assert set(span.outputs) == {"completion", "choices"}


@pytest.mark.integration
def test_a_publication_that_was_killed_is_completed(store: ReviewStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(review_queue, "_TRACES_AT_ONCE", 3)

    def killed(done: int, total: int, text: str) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.publish(COMPLETIONS, "sheet-1", killed)
    assert len(traces(store)) == 3
    assert store.publish(COMPLETIONS, "sheet-1", silent) == len(COMPLETIONS) - 3
    assert [trace.info.tags["audit_id"] for trace in traces(store)] == [one.audit_id for one in COMPLETIONS]


@pytest.mark.integration
def test_a_queue_asks_its_question_about_each_completion_once(store: ReviewStore) -> None:
    from mlflow.genai.label_schemas import get_label_schema
    from mlflow.genai.review_queues import get_review_queue, list_review_queues, set_review_queue_item_status

    store.publish(COMPLETIONS, "sheet-1", silent)
    queue_id = store.publish_queue("push · 1", QUESTION, COMPLETIONS[:2])
    done = queue_items(queue_id)[0]
    set_review_queue_item_status(queue_id, item_id=done, status="complete", completed_by="ana")
    assert store.publish_queue("push · 1", QUESTION, COMPLETIONS) == queue_id
    assert sorted(queue_items(queue_id)) == sorted(trace.info.trace_id for trace in traces(store))
    (queue,) = list_review_queues(experiment_id=store._experiment_id)
    (schema_id,) = get_review_queue(queue.queue_id).schema_ids
    schema = get_label_schema(schema_id=schema_id)
    assert (schema.name, schema.instruction) == (QUESTION.title, QUESTION.instruction)
    assert tuple(schema.input.options) == QUESTION.options
    assert schema.enable_comment


@pytest.mark.integration
def test_a_rubric_that_was_rewritten_is_the_one_that_is_shown(store: ReviewStore) -> None:
    from mlflow.genai.label_schemas import get_label_schema

    store.publish(COMPLETIONS, "sheet-1", silent)
    store.publish_queue("push · 1", QUESTION, COMPLETIONS)
    store.publish_queue("push · 1", replace(QUESTION, instruction="Dê outra nota."), COMPLETIONS)
    assert get_label_schema(QUESTION.title, experiment_id=store._experiment_id).instruction == "Dê outra nota."


@pytest.mark.integration
def test_tells_peoples_answers_from_others_and_knows_who_is_who_without_their_names(store: ReviewStore) -> None:
    store.publish(COMPLETIONS, "sheet-1", silent)
    first, second, *_ = [trace.info.trace_id for trace in traces(store)]
    old = answer(first, "1 – não serve", "ana@example.com", "ruim")
    answer(first, "2 – serve", "Ana@example.com ", "mudei", overrides=old)
    answer(second, "1 – não serve", "bia@example.com")
    answer(second, 2, "gpt", source_type="LLM_JUDGE")
    answer(second, 2, "score.py", source_type="CODE")
    found = store.answers(COMPLETIONS)
    assert (found.published, found.of_others) == (len(COMPLETIONS), 2)
    assert sorted((one.audit_id, one.value, one.notes, one.holds) for one in found.of_people) == [
        (COMPLETIONS[0].audit_id, "1 – não serve", "ruim", False),
        (COMPLETIONS[0].audit_id, "2 – serve", "mudei", True),
        (COMPLETIONS[1].audit_id, "1 – não serve", "", True),
    ]
    assert len({one.rater for one in found.of_people}) == 2
    assert "example.com" not in repr(found)
    assert store.answers([completion(99)]).published == 0


@pytest.mark.integration
def test_pseudonyms_are_kept_with_the_experiment(store: ReviewStore, folder: Path, uri: str) -> None:
    assert store.pseudonyms() == {}
    store.keep_pseudonym("0123abcd", "mlflow-1")
    store.keep_pseudonym("4567abcd", "mlflow-2")
    with review_store(uri, folder / "artifacts", store._client.get_experiment(store._experiment_id).name) as again:
        assert again.pseudonyms() == {"0123abcd": "mlflow-1", "4567abcd": "mlflow-2"}


@pytest.mark.integration
def test_more_completions_than_a_page_of_mlflow_are_all_found(
    store: ReviewStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(review_queue, "_TRACES_A_PAGE", 3)
    store.publish(COMPLETIONS, "sheet-1", silent)
    assert store.answers(COMPLETIONS).published == len(COMPLETIONS)


@pytest.mark.integration
def test_a_refusal_of_mlflow_is_one_sentence_without_its_words(folder: Path, uri: str) -> None:
    too_long = replace(QUESTION, instruction="segredo " * 200)
    with (
        pytest.raises(InputError, match=r"MLflow at sqlite:.*INVALID_PARAMETER_VALUE.*run the same command") as caught,
        review_store(uri, folder / "artifacts", "refused") as store,
    ):
        store.publish_queue("push · 1", too_long, COMPLETIONS)
    assert "segredo" not in str(caught.value)


@pytest.mark.integration
def test_nothing_is_written_where_the_command_was_started(
    folder: Path, uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mlflow

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    mlflow.set_tracking_uri(None)
    with review_store(uri, folder / "artifacts", "elsewhere") as store:
        publish_all(store, COMPLETIONS)
        store.answers(COMPLETIONS)
    assert list(tmp_path.iterdir()) == []


def publish_all(store: ReviewStore, completions: Sequence[QueuedCompletion]) -> None:
    store.publish(completions, "sheet-1", silent)
    store.publish_queue("push · 1", QUESTION, completions)
