import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from schemas.documents import Rollout
from schemas.tables.prompts import PromptRow
from schemas.tasks import TaskName
from tasks.bag_of_words import bag as bags
from tasks.bag_of_words.bag import BagOfWords, learn, read_bags, write_bags
from tasks.bag_of_words.repair import repaired
from tasks.commerce.registry import TASKS
from tests.cases import cases_of
from tests.tasks.curate.prompt_rows import prompt_row

CASES = cases_of(__file__)


def review(text: str, polarity: str | None, score: int | None) -> PromptRow:
    return prompt_row("sentiment", f"Gostou?\nAvaliação: {text}", {"polarity": polarity, "score": score})


REVIEWS = [
    *(review(f"adorei, recomendo {number}", "positive", 5) for number in range(12)),
    *(review(f"razoável {number}", "neutral", 3) for number in range(6)),
    *(review(f"veio quebrado {number}", "negative", 1) for number in range(6)),
    review("veio quebrado mesmo", "negative", 2),
]


def learned(task: TaskName, rows: Sequence[PromptRow], seed: int = 1) -> BagOfWords:
    found = learn(task, rows, random.Random(seed))
    assert found is not None
    return found


def said(bag: BagOfWords, text: str) -> dict[str, Any]:
    """Return the fields of an answer, which the gateway gives away as a whole."""
    prompt = text if bag.task == "churn" else f"O que diz?\nAvaliação: {text}"
    completion = bag.answer(prompt)
    assert TASKS[bag.task].serve(completion, prompt, None).checked
    fields: dict[str, Any] = json.loads(completion)
    return fields


def test_a_review_has_the_polarity_of_its_words_and_the_stars_that_go_with_it_most_often() -> None:
    bag = learned("sentiment", REVIEWS)
    assert said(bag, "ADOREI!") == {"polarity": "positive", "score": 5}
    assert said(bag, "chegou quebrado") == {"polarity": "negative", "score": 1}
    # The instruction is no part of the review, and unseen words decide nothing.
    assert bag.answer("quebrado veio quebrado?\nAvaliação: palavra inédita") == bag.answer("Avaliação: 👍")
    assert said(bag, "palavra inédita")["polarity"] == "positive"


def test_stars_alone_are_a_label_and_prompts_without_any_train_nothing() -> None:
    unknown = [review("adorei", None, None)] * 3
    assert said(learned("sentiment", [*unknown, review("ruim", None, 1)]), "adorei")["polarity"] == "negative"
    assert learned("sentiment", [*unknown, *REVIEWS]).rows == len(REVIEWS)
    assert learn("sentiment", unknown, random.Random(1)) is None
    assert learn("push", [prompt_row("push", "a", {"product": "a", "offer": "b"})], random.Random(1)) is None


NO_WORDS = [review("👍", "positive", 5), review("👎", "negative", 1), review("!!!", "positive", 5)]


@pytest.mark.parametrize("rows", [REVIEWS[:1], REVIEWS[:5], [REVIEWS[0], REVIEWS[12], REVIEWS[18]], NO_WORDS])
def test_few_rows_one_class_and_reviews_without_a_word_give_answers(rows: list[PromptRow]) -> None:
    assert said(learned("sentiment", rows), "adorei, recomendo")["polarity"] == "positive"


def test_a_category_brings_the_fields_that_go_with_it_and_no_words_of_another_review() -> None:
    def row(text: str, category: str | None) -> PromptRow:
        late = category == "delivery"
        fields = {"complaint_category": category, "main_complaint": text if late else ""}
        return prompt_row("extraction", f"Leia.\nAvaliação: {text}", {"rating": 1 if late else 5, "fields": fields})

    rows = [row(f"atrasou {n}", "delivery") for n in range(6)] + [row(f"perfeito {n}", "none") for n in range(6)]
    bag = learned("extraction", [*rows, row("perfeito", None)])
    assert bag.rows == len(rows)
    found = said(bag, "atrasou")
    assert (found["complaint_category"], found["delivery_issue"], found["sentiment"]) == ("delivery", True, "negative")
    assert found["main_complaint"] == ""
    assert said(bag, "perfeito")["complaint_category"] == "none"


def profile(days: int, state: str = "SP") -> str:
    lines = f"Estado: {state}\nPedidos: 1\nTotal gasto: R$ 1.0{days % 90:02},90\nDias desde a última compra: {days}"
    return f"Este cliente volta?\n{lines}\nÚltima nota: sem avaliação"


def test_a_forecast_has_the_risk_of_the_profiles_lines_and_its_own_lines_as_reasons() -> None:
    rows = [prompt_row("churn", profile(day), {"churn": day > 200, "profile": {}}) for day in range(10, 400, 10)]
    bag = learned("churn", rows)
    stays, leaves = (said(bag, profile(days, state="AC")) for days in (15, 380))
    assert stays["risk_score"] < 0.2 and leaves["risk_score"] > 0.8 and leaves["churn"] is True
    lines = {"Pedidos": "1", "Dias desde a última compra": "380", "Total gasto": "R$ 1.020,90"}
    asked = prompt_row("churn", profile(380), {"churn": True, "profile": lines})
    assert TASKS["churn"].metric([asked.answered(bag.answer(asked.prompt))], None)["all_kept"] == 1.0
    # Of those who all left nobody is sure to the last.
    assert said(learned("churn", rows[-5:]), profile(15))["risk_score"] == 0.99


def test_equal_rows_and_seeds_are_equal_bytes_and_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_bags(tmp_path) == {}
    monkeypatch.setattr(bags, "MAX_ROWS", 10)
    first, again, other = (learned("sentiment", REVIEWS, seed) for seed in (1, 1, 2))
    assert first.model_dump_json() == again.model_dump_json() != other.model_dump_json()
    assert first.rows == 10
    write_bags({"sentiment": first}, tmp_path)
    assert read_bags(tmp_path) == {"sentiment": first}


@pytest.mark.parametrize(("task", "completion", "right"), CASES["broken_json_is_repaired_unless_it_says_two_things"])
def test_broken_json_is_repaired_unless_it_says_two_things(task: TaskName, completion: str, right: float) -> None:
    reference = {"polarity": "positive", "score": 5, "product": None, "offer": None}
    strict = Rollout(prompt_id="a", task=task, prompt="?", completion=completion, reference=reference)
    (lenient,) = repaired([strict])
    assert (lenient is strict) == (right == 0.0)
    found = [TASKS["sentiment"].metric([each], None)["accuracy"] for each in (strict, lenient)]
    assert found == [0.0, right]
