import ast
from collections.abc import Iterable
from typing import Any

import pytest
from cosmic_ray.mutating import mutate_code

from benchmarks.mutants.operators import OURS, operators, parsed
from benchmarks.mutants.sources import Mutant, all_mutants, closure, sampled, source_of, tasks_of
from schemas.tasks import TASK_NAMES


def texts(operator: Any, source: str) -> set[str]:
    changed: Iterable[str | None] = (mutate_code(source, operator, occurrence) for occurrence in range(20))
    return {text.strip() for text in changed if text is not None}


@pytest.mark.parametrize("operator", OURS, ids=lambda operator: operator.__name__)
def test_an_operator_does_what_its_example_says(operator: Any) -> None:
    before, after = operator.before_and_after()
    assert after.strip() in texts(operator(), before)


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("ScaledNumber", "x = 0.05", {"x = 0.1", "x = 0.025"}),
        ("ScaledNumber", "x = 2", {"x = 4"}),
        ("ScaledNumber", "x = 0", set()),
        ("NumberReplacer", "x = 4000", {"x = 4001", "x = 3999"}),
        ("CountedOnce", "x = faults.count(1)", set()),
        ("UnknownField", 'x = known["score"] + other[0]', {"x = None + other[0]"}),
        ("DroppedItem", "def f():\n    return (1, 2)", set()),
        (
            "DroppedItem",
            'X = frozenset(("a", "b", "c"))',
            {f"X = frozenset(({kept},))" for kept in ('"a", "b"', '"a", "c"', '"b", "c"')},
        ),
        ("DroppedStatement", "def f():\n    if x:\n        return 1\n", {"def f():\n    if x:\n        pass"}),
        ("NegatedMembership", "x = a not in b", {"x = a in b"}),
    ],
)
def test_an_operator_changes_each_place_and_no_other(name: str, source: str, expected: set[str]) -> None:
    assert texts(operators()[name], source) == expected


def test_every_number_of_a_reward_is_mutated() -> None:
    module = "tasks.commerce.sentiment.scorer"
    numbers = sum(node.type == "number" for node in _nodes(parsed(source_of(module))))
    mutants = [mutant for mutant in all_mutants(["sentiment"]) if mutant.module == module]
    assert sum(mutant.operator == "NumberReplacer" for mutant in mutants) == 2 * numbers > 0


def test_a_mutant_is_another_program() -> None:
    mutants = sampled(all_mutants(["sentiment"]), 20, seed=1)
    assert mutants == sampled(all_mutants(["sentiment"]), 20, seed=1)
    for mutant in mutants:
        assert ast.dump(ast.parse(mutant.source)) != ast.dump(ast.parse(source_of(mutant.module)))
        assert mutant.place.startswith("tasks/commerce/")


def test_modules_of_a_task_are_its_closure() -> None:
    assert "tasks.commerce.text.parser" in closure("sentiment")
    assert "tasks.commerce.push.scorer" not in closure("sentiment")
    assert tasks_of("tasks.commerce.reward") == list(TASK_NAMES)


def test_a_change_is_shown_before_and_after() -> None:
    module = "tasks.commerce.sentiment.scorer"
    mutant = next(each for each in all_mutants(["sentiment"]) if each.module == module and "0.42" in each.change)
    assert isinstance(mutant, Mutant)
    assert " -> " in mutant.change


def _nodes(node: Any) -> Iterable[Any]:
    yield node
    for child in getattr(node, "children", ()):
        yield from _nodes(child)
