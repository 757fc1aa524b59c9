import json

import pytest
from hypothesis import example, given, settings

from tasks.commerce.text.parser import (
    MAX_CHARACTERS,
    MAX_REPAIR_BRACKETS,
    MAX_REPAIR_QUOTES,
    ParsedObject,
    Reading,
    parse_object,
)
from tests.cases import cases_of
from tests.tasks.commerce.scoring import HOSTILE

CASES = cases_of(__file__)

OBJECT = '{"polarity":"positive","score":5}'
FIELDS = {"polarity": "positive", "score": 5}


@pytest.mark.parametrize(
    ("completion", "needed"),
    [
        (OBJECT, set()),
        (f"\n  {OBJECT}\t\u00a0\n", set()),
        (OBJECT + "\n" * 90_000, set()),
        (f"```json\n{OBJECT}\n```", {Reading.FENCED}),
        (f"```\n{OBJECT}```", {Reading.FENCED}),
        (f"Claro! {OBJECT} Espero ter ajudado!", {Reading.SURROUNDED}),
        (f"Use {{chaves}}: {OBJECT}", {Reading.SURROUNDED}),
        (f"{OBJECT}\n{{}}", {Reading.SURROUNDED}),
        (f"[{OBJECT}]", {Reading.SURROUNDED}),
        (f"<think>Será {{'a': 1}}?</think>\n{OBJECT}", {Reading.THOUGHT}),
        (f"A nota é alta.</think>{OBJECT}", {Reading.THOUGHT}),
        (f"<think>{'x' * MAX_CHARACTERS}</think>{OBJECT}", {Reading.THOUGHT}),
        (f"<think>{OBJECT}", {Reading.DRAFT}),
        (f"<think>A nota é alta: {OBJECT}", {Reading.DRAFT, Reading.SURROUNDED}),
        (f"{OBJECT}\n{OBJECT}", {Reading.SURROUNDED, Reading.REPEATED_OBJECT}),
        (f"{OBJECT[:-1]},{OBJECT[1:]}", {Reading.REPEATED_KEY}),
        ("{'polarity': 'positive', 'score': 5}", {Reading.REPAIRED}),
        ('{"polarity": "positive", "score": 5', {Reading.REPAIRED, Reading.UNFINISHED}),
    ],
)
def test_reads_the_object_and_says_what_it_took(completion: str, needed: set[Reading]) -> None:
    parsed = parse_object(completion)
    assert parsed.value == FIELDS
    assert parsed.needed == needed


@pytest.mark.parametrize(
    "completion",
    [
        *("", "Desculpe, não posso ajudar.", "[1, 2]", "5", '"text"', "texto {", "{" * 9000, "{" * 10000000, "NaN"),
        *('{"a":' * 2000, OBJECT + "x" * MAX_CHARACTERS, '{"a":' + "[" * 200 + "]" * 200 + "}"),
        *("<think>", "</think>", "```json\n```"),
    ],
)
def test_text_without_an_object_has_none(completion: str) -> None:
    assert parse_object(completion) == ParsedObject(None, frozenset(), 0, 0)
    assert parse_object(completion).cleanliness == parse_object(completion).trust == 0.0


@pytest.mark.parametrize(
    ("written", "value"),
    [("0,85", 0.85), ("-4,5", -4.5), ("80%", 0.8), ("12,5 %", 0.125), ("R$ 1.234,56", 1234.56), ("1.234,5", 1234.5)],
)
def test_bare_portuguese_numbers_are_read_without_repair(written: str, value: float) -> None:
    for completion in (f'{{"x": {written}, "y": true}}', f'{{"y": true, "x": {written}\n}}'):
        parsed = parse_object(completion)
        assert parsed.value == {"x": pytest.approx(value), "y": True}
        assert parsed.needed == {Reading.PORTUGUESE_NUMBER}
        assert parsed.cleanliness == parsed.trust == 1.0


def test_a_parser_that_swallows_4_5() -> None:
    assert parse_object('{"x": 4,5}').value == {"x": 4.5}
    assert parse_object('{"x": [4,5]}').value == {"x": [4, 5]}
    assert parse_object('{"x": [4,5], "y": 4,5}').value == {"x": [4, 5], "y": 4.5}
    assert parse_object('{"x": "a: 4,5, \\" b", "y": 4,5}').value == {"x": 'a: 4,5, " b', "y": 4.5}
    assert parse_object('{"x": 1.234, "y": 4,5}').value == {"x": 1.234, "y": 4.5}
    assert parse_object("{'x': 4,5}").value == {"x": 4.5}


@pytest.mark.parametrize("completion", CASES["two_values_of_one_key_are_not_trusted"])
def test_two_values_of_one_key_are_not_trusted(completion: str) -> None:
    parsed = parse_object(completion)
    assert Reading.CONTRADICTED in parsed.needed
    assert max(parsed.cleanliness, parsed.trust) <= 0.1


# json-repair fails an assertion of its own on a code fence in place of a key.
@example('{"```json0```')
@settings(deadline=None, max_examples=300)
@given(HOSTILE)
def test_no_string_raises_and_values_can_be_written_again(completion: str) -> None:
    parsed = parse_object(completion)
    assert 0 <= parsed.cleanliness <= 1
    assert 0 <= parsed.trust <= 1
    assert parsed.value is not None or not parsed.needed
    json.dumps(parsed.value, allow_nan=False).encode()


@pytest.mark.parametrize(
    "completion",
    [
        "{" + sign * (most + 1)
        for sign, most in zip("[('“", [MAX_REPAIR_BRACKETS] * 2 + [MAX_REPAIR_QUOTES] * 2, strict=True)
    ],
)
def test_brackets_and_quotes_beyond_the_caps_are_not_repaired(completion: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("json_repair.repair_json", None)
    assert parse_object(completion).value is None
