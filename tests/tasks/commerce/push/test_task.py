"""Push in phrases as a task: its examples, its right answers, and the grammar that holds a model to the phrases."""

import random

import pytest

from schemas.store.store import Store
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.push.phrases import read_phrases
from tasks.commerce.push.scorer import OF_GENERAL_OPENER, parts_of
from tasks.commerce.registry import TASKS, score_rollout
from tasks.commerce.shortcuts import effective_number
from tests.tasks.commerce.push.campaigns import OF_MANY_KINDS, all_phrases, prompt_of, sayable
from tests.tasks.commerce.scoring import rollouts, writes

TASK = TASKS["push"]
EVERY_CLOSER = " ".join(all_phrases(read_phrases())[2])


def test_right_answers_are_varied_and_careless_ones_suit_less(store: Store) -> None:
    generator = random.Random(1)
    found = rollouts(list(EXAMPLE_MAKERS["push"](store, generator, 300)))
    careless = [each.model_copy(update={"completion": TASK.faults(each.completion, generator)}) for each in found]
    assert effective_number([parts.opener for each in found if (parts := parts_of(each.completion))]) > 40
    of_them = [score_rollout(each, None).components["fit"] for each in careless]
    assert sum(fit in (0.0, OF_GENERAL_OPENER) for fit in of_them) > len(of_them) / 2


@pytest.mark.parametrize("product", ["", "{", "a" * 200, "cigarros", EVERY_CLOSER])
@pytest.mark.parametrize("offer", ["", "}", "Tem no app", EVERY_CLOSER])
def test_any_product_and_offer_are_answered(product: str, offer: str) -> None:
    assert parts_of(TASK.answer({"product": product, "offer": offer})) is not None


def test_the_grammar_writes_what_the_checker_passes_but_for_its_length() -> None:
    generator = random.Random(3)
    for campaign in OF_MANY_KINDS:
        assert writes("push", TASK.answer(campaign._asdict()), prompt_of(campaign))
        for parts in generator.sample(list(sayable(campaign)), 30):
            assert writes("push", parts.template, prompt_of(campaign)) != parts.repeats, parts
    for text in ("Oi!", "Compre já!", "Oi! {produto}: {oferta}. ", "Hora da leitura. {produto}: {oferta}."):
        assert not writes("push", text, prompt_of(OF_MANY_KINDS[0])), text
