import re

import pytest

from schemas.store.store import Store
from tasks.commerce.push.prompts import campaigns_of, offers_for, segments_of
from tests.cases import cases_of

CASES = cases_of(__file__)


def test_campaigns_sell_things_and_no_departments(store: Store) -> None:
    things = {thing for thing, _ in campaigns_of(store)}
    assert "bonecas" in things
    assert not things & {"brinquedos", "pet shop", "telefonia", "vinhos"}


@pytest.mark.parametrize(("price", "fits", "unfit"), CASES["an_offer_fits_its_price"])
def test_an_offer_fits_its_price(price: float, fits: str, unfit: str) -> None:
    assert fits in offers_for(price)
    assert unfit not in offers_for(price)


@pytest.mark.parametrize("price", [20, 45, 90, 180, 450, 1100, 3800])
def test_nothing_is_nearly_given_away_and_every_price_has_offers(price: float) -> None:
    offers = offers_for(price)
    assert len(offers) > 25
    for offer in offers:
        if amount := re.search(r"R\$ (\d+)(?: de desconto)?$", offer):
            taken_off = "acima" not in offer and "compras" not in offer
            assert not taken_off or float(amount[1]) <= 0.4 * price
        if parts := re.search(r"até (\d+)x", offer):
            assert price / int(parts[1]) >= 10


def test_segments_are_drawn_from_the_stores_shoppers(store: Store) -> None:
    segments = segments_of(store)
    assert {"clientes de SP", "clientes de SP que compraram bonecas", "clientes frequentes"} <= set(segments)
    assert "clientes sem compra há 90 dias" in segments
    assert not any(re.search(r"clientes d\w AM\b", segment) for segment in segments)
    assert len(set(segments)) == len(segments)
    assert segments == segments_of(store)
