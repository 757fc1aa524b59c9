import random

import pytest

from schemas.store import Store
from tasks.commerce.sandbox import Databases
from tasks.commerce.sql_qa import proves_something
from tasks.commerce.sql_questions import FAMILIES, Family, Values


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_each_family_has_short_queries_that_run_and_tell_something(
    family: Family, store: Store, databases: Databases
) -> None:
    values, generator = Values.of(store), random.Random(4)
    questions = [family(values, generator) for _ in range(40)]
    results = [databases.run_reference(question.sql) for question in questions]
    assert all(len(question.sql) <= 200 for question in questions)
    assert all(execution.refusal is None for result in results for execution in result)
    assert any(map(proves_something, results))
    assert len({question.sql for question in questions}) > 2


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_each_parameter_is_told_in_the_question(family: Family, store: Store) -> None:
    values, generator = Values.of(store), random.Random(8)
    by_text: dict[str, str] = {}
    for _ in range(60):
        question = family(values, generator)
        assert by_text.setdefault(question.text, question.sql) == question.sql
