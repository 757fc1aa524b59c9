"""Text and JSON as the ground truths read them."""

import json

import pytest

from tasks.commerce.truth_text import number_of, read_object, value_of


@pytest.mark.parametrize("strict", ['{"a": 1}', '\n {"a":1}\n', '{"a": 1.0, "b": [1, {"c": null}]}'])
def test_an_object_alone_is_read(strict: str) -> None:
    assert read_object(strict) == json.loads(strict)


@pytest.mark.parametrize("fenced", ['```json\n{"a": 1}\n```', ' ```\n{"a":\n1}\n```\n\n', '```JSON \n{"a": 1}\n  ```'])
def test_an_object_in_one_fence_is_read(fenced: str) -> None:
    assert read_object(fenced) == {"a": 1}


@pytest.mark.parametrize("broken", [
    "", "nada",
    "[1]", '"a"', '{"a": 1', "{'a': 1}", 'Claro!\n```json\n{"a": 1}\n```', '```json\n{"a": 1}\n```\nPronto.',
    '```\n{"a": 1}\n```\n```\n{"a": 2}\n```', '```json\n{"a": 1}', '```sql\n{"a": 1}\n```', '```json {"a": 1}```',
    'Claro! {"a": 1}', '{"a": 1} Espero ter ajudado.',
    '{"a": 1, "a": 2}', '{"b": {"a": 1, "a": 1}}', '{"a": NaN}', '{"a": 1}{"a": 1}', "[" * 20_000, '{"a":' * 3_900,
    f'{{"a": "{"x" * 20_000}"}}', f'{{"a": {"9" * 5_000}}}',
])  # fmt: skip
def test_text_that_is_not_strict_json_is_no_object(broken: str) -> None:
    assert read_object(broken) is None


@pytest.mark.parametrize(("value", "number"), [
    (1, 1.0), (0.5, 0.5), (True, None), ("0,5", None), (None, None), (float("inf"), None), (10**400, None), ([1], None),
])  # fmt: skip
def test_a_number_is_a_number_of_json(value: object, number: float | None) -> None:
    assert number_of(value) == number


@pytest.mark.parametrize(("written", "value"), [
    ("12.345", 12_345.0), ("4,5", 4.5), ("4.5", 4.5), ("1.234,56", 1_234.56), ("7", 7.0),
])  # fmt: skip
def test_a_number_is_read_as_brazilians_write_it(written: str, value: float) -> None:
    assert value_of(written) == value
