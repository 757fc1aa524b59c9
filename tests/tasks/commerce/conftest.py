"""A small store by hand: a hundred orders of thirty customers, with their hidden truth."""

import random
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import polars as pl
import pytest

from schemas.store.store import Store
from schemas.tasks import TaskName
from tasks.commerce.example import Example
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.sql_qa.sandbox import Databases

ORDERS = 120
CUSTOMERS = 40
COUNT = 12
STATES = ("BA", "RJ", "SP")
CATEGORIES = ("beleza_saude", "brinquedos", "pet_shop", "telefonia")
COMPLAINTS = {1: "atraso na entrega", 2: "produto com defeito", 3: "embalagem ruim", 4: "", 5: ""}


@pytest.fixture(scope="session")
def store() -> Store:
    """A simulated store: everything about it is known."""
    generator = random.Random(5)
    orders = [_order(number, generator) for number in range(ORDERS)]
    reviews = [_review(number, order, generator) for number, order in enumerate(orders)]
    products = [
        {
            "product_id": f"product{number}",
            "product_category_name": name,
            "product_photos_qty": 1,
            "product_weight_g": number,
        }
        for number, name in enumerate(CATEGORIES)
    ]
    sellers = [
        {"seller_id": f"seller{number}", "seller_city": "x", "seller_state": state}
        for number, state in enumerate(STATES)
    ]
    return Store(
        orders=pl.DataFrame(orders),
        items=pl.DataFrame([_item(order, generator) for order in orders]),
        payments=pl.DataFrame([_payment(order, generator) for order in orders]),
        reviews=pl.DataFrame(reviews),
        customers=pl.DataFrame([_customer(number) for number in range(ORDERS)]),
        products=pl.DataFrame(products),
        sellers=pl.DataFrame(sellers),
        category_translation=pl.DataFrame(
            {"product_category_name": CATEGORIES, "product_category_name_english": CATEGORIES}
        ),
        review_causes=pl.DataFrame([_causes(review) for review in reviews]),
        customer_hazards=pl.DataFrame(
            [
                {"customer_unique_id": f"person{number}", "hazard": number / CUSTOMERS, "churned": number % 3 == 0}
                for number in range(CUSTOMERS)
            ]
        ),
    )


@pytest.fixture(scope="session")
def real_store(store: Store) -> Store:
    """The same tables as a real store has them: nobody knows what is behind them."""
    return replace(store, review_causes=None, customer_hazards=None)


@pytest.fixture(scope="session")
def databases(store: Store) -> Databases:
    """The copies that SQL runs on."""
    return Databases.from_store(store)


@pytest.fixture(scope="session")
def examples(store: Store) -> Mapping[TaskName, list[Example]]:
    """A few examples of each task."""
    return {name: list(make(store, random.Random(1), COUNT)) for name, make in EXAMPLE_MAKERS.items()}


def _order(number: int, generator: random.Random) -> dict[str, Any]:
    bought = datetime.fromisoformat("2017-06-01 10:00:00") + timedelta(days=3 * number)
    promised = bought.replace(hour=0) + timedelta(days=20)
    late = generator.random() < 0.3
    delivered = promised + timedelta(days=4 if late else -3, hours=15)
    return {
        "order_id": f"order{number}",
        "customer_id": f"customer{number}",
        "order_status": "canceled" if number % 17 == 0 else "delivered",
        "order_purchase_timestamp": bought,
        "order_delivered_customer_date": None if number % 17 == 0 else delivered,
        "order_estimated_delivery_date": promised,
    }


def _item(order: dict[str, Any], generator: random.Random) -> dict[str, Any]:
    return {
        "order_id": order["order_id"],
        "order_item_id": 1,
        "product_id": f"product{generator.randrange(len(CATEGORIES))}",
        "seller_id": f"seller{generator.randrange(len(STATES))}",
        "price": round(generator.uniform(20, 900), 2),
        "freight_value": round(generator.uniform(5, 60), 2),
    }


def _payment(order: dict[str, Any], generator: random.Random) -> dict[str, Any]:
    return {
        "order_id": order["order_id"],
        "payment_sequential": 1,
        "payment_type": generator.choice(("boleto", "credit_card")),
        "payment_installments": generator.randint(1, 8),
        "payment_value": round(generator.uniform(20, 900), 2),
    }


def _review(number: int, order: dict[str, Any], generator: random.Random) -> dict[str, Any]:
    score = generator.randint(1, 5)
    message = {
        1: f"Chegou com {number + 2} dias de atraso",
        2: f"Veio com defeito, comprei {number} e não funciona",
        3: f"Mais ou menos, a embalagem {number} veio amassada",
        4: f"Gostei do produto {number}",
        5: f"Adorei, recomendo a loja {number} vezes",
    }[score]
    return {
        "review_id": f"review{number}",
        "order_id": order["order_id"],
        "review_score": score,
        "review_comment_title": "Muito bom!" if number % 10 == 4 else None,
        "review_comment_message": None if number % 8 == 0 else message,
    }


def _customer(number: int) -> dict[str, Any]:
    return {
        "customer_id": f"customer{number}",
        "customer_unique_id": f"person{number % CUSTOMERS}",
        "customer_city": "lugar nenhum",
        "customer_state": STATES[number % len(STATES)],
    }


def _causes(review: dict[str, Any]) -> dict[str, Any]:
    score = review["review_score"]
    return {
        "review_id": review["review_id"],
        "sentiment": "positive" if score >= 4 else "neutral" if score == 3 else "negative",
        "sentiment_score": score,
        "churn_risk": round(1 - score / 5, 1),
        "delivery_issue": score == 1,
        "product_issue": score == 2,
        "seller_issue": score == 3,
        "main_complaint": COMPLAINTS[score],
        "complaint_category": {1: "delivery", 2: "product", 3: "seller"}.get(score, "none"),
        "repeat_intent": score >= 4,
        "would_recommend": score >= 4,
    }
