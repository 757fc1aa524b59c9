"""Extraction with a copied complaint as a task: its examples, its right answers and the grammar of each prompt."""

import json
import random
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from schemas.store.store import Store
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.extraction.quotation import fault_of, review_of
from tasks.commerce.registry import TASKS
from tests.tasks.commerce.extraction.test_scorer import FIELDS
from tests.tasks.commerce.scoring import writes

CASES = json.loads(Path(__file__).with_name("quotations.json").read_text(encoding="utf-8"))
TASK = TASKS["extraction"]


def test_a_real_review_is_quoted_where_it_plainly_complains(real_store: Store) -> None:
    found = list(EXAMPLE_MAKERS["extraction"](real_store, random.Random(1), 60))
    told = {each.reference["complaint_words"] for each in found}
    assert len(told) > 3
    assert all(each.system == TASK.system and words is not None for each in found for words in told)
    same = {each.prompt for each in EXAMPLE_MAKERS["extraction"](real_store, random.Random(1), 60)}
    assert {each.prompt for each in found} <= same


def test_a_complaint_that_the_review_does_not_make_is_no_prompt(store: Store) -> None:
    assert store.review_causes is not None
    causes = store.review_causes.with_columns(
        complaint_words=pl.when(pl.col("main_complaint") == "atraso na entrega").then(pl.lit("")).otherwise(pl.lit("x"))
    )
    made = EXAMPLE_MAKERS["extraction"](replace(store, review_causes=causes), random.Random(1), 200)
    assert "atraso na entrega" not in {each.reference["fields"]["main_complaint"] for each in made}


@pytest.mark.parametrize("fields", CASES["fields_that_contradict_each_other_are_not_checked"])
def test_fields_that_contradict_each_other_are_not_checked(fields: dict[str, object]) -> None:
    answer = json.dumps(FIELDS | {"main_complaint": "veio quebrado"} | fields)
    served = TASK.serve(answer, "Extraia.\nAvaliação: veio quebrado", None)
    assert not served.checked and served.parsed == FIELDS | {"main_complaint": "veio quebrado"} | fields
    assert served.reason and "contradizem" in served.reason


def test_the_grammar_singles_no_words_out_that_are_sensitive_together() -> None:
    prompt = "Extraia.\nAvaliação: sou surdo e veio quebrado, tenho deficiência visual e caro"
    assert writes_complaint("veio quebrado", prompt)
    assert not writes_complaint("tenho deficiência visual", prompt)


def writes_complaint(complaint: str, prompt: str, **changes: object) -> bool:
    fields = FIELDS | {"main_complaint": complaint} | changes
    return writes("extraction", json.dumps(fields, ensure_ascii=False, separators=(",", ":")), prompt)


REVIEW = 'A caixa "lacrada" veio com\n\to código C:\\temp\\novo, aberta! 😡 Não é 100% nova'


@pytest.mark.parametrize(("complaint", "is_written"), CASES["guided"])
def test_the_grammar_holds_a_complaint_to_the_words_of_its_review(complaint: str, is_written: bool) -> None:
    prompt = f"Extraia.\nAvaliação: {REVIEW}"
    assert writes_complaint(complaint, prompt) == is_written
    assert not is_written or fault_of(complaint, review_of(prompt)) is None


def test_the_grammar_ends_a_complaint_after_twelve_words() -> None:
    review = " ".join(f"palavra{number}" for number in range(30))
    prompt = f"Extraia.\nAvaliação: {review}"
    assert writes_complaint(" ".join(review.split()[3:15]), prompt)
    assert not writes_complaint(" ".join(review.split()[3:16]), prompt)
    assert not writes_complaint("palavra1", prompt, sentiment_score=6)
