"""Business questions about a store, in families: each with its parameters and its reference query."""
# ruff: noqa: S608 - the parameters are a store's own values, and the queries only ever run in the sandbox

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from schemas.store import Store


@dataclass(frozen=True)
class Question:
    """A question in Portuguese and the query that answers it."""

    text: str
    sql: str


@dataclass(frozen=True)
class Values:
    """The values that a store's rows have, for the parameters of questions."""

    states: tuple[str, ...]
    seller_states: tuple[str, ...]
    categories: tuple[str, ...]
    statuses: tuple[str, ...]
    payment_types: tuple[str, ...]
    years: tuple[int, ...]

    @classmethod
    def of(cls, store: Store) -> "Values":
        """Collect the values of a store."""
        return cls(
            states=tuple(store.customers["customer_state"].unique().sort()),
            seller_states=tuple(store.sellers["seller_state"].unique().sort()),
            categories=tuple(store.products["product_category_name"].drop_nulls().unique().sort()),
            statuses=tuple(store.orders["order_status"].unique().sort()),
            payment_types=tuple(store.payments["payment_type"].unique().sort()),
            years=tuple(store.orders["order_purchase_timestamp"].dt.year().unique().sort()),
        )


Family = Callable[[Values, random.Random], Question]


def orders_by_status(values: Values, generator: random.Random) -> Question:
    """Filter on two columns."""
    status, year = generator.choice(values.statuses), generator.choice(values.years)
    return Question(
        generator.choice(
            (
                f"Quantos pedidos feitos em {year} estão com status {status}?",
                f"Conte os pedidos de {year} com status {status}.",
            )
        ),
        f"SELECT COUNT(*) FROM orders WHERE order_status = '{status}' "
        f"AND strftime('%Y', order_purchase_timestamp) = '{year}'",
    )


def category_revenue(values: Values, generator: random.Random) -> Question:
    """Sum over a join."""
    category = generator.choice(values.categories)
    return Question(
        generator.choice(
            (
                f"Qual é a receita (soma dos preços) da categoria {category}?",
                f"Quanto os itens da categoria {category} somam em preço?",
            )
        ),
        "SELECT ROUND(SUM(price), 2) FROM items JOIN products USING (product_id) "
        f"WHERE product_category_name = '{category}'",
    )


def rating_by_state(values: Values, generator: random.Random) -> Question:
    """Average over two joins."""
    state = generator.choice(values.states)
    return Question(
        generator.choice(
            (
                f"Qual é a nota média das avaliações de clientes de {state}?",
                f"Calcule a média das notas dadas por clientes de {state}.",
            )
        ),
        "SELECT ROUND(AVG(review_score), 2) FROM reviews JOIN orders USING (order_id) "
        f"JOIN customers USING (customer_id) WHERE customer_state = '{state}'",
    )


def payment_value(values: Values, generator: random.Random) -> Question:
    """Average with a filter on text and number."""
    kind, instalments = generator.choice(values.payment_types), generator.randint(1, 6)
    return Question(
        generator.choice(
            (
                f"Qual é o valor médio dos pagamentos do tipo {kind} com {instalments} ou mais parcelas?",
                f"Pagamentos {kind} em {instalments} ou mais parcelas: qual é o valor médio?",
            )
        ),
        f"SELECT ROUND(AVG(payment_value), 2) FROM payments WHERE payment_type = '{kind}' "
        f"AND payment_installments >= {instalments}",
    )


def late_orders(values: Values, generator: random.Random) -> Question:
    """Compare two dates over a join."""
    state = generator.choice(values.states)
    return Question(
        generator.choice(
            (
                f"Quantos pedidos de clientes de {state} chegaram depois da data estimada?",
                f"Conte as entregas atrasadas para clientes de {state}.",
            )
        ),
        f"SELECT COUNT(*) FROM orders JOIN customers USING (customer_id) WHERE customer_state = '{state}' "
        "AND date(order_delivered_customer_date) > date(order_estimated_delivery_date)",
    )


def top_categories(values: Values, generator: random.Random) -> Question:
    """Group, order and limit over a join."""
    count, state = generator.randint(2, 6), generator.choice(("", *values.seller_states))
    sold = f" entre itens de vendedores de {state}" if state else ""
    condition = f"JOIN sellers USING (seller_id) WHERE seller_state = '{state}' " if state else ""
    return Question(
        generator.choice(
            (
                f"Quais são as {count} categorias com maior soma de preços{sold}? Mostre categoria e soma.",
                f"Liste as {count} categorias que mais vendem em valor{sold}, com a soma dos preços.",
            )
        ),
        "SELECT product_category_name, ROUND(SUM(price), 2) FROM items JOIN products USING (product_id) "
        f"{condition}GROUP BY 1 ORDER BY 2 DESC LIMIT {count}",
    )


def orders_by_month(values: Values, generator: random.Random) -> Question:
    """Group by a part of a date, in order."""
    year, status = generator.choice(values.years), generator.choice(("", *values.statuses))
    having = f" com status {status}" if status else ""
    condition = f" AND order_status = '{status}'" if status else ""
    return Question(
        generator.choice(
            (
                f"Quantos pedidos{having} houve em cada mês de {year}? Mostre mês (01 a 12) e quantidade, em ordem.",
                f"Mostre, mês a mês (01 a 12), a quantidade de pedidos{having} de {year}.",
            )
        ),
        "SELECT strftime('%m', order_purchase_timestamp), COUNT(*) FROM orders "
        f"WHERE strftime('%Y', order_purchase_timestamp) = '{year}'{condition} GROUP BY 1 ORDER BY 1",
    )


def seller_freight(values: Values, generator: random.Random) -> Question:
    """Aggregate over a join with sellers."""
    state = generator.choice(values.seller_states)
    name, function = generator.choice((("médio", "AVG"), ("máximo", "MAX"), ("mínimo", "MIN")))
    return Question(
        generator.choice(
            (
                f"Qual é o frete {name} dos itens de vendedores de {state}?",
                f"Calcule o frete {name} cobrado por vendedores de {state}.",
            )
        ),
        f"SELECT ROUND({function}(freight_value), 2) FROM items JOIN sellers USING (seller_id) "
        f"WHERE seller_state = '{state}'",
    )


def customers_with_rating(values: Values, generator: random.Random) -> Question:
    """Count distinct people over two joins."""
    state, stars = generator.choice(values.states), generator.randint(1, 5)
    return Question(
        generator.choice(
            (
                f"Quantos clientes distintos de {state} deram nota {stars}?",
                f"Conte os clientes únicos de {state} que avaliaram com nota {stars}.",
            )
        ),
        "SELECT COUNT(DISTINCT customer_unique_id) FROM customers JOIN orders USING (customer_id) "
        f"JOIN reviews USING (order_id) WHERE customer_state = '{state}' AND review_score = {stars}",
    )


FAMILIES: Final[tuple[Family, ...]] = (
    orders_by_status,
    category_revenue,
    rating_by_state,
    payment_value,
    late_orders,
    top_categories,
    orders_by_month,
    seller_freight,
    customers_with_rating,
)
