import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.commerce.parser import MAX_CHARACTERS, Reading, parse_object

OBJECT = '{"polarity":"positive","score":5}'


@pytest.mark.parametrize(
    ("completion", "reading"),
    [
        (OBJECT, Reading.STRICT),
        (f"\n  {OBJECT}\t\n", Reading.STRICT),
        (f"```json\n{OBJECT}\n```", Reading.SURROUNDED),
        (f"Claro! {OBJECT} Espero ter ajudado!", Reading.SURROUNDED),
        (f"Use {{chaves}}: {OBJECT}", Reading.SURROUNDED),
        (f"{OBJECT}\n{{}}", Reading.SURROUNDED),
        ("{'polarity': 'positive', 'score': 5}", Reading.REPAIRED),
        ('{"polarity": "positive", "score": 5', Reading.REPAIRED),
    ],
)
def test_reads_the_object_and_says_what_it_took(completion: str, reading: Reading) -> None:
    parsed = parse_object(completion)
    assert parsed.value == {"polarity": "positive", "score": 5}
    assert parsed.reading is reading


@pytest.mark.parametrize(
    "completion",
    ["", "Desculpe, não posso ajudar.", "[1, 2]", "5", '"text"', "texto {", "{" * 9_000, '{"a":' * 2_000, "NaN"],
)
def test_what_holds_no_object_has_none(completion: str) -> None:
    assert parse_object(completion).value is None


def test_portuguese_decimals_are_read_without_repair() -> None:
    parsed = parse_object('{"risk_score": 0,85, "churn": true}')
    assert parsed.value == {"risk_score": 0.85, "churn": True}
    assert parsed.reading is Reading.STRICT


def test_cleanliness_falls_with_chatter_and_again_with_repair() -> None:
    grades = [
        parse_object(completion).cleanliness
        for completion in (OBJECT, f"Aqui: {OBJECT}", f"Aqui está a resposta: {OBJECT}", OBJECT[:-1], "nada")
    ]
    assert grades[0] == 1.0
    assert grades == sorted(grades, reverse=True)
    assert len(set(grades)) == len(grades)


def test_repaired_content_is_trusted_less() -> None:
    assert parse_object(OBJECT).trust == parse_object(f"Aqui: {OBJECT}").trust == 1.0
    assert 0 < parse_object(OBJECT[:-1]).trust < 1.0


def test_chatter_behind_a_desert_of_spaces_is_chatter() -> None:
    assert parse_object(OBJECT + " " * MAX_CHARACTERS + "chatter").reading is Reading.SURROUNDED


def test_infinite_numbers_and_lone_surrogates_are_no_json() -> None:
    assert parse_object('{"score": Infinity}').reading is not Reading.STRICT
    assert parse_object('{"a": "\\ud800"}').value is None


@given(st.text(alphabet="{}[]\",:0123456789 \\\ntrufalsen'", max_size=300))
def test_no_string_raises_and_values_can_be_written_again(completion: str) -> None:
    parsed = parse_object(completion)
    assert 0 <= parsed.cleanliness <= 1
    assert (parsed.value is None) == (parsed.reading is Reading.NONE)


@pytest.mark.parametrize(
    "completion",
    [
        "{" * 100_000,
        "[" * 100_000,
        '{"a":[' * 20_000,
        '{"a":"' * 20_000,
        "{'a':" * 3_000,
        '{"a":1,' * 700,
        "\n" * 99_999,
    ],
)
def test_hostile_lengths_cost_little_processor_time(completion: str) -> None:
    started = time.process_time()
    parse_object(completion)
    assert time.process_time() - started < 0.5
