"""What is missing, differs or is there besides is reported thing by thing and field by field."""

from typing import Any
from uuid import uuid4

from hypothesis import given
from hypothesis import strategies as st

from flows.deploy.plan import Found, Wanted, compare, differences

VALUES = st.one_of(st.booleans(), st.integers(), st.text(max_size=3), st.lists(st.integers(), max_size=2))
SECTIONS = st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3)
DOCUMENTS = st.dictionaries(st.sampled_from("abc"), st.one_of(VALUES, SECTIONS), max_size=3)


@given(DOCUMENTS, DOCUMENTS)
def test_two_documents_differ_where_and_only_where_a_difference_is_reported(here: Any, there: Any) -> None:
    found = list(differences(here, there))
    assert (found == []) == (here == there)
    assert [(each.here, each.there) for each in differences(there, here)] == [(each.there, each.here) for each in found]


def test_the_way_to_a_value_is_reported_and_what_one_side_lacks_is_none() -> None:
    here = {"parameters": {"config": {"seed": 7}}, "tags": ["a"]}
    there = {"parameters": {"config": {"seed": 42}, "until": "audit"}, "tags": ["a"]}
    assert [(each.field, each.here, each.there) for each in differences(here, there)] == [
        ("parameters.config.seed", 7, 42),
        ("parameters.until", None, "audit"),
    ]


def test_a_thing_is_missing_or_differs_or_is_the_same_or_is_there_besides() -> None:
    wanted = [Wanted("work pool", name, {"limit": 1}, lambda *_: None) for name in ("one", "two", "three")]
    found = [
        Found("work pool", "two", uuid4(), {"limit": 2}),
        Found("work pool", "three", uuid4(), {"limit": 1}),
        Found("deployment", "one", uuid4(), {}),
    ]
    plan = compare(wanted, found, ["look"])
    assert [change.status for change in plan.changes] == ["missing", "differs", "same"]
    assert [change.wanted.name for change in plan.due] == ["one", "two"]
    assert plan.besides == (("deployment", "one"),)
    assert plan.warnings == ("look",)
