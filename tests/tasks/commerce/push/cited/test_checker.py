"""Checker of pushes in phrases: what may be sent, what may not, and that the ground truth says the same."""

import random
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.commerce.push.campaigns import things_of
from tasks.commerce.push.cited.checker import (
    PushCampaign,
    PushFault,
    PushParts,
    fault_of,
    fill,
    graphemes,
    parts_of,
    read_campaign,
)
from tasks.commerce.push.cited.phrases import read_phrases
from tasks.commerce.push.cited.render import render
from tasks.commerce.push.cited.truth import claims_kept
from tests.tasks.commerce.push.cited.campaigns import OF_MANY_KINDS, all_phrases, prompt_of, sayable

PROSE = tomllib.loads((Path(__file__).parents[1] / "pushes.toml").read_text(encoding="utf-8"))
BARE = "{produto}: {oferta}."
SOLD = PushCampaign("coleiras", "20% de desconto")


def is_right(template: str, campaign: PushCampaign) -> bool:
    return all(claims_kept(template, {"product": campaign.product, "offer": campaign.offer}).values())


@pytest.mark.parametrize("campaign", OF_MANY_KINDS, ids=" ".join)
def test_the_checker_agrees_with_the_truth_on_all_that_the_phrases_of_a_campaign_say(campaign: PushCampaign) -> None:
    pushes = random.Random(1).sample(list(sayable(campaign)), 300)
    checked = [fault_of(parts.template, campaign) is None for parts in pushes]
    assert checked == [is_right(parts.template, campaign) for parts in pushes]
    assert sum(checked) > 0


def test_the_checker_agrees_with_the_truth_on_any_phrases_and_campaigns() -> None:
    generator = random.Random(2)
    openers, cores, closers = all_phrases(read_phrases())
    faults: set[PushFault | None] = set()
    for _ in range(3_000):
        campaign = generator.choice(OF_MANY_KINDS)
        parts = PushParts(generator.choice(["", *openers]), generator.choice(cores), generator.choice(["", *closers]))
        fault = fault_of(parts.template, campaign)
        assert (fault is None) == is_right(parts.template, campaign), (parts, campaign)
        faults.add(fault)
    assert faults >= {None, PushFault.OPENER, PushFault.CORE, PushFault.CLOSER, PushFault.REPEATED}


def test_every_phrase_may_be_sent_for_some_campaign() -> None:
    """A phrase that repeats itself, or that no core, offer or product lets stand, would never be said."""
    openers, cores, closers = all_phrases(read_phrases())
    known = read_phrases()
    products = ["vinhos", *(min(group.de) for group in known.grupos.values() if group.de)]
    offers = ("20% de desconto", "20% de desconto só hoje")
    campaigns = [PushCampaign(thing, offer) for each in products for thing in things_of(each) for offer in offers]
    for parts in (
        *(PushParts(text, BARE, "") for text in openers),
        *(PushParts("", text, "") for text in cores),
        *(PushParts("", BARE, text) for text in closers),
    ):
        assert any(fault_of(parts.template, campaign) is None for campaign in campaigns), parts


@pytest.mark.parametrize("push", [each["push"] for kind in PROSE.values() for each in kind])
def test_no_text_of_the_prose_is_a_push(push: str) -> None:
    assert parts_of(push) is None


@given(st.text())
def test_no_other_text_is_a_push(text: str) -> None:
    for template in (text, f"{BARE} {text}", f"{text} {BARE}", text.join(("{produto}", "{oferta}"))):
        parts = parts_of(template)
        assert parts is None or parts.template == template


