"""A store that never was, from one seed, with what is behind its orders and reviews kept as hidden truth.

Shoppers arrive over eighteen months, order, live through each delivery (`shopping`), and either leave for good with
the chance that is their hazard or come back. Their reviews say what happened; `review_causes` has it in fields.
"""

import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

import polars as pl

from schemas.store import Store
from tasks.synthesize.catalogue import Catalogue, draw_catalogue, draw_id
from tasks.synthesize.market import CATEGORIES
from tasks.synthesize.review_text import write_message, write_title
from tasks.synthesize.shopping import CLOSING, Order, Shopper, draw_shopper

CHANCE_OF_REVIEW: Final = 0.95
CHANCE_OF_MESSAGE: Final = 0.7
CHANCE_OF_MESSAGE_WITH_COMPLAINT: Final = 0.95
CHANCE_OF_TITLE: Final = 0.15


def simulate_store(orders: int, generator: random.Random) -> Store:
    """Simulate a store with exactly so many orders; equal generators give equal stores.

    Args:
        orders: Orders in all, 1 or more.
        generator: Source of every draw.
    """
    catalogue = draw_catalogue(orders, generator)
    shoppers = _draw_shoppers(orders, catalogue, generator)
    reviews, causes = _reviews(shoppers, generator)
    return Store(
        orders=pl.DataFrame([_order(order) for _, order in _orders(shoppers)], infer_schema_length=None),
        items=pl.DataFrame([item for _, order in _orders(shoppers) for item in _items(order)]),
        payments=pl.DataFrame([payment for _, order in _orders(shoppers) for payment in _payments(order, generator)]),
        reviews=pl.DataFrame(reviews, infer_schema_length=None, schema_overrides={"review_comment_title": pl.String}),
        customers=pl.DataFrame([_customer(shopper, order) for shopper, order in _orders(shoppers)]),
        products=_products(catalogue),
        sellers=_sellers(catalogue),
        category_translation=pl.DataFrame(
            {
                "product_category_name": [category.name for category in CATEGORIES],
                "product_category_name_english": [category.english for category in CATEGORIES],
            }
        ),
        review_causes=pl.DataFrame(causes),
        customer_hazards=pl.DataFrame(
            {
                "customer_unique_id": [shopper.customer_unique_id for shopper in shoppers],
                "hazard": [shopper.hazard for shopper in shoppers],
                "churned": [shopper.churned for shopper in shoppers],
            }
        ),
    )


def _draw_shoppers(orders: int, catalogue: Catalogue, generator: random.Random) -> list[Shopper]:
    shoppers: list[Shopper] = []
    missing = orders
    while missing:
        shopper = draw_shopper(catalogue, generator)
        # Towards the end only shoppers with few enough orders fit; cutting one short would falsify their leaving.
        if len(shopper.orders) <= missing:
            shoppers.append(shopper)
            missing -= len(shopper.orders)
    return shoppers


def _orders(shoppers: Sequence[Shopper]) -> Iterator[tuple[Shopper, Order]]:
    for shopper in shoppers:
        for order in shopper.orders:
            yield shopper, order


def _order(order: Order) -> dict[str, Any]:
    approved, shipped, delivered = map(
        _seen, (order.delivery.approved, order.delivery.shipped, order.delivery.delivered)
    )
    return {
        "order_id": order.order_id,
        "customer_id": order.customer_id,
        "order_status": _status(order, approved, shipped, delivered),
        "order_purchase_timestamp": order.purchased,
        "order_approved_at": approved,
        "order_delivered_carrier_date": shipped,
        "order_delivered_customer_date": delivered,
        "order_estimated_delivery_date": order.delivery.promised,
    }


def _seen(moment: datetime | None) -> datetime | None:
    return moment if moment is not None and moment < CLOSING else None


def _status(order: Order, approved: datetime | None, shipped: datetime | None, delivered: datetime | None) -> str:
    if order.delivery.shipped is None and order.experience is not None:
        return "canceled"
    if delivered:
        return "delivered"
    if shipped:
        return "shipped"
    return "processing" if approved else "created"


def _items(order: Order) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(order.lines, start=1):
        yield {
            "order_id": order.order_id,
            "order_item_id": number,
            "product_id": line.product.product_id,
            "seller_id": line.product.seller.seller_id,
            "shipping_limit_date": order.purchased + timedelta(days=6),
            "price": line.product.price,
            "freight_value": line.freight,
        }


def _payments(order: Order, generator: random.Random) -> Iterator[dict[str, Any]]:
    """Split the order's total into one payment, or into a voucher and another."""
    voucher = round(order.total * generator.uniform(0.1, 0.5), 2) if generator.random() < 0.05 else 0.0
    kind = "boleto" if order.by_boleto else generator.choices(("credit_card", "debit_card"), weights=(97, 3))[0]
    most = min(10, 1 + int(order.total // 25))
    installments = generator.randint(1, most) if kind == "credit_card" else 1
    payments = [(kind, installments, round(order.total - voucher, 2))]
    if voucher:
        payments.append(("voucher", 1, voucher))
    for number, (payment_type, payment_installments, value) in enumerate(payments, start=1):
        yield {
            "order_id": order.order_id,
            "payment_sequential": number,
            "payment_type": payment_type,
            "payment_installments": payment_installments,
            "payment_value": value,
        }


def _reviews(
    shoppers: Sequence[Shopper], generator: random.Random
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    reviews, causes = [], []
    for shopper, order in _orders(shoppers):
        created = (order.delivery.settled + timedelta(days=1)).replace(hour=0, minute=0, second=0)
        answered = created + timedelta(seconds=generator.randint(3_600, 4 * 86_400))
        if order.experience is None or answered >= CLOSING or generator.random() >= CHANCE_OF_REVIEW:
            continue
        thing, days_late = order.lines[0].product.thing, order.delivery.days_late
        message = write_message(order.experience, thing, days_late, shopper.style, generator)
        chance = CHANCE_OF_MESSAGE_WITH_COMPLAINT if order.experience.issues else CHANCE_OF_MESSAGE
        title = write_title(order.experience, shopper.style, generator)
        review_id = draw_id(generator)
        reviews.append(
            {
                "review_id": review_id,
                "order_id": order.order_id,
                "review_score": order.experience.score,
                "review_comment_title": title if generator.random() < CHANCE_OF_TITLE else None,
                "review_comment_message": message if generator.random() < chance else None,
                "review_creation_date": created,
                "review_answer_timestamp": answered,
            }
        )
        causes.append({"review_id": review_id, **order.experience.causes()})
    return reviews, causes


def _customer(shopper: Shopper, order: Order) -> dict[str, Any]:
    return {
        "customer_id": order.customer_id,
        "customer_unique_id": shopper.customer_unique_id,
        "customer_zip_code_prefix": shopper.address.zip_prefix,
        "customer_city": shopper.address.city,
        "customer_state": shopper.address.state.code,
    }


def _products(catalogue: Catalogue) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "product_id": product.product_id,
                "product_category_name": product.category.name,
                "product_name_lenght": product.name_length,
                "product_description_lenght": product.description_length,
                "product_photos_qty": product.photos,
                "product_weight_g": product.weight,
                "product_length_cm": product.measures[0],
                "product_height_cm": product.measures[1],
                "product_width_cm": product.measures[2],
            }
            for product in catalogue.products
        ]
    )


def _sellers(catalogue: Catalogue) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "seller_id": seller.seller_id,
                "seller_zip_code_prefix": seller.address.zip_prefix,
                "seller_city": seller.address.city,
                "seller_state": seller.address.state.code,
            }
            for seller in catalogue.sellers
        ]
    )
