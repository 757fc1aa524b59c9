from schemas.store.store import Store
from tasks.commerce.push.campaigns import OFFERS, products_of, segments_of


def test_products_are_what_the_store_sells(store: Store) -> None:
    products = products_of(store)
    assert {"brinquedos", "bonecas", "pet shop"} <= set(products)
    assert "vinhos" not in products
    assert len(set(products)) == len(products)


def test_segments_are_drawn_from_the_stores_shoppers(store: Store) -> None:
    segments = segments_of(store)
    assert {"clientes de SP", "clientes de SP que compraram brinquedos", "clientes frequentes"} <= set(segments)
    assert "clientes sem compra há 90 dias" in segments
    assert not any("clientes de AM" in segment for segment in segments)
    assert len(set(segments)) == len(segments)
    assert segments == segments_of(store)


def test_offers_are_different() -> None:
    assert len(set(OFFERS)) == len(OFFERS) > 40
