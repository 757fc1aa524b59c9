"""Checker of pushes in phrases: what may be sent, what may not, and that the ground truth says the same."""

import random
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.commerce.push.phrases import read_phrases
from tasks.commerce.push.scorer import (
    PushCampaign,
    PushFault,
    PushParts,
    fault_of,
    fill,
    parts_of,
    read_campaign,
    render,
)
from tasks.commerce.push.task import TASK
from tasks.commerce.push.truth import claims_kept
from tests.cases import cases_of
from tests.tasks.commerce.push.campaigns import OF_MANY_KINDS, all_phrases, prompt_of, sayable

CASES = cases_of(__file__)
BARE = "{produto}: {oferta}."
SOLD = PushCampaign("coleiras", "20% de desconto")
NO_TRUTH = (PushFault.NAME, PushFault.NUMBER)  # Of names the truth knows nothing.


def is_right(template: str, campaign: PushCampaign) -> bool:
    return all(claims_kept(template, {"product": campaign.product, "offer": campaign.offer}).values())


def test_the_checker_agrees_with_the_truth_on_any_phrases_and_on_those_of_a_campaign() -> None:
    generator = random.Random(2)
    openers, cores, closers = all_phrases(read_phrases())
    own = {campaign: list(sayable(campaign)) for campaign in OF_MANY_KINDS}
    faults: set[str | None] = set()
    for _ in range(3_000):
        campaign = generator.choice(OF_MANY_KINDS)
        strange = PushParts(generator.choice(["", *openers]), generator.choice(cores), generator.choice(["", *closers]))
        for parts in (strange, generator.choice(own[campaign])):
            fault = fault_of(parts.template, campaign)
            assert (fault is None) == is_right(parts.template, campaign), (parts, campaign)
            faults.add(fault)
    assert faults >= {None, PushFault.UNFIT, PushFault.REPEATED}


@given(st.text())
def test_no_other_text_is_a_push(text: str) -> None:
    for template in (text, f"{BARE} {text}", f"{text} {BARE}", text.join(("{produto}", "{oferta}"))):
        parts = parts_of(template)
        assert parts is None or parts.template == template


@pytest.mark.parametrize(("template", "sold", "offer", "fault"), CASES["faults"])
def test_each_fault_is_named(template: str, sold: str, offer: str, fault: str | None) -> None:
    """No `em` makes a place, a payment or a condition of a product, and names of shops are names."""
    campaign = PushCampaign(sold, offer)
    found = fault_of(template, campaign)
    assert found == (PushFault[fault] if fault else None)
    assert found in NO_TRUTH or is_right(template, campaign) == (fault is None)


@pytest.mark.parametrize("offer", CASES["unreadable"])
def test_an_offer_whose_number_cannot_be_read_has_a_grammar_all_the_same(offer: str) -> None:
    campaign = PushCampaign("panelas", offer)
    assert not is_right("Em {produto}: {oferta}.", campaign)
    assert TASK.prompt_grammar and TASK.prompt_grammar(prompt_of(campaign))


@pytest.mark.parametrize("offer", CASES["only_told"])
def test_an_offer_of_no_known_form_is_only_told(offer: str) -> None:
    campaign = PushCampaign("batons", offer)
    passed = [
        parts
        for parts in map(PushParts._make, product(("",), *all_phrases(read_phrases())[1:]))
        if not fault_of(parts.template, campaign)
    ]
    assert {parts.core for parts in passed} == {BARE}
    assert not any(parts.closer.startswith(("Aproveite", "Venha", "Bora")) for parts in passed)
    assert is_right(BARE, campaign) and not is_right("Agora, {produto} com {oferta}.", campaign)
    assert not is_right(f"{BARE} Aproveite!", campaign)


@pytest.mark.parametrize("offer", CASES["refused_offers"])
def test_an_offer_that_contradicts_itself_or_names_people_is_refused_with_a_reason(offer: str) -> None:
    fault = fault_of(BARE, PushCampaign("batons", offer))
    assert fault == PushFault.SHARE or (fault and "grupo de pessoas" in fault)


@pytest.mark.parametrize("sold", CASES["no_products"])
def test_a_product_that_is_a_sentence_or_a_second_offer_is_not_said(sold: str) -> None:
    assert fault_of(BARE, PushCampaign(sold, "frete grátis"))


@pytest.mark.parametrize(("sold", "offer", "text"), CASES["a_request_as_shops_type_it_is_told"])
def test_a_request_as_shops_type_it_is_told(sold: str, offer: str, text: str) -> None:
    assert render(BARE, prompt_of(PushCampaign(sold, offer))).text == text
    known = TASK.inputs.model_validate({"product": sold, "offer": offer, "segment": "todos"})
    assert is_right(BARE, PushCampaign(known.product, known.offer))  # type: ignore[attr-defined]


@pytest.mark.parametrize(("template", "sold", "offer", "text"), CASES["fills"])
def test_a_sentence_begins_with_a_capital_and_names_are_as_the_shop_writes_them(
    template: str, sold: str, offer: str, text: str
) -> None:
    assert fill(template, PushCampaign(sold, offer)) == text


@given(st.text(), st.text())
def test_nothing_unchecked_is_shown(completion: str, prompt: str) -> None:
    for asked in (prompt, prompt_of(SOLD)):
        shown = render(completion, asked)
        assert not shown.checked and shown.text is None and shown.reason
        assert len(completion) < 12 or completion not in shown.reason


def test_a_prompt_with_two_campaigns_has_none() -> None:
    assert read_campaign(prompt_of(SOLD)) == SOLD
    assert read_campaign(f"{prompt_of(SOLD)}\n{prompt_of(SOLD)}") is None
    assert read_campaign("Produto: coleiras") is None
    assert read_campaign("Produto: coleiras\nOferta: 20% off\nOferta: 90% off") is None


@pytest.mark.parametrize(("sold", "law"), CASES["regulated"])
def test_a_regulated_product_gets_no_push_and_the_law_is_named(sold: str, law: str) -> None:
    shown = render(BARE, prompt_of(PushCampaign(sold, "frete grátis")))
    assert shown.text is None and shown.reason is not None and law in shown.reason and "sem push" in shown.reason
