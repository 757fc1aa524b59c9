"""Traces of a person: their ids and texts in every form that a log has them in, and nobody else's."""

import json
from functools import partial
from pathlib import Path
from typing import Final

import polars as pl
import pytest

from schemas.store.store import Person
from tasks.lineage.erase.traces import Forms, FoundBy, Traces, traces_of
from tasks.lineage.store.artifacts import ArtifactStore
from tasks.lineage.store.inventory import read_inventory
from tasks.personal_data.scrub import scrub
from tasks.synthesize.own.identities import pseudonym
from tests.cases import cases_of
from tests.tasks.lineage.made import commit

CASES = cases_of(__file__)

FORMS: Final = Forms(lambda text: scrub(text)[0])
KEY: Final = b"k" * 32
ANA, RUI = "a" * 32, "b" * 32
PERSON: Final = Person(frozenset({ANA}), frozenset({"o-ana"}), frozenset({"r-ana"}), frozenset({"p-ana"}))
CPF: Final = "529.982.247-25"


def traces(tmp_path: Path, own: str, *others: str, person: Person = PERSON, as_reviews: bool = False) -> Traces:
    """Return Ana's traces where artifacts have a text of hers, and texts of others, as prompts or as reviews."""
    texts = [own, *others]
    if as_reviews:
        ids = ["r-ana", *(f"r-{place}" for place in range(len(others)))]
        table = pl.DataFrame({"review_id": ids, "order_id": ids, "review_comment_message": texts})
        files: dict[str, str | bytes | pl.DataFrame] = {"store/olist_order_reviews_dataset.csv": table}
    else:
        rows = {"prompt_id": ["p-ana", *("p-rui" for _ in others)], "customer_id": [ANA, *(RUI for _ in others)]}
        files = {
            "prompts.parquet": pl.DataFrame({**rows, "prompt": [f"Classifique.\nAvaliação: {each}" for each in texts]})
        }
    commit(ArtifactStore(tmp_path), "prompts", files)
    return traces_of(read_inventory(tmp_path), person, ANA, FORMS)


def found(traces: Traces, prompt: str, **more: object) -> FoundBy | None:
    return traces.found([prompt, *map(str, more.values())], prompt)


@pytest.mark.parametrize("as_reviews", [True, False])
@pytest.mark.parametrize(("text", "asked"), CASES["a_text_is_found_scrubbed_or_not_and_with_other_words_around_it"])
def test_a_text_is_found_scrubbed_or_not_and_with_other_words_around_it(
    tmp_path: Path, text: str, asked: str, as_reviews: bool
) -> None:
    assert found(traces(tmp_path, text, as_reviews=as_reviews), asked) == "text"


@pytest.mark.parametrize("as_reviews", [True, False])
@pytest.mark.parametrize(("own", "other", "asked"), CASES["a_text_that_may_be_somebody_elses_is_in_doubt"])
def test_a_text_that_may_be_somebody_elses_is_in_doubt(
    tmp_path: Path, own: str, other: str, asked: str, as_reviews: bool
) -> None:
    assert found(traces(tmp_path, own, other, as_reviews=as_reviews), asked) == "doubtful"


@pytest.mark.parametrize(("own", "other", "asked"), CASES["texts_of_others_are_nobodys_trace"])
def test_texts_of_others_are_nobodys_trace(tmp_path: Path, own: str, other: str, asked: str) -> None:
    assert found(traces(tmp_path, own, other), asked) is None


def test_a_prompt_that_nobody_else_has_is_found_however_short(tmp_path: Path) -> None:
    assert found(traces(tmp_path, "Furado", "Ótimo"), "classifique.\nAvaliação: furado") == "text"


@pytest.mark.parametrize(
    "said", [CPF, "52998224725", "cpf 529 982 247 25, pedido 3", f"({CPF})", f"cliente:{CPF}.", '{"cpf": 52998224725}']
)
@pytest.mark.parametrize("given", [CPF, "52998224725"])
def test_an_id_with_a_pseudonym_is_found_as_people_write_it(tmp_path: Path, given: str, said: str) -> None:
    forms = Forms(FORMS.scrub, partial(pseudonym, KEY))
    person = Person(frozenset({pseudonym(KEY, given)}), frozenset(), frozenset(), frozenset())
    theirs = traces_of(read_inventory(tmp_path), person, given, forms)
    assert theirs.are_in_json(json.dumps({"answer": said}))
    assert not theirs.are_in_json(json.dumps({"answer": f"1{said.replace('529', '528')}"}))


@pytest.mark.parametrize("sign", ["(", "+", "1("])
def test_an_answer_of_signs_without_end_is_read_once(sign: str) -> None:
    """Read from each sign to the end of the row, it would take hours."""
    theirs = Traces(frozenset(), (), (pseudonym(KEY, CPF),), forms=Forms(FORMS.scrub, partial(pseudonym, KEY)))
    assert theirs.found([sign * 1_000_000], None) is None
    assert theirs.found([f"{sign * 1_000_000} {CPF}"], None) == "id"


@pytest.mark.parametrize(("said", "found"), CASES["an_id_is_found_as_a_whole_and_not_within_another"])
def test_an_id_is_found_as_a_whole_and_not_within_another(said: str, found: bool) -> None:
    traces = Traces(frozenset(), (), ("10012002",))
    assert traces.are_in_json(json.dumps({"answer": said})) is found
    assert (traces.found([said], None) == "id") is found


def test_a_short_id_is_not_looked_for_and_its_kind_is_named(tmp_path: Path) -> None:
    person = Person(frozenset(), frozenset({"7"}), frozenset({"r" * 32}), frozenset())
    traces = traces_of(read_inventory(tmp_path), person, "7", FORMS)
    assert traces.ids == ("r" * 32,)
    (sentence,) = traces.unsearched
    assert "not searched for the order_id" in sentence
    assert "7" not in sentence
