import json

import orjson
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.stages.monitor import scrubbed_texts as scrub
from tasks.monitor.scrubbing import scrubbed, scrubbed_references

CPF = "529.982.247-25"


def cleaned(document: object) -> object:
    # As a table holds it: with escapes for all that is no ASCII.
    return json.loads(scrubbed_references(pl.Series([json.dumps(document)]), scrub)[0])


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("529.982.247\u201125", "CPF"),
        ("529.982.247\u201325", "CPF"),
        ("ana\uff20example.com", "EMAIL"),
        ("\uff15\uff12\uff19.982.247-25", "CPF"),
        (CPF, "CPF"),
    ],
)
def test_what_an_escape_would_hide_is_found_in_values_and_keys(written: str, kind: str) -> None:
    found = cleaned({"note": [f"de {written}"], f"chave {written}": {"a": None}})
    assert found == {"note": [f"de [{kind}]"], f"chave [{kind}]": {"a": None}}


@pytest.mark.parametrize("number", [52998224725, 52998224725.0])
def test_a_number_that_is_a_persons_becomes_a_text(number: float) -> None:
    assert cleaned({"product": "vaso", "n": number, "rating": 5}) == {"product": "vaso", "n": "[CPF]", "rating": 5}


def test_a_key_that_is_there_twice_hides_nothing() -> None:
    text = '{"product": "' + CPF + '", "product": "vaso", "offer": null}'
    assert scrubbed_references(pl.Series([text]), scrub).to_list() == ['{"product":"vaso","offer":null}']


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-999, 999) | st.sampled_from([0.5, 2.25, 3.0]) | st.text(max_size=4),
        lambda parts: st.lists(parts, max_size=3) | st.dictionaries(st.text(max_size=3), parts, max_size=3),
        max_leaves=8,
    )
)
def test_a_document_without_personal_data_stays_what_it_is(document: object) -> None:
    (clean,) = scrubbed_references(pl.Series([orjson.dumps(document).decode()]), lambda texts: texts)
    assert orjson.loads(clean) == document


def test_every_answer_gets_its_own_clean_texts() -> None:
    table = pl.DataFrame(
        {
            "prompt": [f"de {CPF}", "a", f"de {CPF}"],
            "completion": ["b", f"para {CPF}", "c"],
            "reference": [None, json.dumps({"x": CPF}), json.dumps({"x": "y"})],
        }
    )
    clean = scrubbed(table, scrub)
    assert clean["prompt"].to_list() == ["de [CPF]", "a", "de [CPF]"]
    assert clean["completion"].to_list() == ["b", "para [CPF]", "c"]
    assert clean["reference"].to_list() == [None, '{"x":"[CPF]"}', '{"x":"y"}']
