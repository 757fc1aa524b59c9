import json
from typing import Any

import polars as pl
import pytest

from tasks.monitor.known_parts import KnownParts, known_parts, with_parts, without_untold


def table(*rows: tuple[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "task": [task for task, _ in rows],
            "reference": pl.Series([reference and json.dumps(reference) for _, reference in rows], dtype=pl.String),
        }
    )


@pytest.mark.parametrize(
    ("task", "reference", "known"),
    [
        ("sentiment", {"polarity": "positive", "score": None, "more": 1}, {"polarity"}),
        ("churn", {"churn": False}, {"churn"}),
        ("churn", {"churn": None}, set()),
        ("insights", {"facts": ["a", 2]}, {"facts"}),
        ("insights", {"facts": []}, set()),
        ("extraction", {"rating": 5, "fields": None}, {"rating"}),
        (
            "extraction",
            {"rating": None, "fields": {"sentiment": "positive", "churn_risk": None, "main_complaint": ""}},
            {"fields.sentiment", "fields.main_complaint"},
        ),
        ("push", None, set()),
    ],
)
def test_what_is_null_or_empty_or_not_asked_for_is_not_known(task: Any, reference: Any, known: set[str]) -> None:
    assert known_parts(table((task, reference))) == {task: KnownParts(frozenset(known), frozenset(known))}


def test_each_knows_what_all_know_and_some_what_any_does() -> None:
    found = known_parts(
        table(
            ("extraction", {"rating": 5, "fields": {"sentiment": "positive", "delivery_issue": True}}),
            ("extraction", {"rating": 1, "fields": {"sentiment": "negative"}}),
            ("push", {"product": "vaso", "offer": None}),
            ("push", None),
        )
    )
    assert found == {
        "extraction": KnownParts(
            frozenset({"rating", "fields.sentiment"}),
            frozenset({"rating", "fields.sentiment", "fields.delivery_issue"}),
        ),
        "push": KnownParts(frozenset(), frozenset({"product"})),
    }


def test_what_not_all_know_is_taken_out_and_nothing_else_is_touched() -> None:
    fields = {"sentiment": "positive", "delivery_issue": True}
    answers = table(
        ("extraction", {"rating": 5, "fields": fields, "note": {"rating": 1}}),
        ("extraction", {"rating": 5, "fields": {"sentiment": "positive"}}),
        ("sentiment", {"polarity": "positive", "score": 5}),
        ("push", None),
    ).with_row_index()
    cut = with_parts(answers, {"extraction": {"rating", "fields.sentiment"}, "sentiment": set()})
    assert cut["index"].equals(answers["index"])
    assert cut["reference"][1] == answers["reference"][1]
    assert json.loads(cut["reference"][0]) == {
        "rating": 5,
        "fields": {"sentiment": "positive", "delivery_issue": None},
        "note": {"rating": 1},
    }
    assert cut["reference"][2:].to_list() == [None, None]


SAID = ("push", {"product": "vaso", "offer": None})


@pytest.mark.parametrize(
    ("tested", "logged", "left"),
    [
        ([SAID, ("push", None)], [SAID, SAID], [SAID]),
        # Where the logs are compared by form anyway, and where the test split knows nothing, every answer counts.
        ([SAID, ("push", None)], [SAID, ("push", None)], [SAID, ("push", None)]),
        ([("push", None)], [SAID], [("push", None)]),
        ([SAID, ("push", None)], [SAID, ("churn", None)], [SAID]),
    ],
)
def test_a_test_prompt_without_a_reference_takes_none_from_logs_that_know_all(
    tested: Any, logged: Any, left: Any
) -> None:
    assert without_untold(table(*tested), table(*logged)).equals(table(*left))
