"""Shortcuts past the work: the variety of answers, and rules on a prompt's own lines."""

import json
import math
from collections import Counter

import pytest

from schemas.documents import Rollout
from tasks.commerce.shortcuts import Variety, choose_rule, effective_number, lines_of, variety_of


def right(stars: int) -> str:
    return f'{{"polarity":"{"positive" if stars > 3 else "negative"}","score":{stars}}}'


def variety(texts: list[str], scores: list[int]) -> Variety:
    answered = [
        Rollout(
            prompt_id=str(number), task="sentiment", prompt="?", completion=text, reference=json.loads(right(stars))
        )
        for number, (text, stars) in enumerate(zip(texts, scores, strict=True))
    ]
    found = variety_of(answered)
    assert found is not None
    return found


def test_a_constant_has_no_variety_and_the_references_have_all_of_it() -> None:
    scores = [1, 5, 4, 1] * 10
    every = [*map(right, scores)]
    assert variety(["gostei"] * 40, scores).share == pytest.approx(0)
    assert variety(every, scores).share == pytest.approx(1)
    # 34 of 40 answers are one text, as on the Olist sample: less than half as varied as the references.
    texts = [every[0]] * 34 + every[:6]
    collapsed = variety(texts, scores)
    assert collapsed.share < 0.5
    shares = [count / 40 for count in Counter(texts).values()]
    assert collapsed.answers == pytest.approx(math.exp(-sum(share * math.log(share) for share in shares)))


def test_broken_forms_of_one_answer_are_no_variety() -> None:
    """Once a policy of two answers, each with and without a stray comma, was as varied as references of three."""
    scores = [1] * 18 + [5] * 18 + [4] * 4
    valid = [right(stars) for stars in [1] * 20 + [5] * 20]
    broken = [text.replace("}", [",}", "}", " }", "]"][number % 4]) for number, text in enumerate(valid)]
    assert variety(broken, scores) == variety(valid, scores)
    assert effective_number(["price > 5", "price < 5"]) == pytest.approx(2)
    assert effective_number(["R$ 12,50", "R$ 1.250"]) == pytest.approx(2)


RATINGS = [f"Extraia.\nNota: {stars}\nPedido: {number}\nAvaliação: texto" for number, stars in enumerate([1, 5] * 12)]


def test_a_prompts_own_lines_are_neither_its_instruction_nor_what_somebody_wrote() -> None:
    assert lines_of("Atenção: extraia.\nNota: 2\nAvaliação: ruim\nNota: 5") == {"Nota": "2"}


def test_a_rule_gives_each_value_the_answer_that_earns_most_there() -> None:
    earned = [[1.0, 0.0] if "Nota: 1" in prompt else [0.2, 0.9] for prompt in RATINGS]
    rule = choose_rule(RATINGS, ["ruim", "bom"], earned)
    assert rule is not None
    # The number of the order has a value for each prompt, and decides nothing.
    assert rule.names == ("Nota",)
    assert [rule.answer(prompt) for prompt in RATINGS[:2]] == ["ruim", "bom"]
    # Nothing is known of three stars: the answer that earns most of all.
    assert rule.answer("Extraia.\nNota: 3\nAvaliação: texto") == "ruim"


def test_a_rule_is_chosen_by_prompts_that_did_not_choose_its_constants() -> None:
    prompts = [f"Extraia.\nNota: {stars}\nPedido: {number}" for number, stars in enumerate([1, 1, 5, 5] * 3)]
    earned = [[1.0, 0.0] if "Nota: 1" in prompt else [0.0, 1.0] for prompt in prompts]
    # By chance another answer is right: a rule on the number of the order would have learned it.
    earned[0] = [0.0, 1.0]
    rule = choose_rule(prompts, ["ruim", "bom"], earned)
    assert rule is not None and rule.names == ("Nota",)
