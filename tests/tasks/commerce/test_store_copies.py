from schemas.store import Store
from tasks.commerce.store_copies import refill


def test_a_copy_keeps_the_form_and_changes_the_contents(store: Store) -> None:
    copy = refill(store)
    assert copy.orders.schema == store.orders.schema
    assert 0 < copy.orders.height < store.orders.height
    assert copy.customers.height == store.customers.height
    assert copy.customers["customer_state"].to_list() != store.customers["customer_state"].to_list()
    assert sorted(copy.customers["customer_state"]) == sorted(store.customers["customer_state"])


def test_every_row_of_a_copy_belongs_to_an_order_of_it(store: Store) -> None:
    copy = refill(store)
    kept = set(copy.orders["order_id"])
    for table in (copy.items, copy.payments, copy.reviews):
        assert set(table["order_id"]) <= kept


def test_equal_stores_have_equal_copies(store: Store) -> None:
    assert refill(store).items.equals(refill(store).items)
