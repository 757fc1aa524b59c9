"""Checker of pushes in phrases: what may be sent, what may not, and that the ground truth says the same."""

import json
import random
from itertools import product
from pathlib import Path
from typing import Any, Final

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
    graphemes,
    parts_of,
    read_campaign,
    render,
)
from tasks.commerce.push.task import TASK
from tasks.commerce.push.truth import claims_kept
from tests.tasks.commerce.push.campaigns import OF_MANY_KINDS, all_phrases, prompt_of, sayable

CASES: Final[dict[str, list[Any]]] = json.loads(Path(__file__).with_name("names.json").read_text(encoding="utf-8"))
"""Products and offers, by what becomes of them."""
BARE = "{produto}: {oferta}."
SOLD = PushCampaign("coleiras", "20% de desconto")


def is_right(template: str, campaign: PushCampaign) -> bool:
    return all(claims_kept(template, {"product": campaign.product, "offer": campaign.offer}).values())


@pytest.mark.parametrize("campaign", OF_MANY_KINDS, ids=" ".join)
def test_the_checker_agrees_with_the_truth_on_all_that_the_phrases_of_a_campaign_say(campaign: PushCampaign) -> None:
    pushes = list(sayable(campaign))
    pushes = random.Random(1).sample(pushes, min(300, len(pushes)))
    checked = [fault_of(parts.template, campaign) is None for parts in pushes]
    assert checked == [is_right(parts.template, campaign) for parts in pushes]
    assert sum(checked) > 0


def test_the_checker_agrees_with_the_truth_on_any_phrases_and_campaigns() -> None:
    generator = random.Random(2)
    openers, cores, closers = all_phrases(read_phrases())
    faults: set[str | None] = set()
    for _ in range(3_000):
        campaign = generator.choice(OF_MANY_KINDS)
        parts = PushParts(generator.choice(["", *openers]), generator.choice(cores), generator.choice(["", *closers]))
        fault = fault_of(parts.template, campaign)
        assert (fault is None) == is_right(parts.template, campaign), (parts, campaign)
        faults.add(fault)
    assert faults >= {None, PushFault.UNFIT, PushFault.REPEATED}


@given(st.text())
def test_no_other_text_is_a_push(text: str) -> None:
    for template in (text, f"{BARE} {text}", f"{text} {BARE}", text.join(("{produto}", "{oferta}"))):
        parts = parts_of(template)
        assert parts is None or parts.template == template


@pytest.mark.parametrize(
    ("template", "campaign", "fault"),
    [
        (BARE, SOLD, None),
        (f"Pensando no pet? {BARE} Venha ver!", SOLD, None),
        (f"Hora da leitura. {BARE}", SOLD, PushFault.UNFIT),
        (f"{BARE} Aproveite!", PushCampaign("coleiras", "20% de desconto até domingo"), PushFault.UNFIT),
        (f"{BARE} Confira!", PushCampaign("coleiras", "20% de desconto até domingo"), None),
        ("Tem {oferta} em {produto}.", SOLD, None),
        ("Tem {oferta} em {produto}.", PushCampaign("coleiras", "20% de desconto no boleto"), PushFault.UNFIT),
        ("{produto} com {oferta}.", PushCampaign("coleiras", "leve 3 e pague 2"), PushFault.UNFIT),
        ("{produto} com {oferta}.", PushCampaign("panelas com tampa", "20% de desconto"), PushFault.UNFIT),
        (f"Aviso da loja. {BARE} Veja no app.", PushCampaign("coleiras", "5% de desconto pelo app"), PushFault.UNFIT),
        ("Olhe só! Olhe: {oferta} em {produto}.", SOLD, PushFault.REPEATED),
        (BARE.replace("{oferta}", "20% de desconto"), SOLD, PushFault.FORM),
        (f"{BARE} ", SOLD, PushFault.FORM),
        (BARE, PushCampaign("x" * 90, "20% de desconto nas últimas 50 unidades"), PushFault.LONG),
    ],
)
def test_each_fault_is_named(template: str, campaign: PushCampaign, fault: PushFault | None) -> None:
    assert fault_of(template, campaign) == fault


@pytest.mark.parametrize("name", CASES["unshowable"])
def test_no_push_is_made_of_what_cannot_be_shown(name: str) -> None:
    for campaign in (PushCampaign(name, "frete grátis"), PushCampaign("coleiras", name)):
        assert fault_of(BARE, campaign) == PushFault.NAME


