"""Shortcuts past the work: the variety of answers, and rules on a prompt's own lines."""

import math
from collections import Counter

import pytest

from schemas.documents import Rollout
from tasks.commerce.shortcuts import choose_rule, effective_number, lines_of, variety_of


def rollouts(texts: list[str], scores: list[int]) -> list[Rollout]:
    return [
        Rollout(
            prompt_id=str(number),
            task="sentiment",
            prompt="?",
            completion=text,
            reference={"polarity": "positive" if stars > 3 else "negative", "score": stars},
        )
        for number, (text, stars) in enumerate(zip(texts, scores, strict=True))
    ]


def test_a_constant_has_no_variety_and_the_references_have_all_of_it() -> None:
    scores = [1, 5, 4, 1] * 10
    right = [f'{{"polarity":"{"positive" if stars > 3 else "negative"}","score":{stars}}}' for stars in scores]
    constant = variety_of(rollouts(["gostei"] * 40, scores))
    assert constant is not None and constant.share == pytest.approx(0)
    same = variety_of(rollouts(right, scores))
    assert same is not None and same.share == pytest.approx(1)
    # 34 of 40 answers are one text, as on the Olist sample: less than half as varied as the references.
    collapsed = variety_of(rollouts([right[0]] * 34 + right[:6], scores))
    assert collapsed is not None and collapsed.share < 0.5
    shares = [count / 40 for count in Counter([right[0]] * 34 + right[:6]).values()]
    assert collapsed.answers == pytest.approx(math.exp(-sum(share * math.log(share) for share in shares)))


def test_broken_forms_of_one_answer_are_no_variety() -> None:
    """Once a policy of two answers, each with and without a stray comma, was as varied as references of three."""
    scores = [1] * 18 + [5] * 18 + [4] * 4
    stars = [1] * 20 + [5] * 20
    valid = [f'{{"polarity":"{"positive" if each > 3 else "negative"}","score":{each}}}' for each in stars]
    broken = [text.replace("}", [",}", "}", " }", "]"][number % 4]) for number, text in enumerate(valid)]
    assert variety_of(rollouts(broken, scores)) == variety_of(rollouts(valid, scores))
    assert effective_number(["price > 5", "price < 5"]) == pytest.approx(2)
    assert effective_number(["R$ 12,50", "R$ 1.250"]) == pytest.approx(2)


RATINGS = [f"Extraia.\nNota: {stars}\nPedido: {number}\nAvaliação: texto" for number, stars in enumerate([1, 5] * 12)]


def test_a_prompts_own_lines_are_neither_its_instruction_nor_what_somebody_wrote() -> None:
    prompt = "Atenção: extraia.\nNota: 2\nAvaliação: ruim\nNota: 5"

    assert lines_of(prompt) == {"Nota": "2"}


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