@pytest.mark.parametrize(
    ("template", "campaign", "fault"),
    [
        (BARE, SOLD, None),
        (f"Dia de mimar o pet. {BARE} Vem ver!", SOLD, None),
        (f"Hora da leitura. {BARE}", SOLD, PushFault.OPENER),
        (f"{BARE} Fique de olho no prazo.", SOLD, PushFault.CLOSER),
        (f"{BARE} Fique de olho no prazo.", PushCampaign("coleiras", "20% de desconto até domingo"), None),
        ("Tem {oferta} em {produto}.", SOLD, None),
        ("Tem {oferta} em {produto}.", PushCampaign("coleiras", "20% de desconto no boleto"), PushFault.CORE),
        ("{produto} com {oferta}.", PushCampaign("coleiras", "leve 3 e pague 2"), PushFault.CORE),
        (f"Novidade no app! {BARE} Veja no app.", SOLD, PushFault.REPEATED),
        (f"{BARE} Veja no app.", PushCampaign("coleiras", "5% de desconto pelo app"), PushFault.CLOSER),
        (BARE.replace("{oferta}", "20% de desconto"), SOLD, PushFault.FORM),
        (f"{BARE} ", SOLD, PushFault.FORM),
        (BARE, PushCampaign("x" * 90, "20% de desconto nas últimas 50 unidades"), PushFault.LONG),
    ],
)
def test_each_fault_is_named(template: str, campaign: PushCampaign, fault: PushFault | None) -> None:
    assert fault_of(template, campaign) == fault


@pytest.mark.parametrize(
    "name",
    [
        *("{oferta}", "a{b", "<b>coleira</b>", "coleiras\nGrátis", "coleiras\r", "coleiras | x", "col\u202eeiras"),
        *("https://x.br", "www.x", "loja.com.br/x", "bit.ly/a", "a@b", "&lt;", "[coleira](x)", "Coleiras!", "", " "),
        *("a\u2028b", "a\x00b", "a  b", "..."),
    ],
)
def test_no_push_is_made_of_what_is_no_name(name: str) -> None:
    assert fault_of(BARE, PushCampaign(name, "frete grátis")) == PushFault.NAME
    assert fault_of(BARE, PushCampaign("coleiras", name)) == PushFault.NAME


@pytest.mark.parametrize(
    "name", ['TV 32" Smart (2ª geração)', "copo d'água", "R$ 1.000,50 de desconto", "café 100%", "São João 🎉"]
)
def test_names_of_shops_are_names(name: str) -> None:
    assert fault_of(BARE, PushCampaign(name, "frete grátis")) is None


def test_a_sentence_begins_with_a_capital_and_names_are_as_the_shop_writes_them() -> None:
    campaign = PushCampaign("iPads", "leve 2 e pague 1")
    assert fill(f"Oi! {BARE}", campaign) == "Oi! IPads: leve 2 e pague 1."
    assert fill("Olha: {oferta} em {produto}.", campaign) == "Olha: leve 2 e pague 1 em iPads."


def test_a_phone_counts_what_it_shows() -> None:
    assert graphemes("ação") == 4
    assert graphemes("👨‍👩‍👧‍👦🇧🇷ação") == 6


@given(st.text(), st.text())
def test_nothing_unchecked_is_shown(completion: str, prompt: str) -> None:
    for asked in (prompt, prompt_of(SOLD)):
        shown = render(completion, asked)
        assert not shown.checked and shown.text is None and shown.reason
        assert len(completion) < 4 or completion not in shown.reason


def test_what_is_sent_is_shown_and_a_product_too_long_has_a_reason() -> None:
    assert render(BARE, prompt_of(SOLD)) == ("Coleiras: 20% de desconto.", True, None, "Coleiras: 20% de desconto.")
    long = render(f"Aviso rápido. {BARE} Toque para ver.", prompt_of(PushCampaign("c" * 90, "20% de desconto")))
    assert (long.text, long.checked) == (None, False)
    assert long.reason is not None and "120" in long.reason


def test_a_prompt_with_two_campaigns_has_none() -> None:
    assert read_campaign(prompt_of(SOLD)) == SOLD
    assert read_campaign(f"{prompt_of(SOLD)}\n{prompt_of(SOLD)}") is None
    assert read_campaign("Produto: coleiras") is None