@pytest.mark.parametrize("offer", CASES["unreadable"])
def test_an_offer_whose_number_cannot_be_read_is_refused_in_one_sentence(offer: str) -> None:
    campaign = PushCampaign("panelas", offer)
    assert fault_of(BARE, campaign) == PushFault.NUMBER and not is_right("Em {produto}: {oferta}.", campaign)
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
    campaign = PushCampaign("batons", offer)
    fault = fault_of(BARE, campaign)
    assert fault == PushFault.SHARE or (fault and "grupo de pessoas" in fault)


@pytest.mark.parametrize("sold", CASES["no_products"])
def test_a_product_that_is_a_sentence_or_a_second_offer_is_not_said(sold: str) -> None:
    assert fault_of(BARE, PushCampaign(sold, "frete grátis"))


@pytest.mark.parametrize(("sold", "offer", "text"), CASES["a_request_as_shops_type_it_is_told"])
def test_a_request_as_shops_type_it_is_told(sold: str, offer: str, text: str) -> None:
    assert render(BARE, prompt_of(PushCampaign(sold, offer))).text == text
    known = TASK.inputs.model_validate({"product": sold, "offer": offer, "segment": "todos"})
    assert is_right(BARE, PushCampaign(known.product, known.offer))  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", CASES["names"])
def test_names_of_shops_are_names(name: str) -> None:
    assert fault_of(BARE, PushCampaign(name, "frete grátis")) is None


def test_a_sentence_begins_with_a_capital_and_names_are_as_the_shop_writes_them() -> None:
    campaign = PushCampaign("iPads", "leve 2 e pague 1")
    assert fill(f"Oi! {BARE}", campaign) == "Oi! iPads: leve 2 e pague 1."
    assert fill(BARE, PushCampaign("ß-carotenos", "frete grátis")) == "ß-carotenos: frete grátis."
    assert fill("Olhe: {oferta} em {produto}.", campaign) == "Olhe: leve 2 e pague 1 em iPads."
    title = PushCampaign("A Bela e a Fera", "Frete grátis")
    assert fill("Dica: {produto} com {oferta}.", title) == "Dica: A Bela e a Fera com frete grátis."
    core = "Em {produto}: {oferta}."
    assert fault_of(core, title) == PushFault.UNFIT and not is_right(core, title)


@pytest.mark.parametrize(
    ("sold", "is_bound"), [(name, kind == "bound") for kind in ("bound", "free") for name in CASES[kind]]
)
def test_no_em_makes_a_place_a_payment_or_a_condition_of_a_product(sold: str, *, is_bound: bool) -> None:
    for core in ("Em {produto}: {oferta}.", "Olhe: {oferta} em {produto}.", "Tem {oferta} em {produto}."):
        campaign = PushCampaign(sold, "20% de desconto")
        assert (fault_of(core, campaign) == PushFault.UNFIT) == is_bound == (not is_right(core, campaign))
    assert fault_of(BARE, campaign) is None


def test_a_phone_counts_what_it_shows() -> None:
    assert graphemes("ação") == 4
    assert graphemes("👨‍👩‍👧‍👦🇧🇷ação") == 6


@given(st.text(), st.text())
def test_nothing_unchecked_is_shown(completion: str, prompt: str) -> None:
    for asked in (prompt, prompt_of(SOLD)):
        shown = render(completion, asked)
        assert not shown.checked and shown.text is None and shown.reason
        assert len(completion) < 12 or completion not in shown.reason


def test_a_push_is_shown_as_sent_and_one_too_long_has_a_reason() -> None:
    assert render(BARE, prompt_of(SOLD)) == ("Coleiras: 20% de desconto.", True, None, "Coleiras: 20% de desconto.")
    long = render(f"Aviso rápido. {BARE} Toque para ver.", prompt_of(PushCampaign("c" * 90, "20% de desconto")))
    assert (long.text, long.checked) == (None, False)
    assert long.reason is not None and "120" in long.reason


def test_a_prompt_with_two_campaigns_has_none() -> None:
    assert read_campaign(prompt_of(SOLD)) == SOLD
    assert read_campaign(f"{prompt_of(SOLD)}\n{prompt_of(SOLD)}") is None
    assert read_campaign("Produto: coleiras") is None
    assert read_campaign("Produto: coleiras\nOferta: 20% off\nOferta: 90% off") is None


@pytest.mark.parametrize(("sold", "law"), CASES["regulated"])
def test_a_regulated_product_gets_no_push_and_the_law_is_named(sold: str, law: str) -> None:
    campaign = PushCampaign(sold, "frete grátis")
    shown = render(BARE, prompt_of(campaign))
    assert shown.text is None and shown.reason is not None and law in shown.reason and "sem push" in shown.reason


@pytest.mark.parametrize("sold", CASES["sold"])
def test_a_product_that_only_looks_regulated_is_sold(sold: str) -> None:
    assert fault_of(BARE, PushCampaign(sold, "frete grátis")) is None
