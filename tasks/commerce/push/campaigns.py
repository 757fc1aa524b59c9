"""Campaign material of a store for pushes: things with offers that fit their price, and segments of shoppers."""

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemas.store.store import Store
from tasks.commerce.text.categories import readable_category
from tasks.commerce.text.states import StateCode

if TYPE_CHECKING:
    from polars import DataFrame

DATA_FILES: Final = ("data/campaigns/things.toml",)
FILE: Final = Path(__file__).resolve().parents[3] / "data" / "campaigns" / "things.toml"
USUAL_PRICE: Final = 100.0
"""Price, in reais, of what `data/campaigns/things.toml` does not have."""
PERCENTAGES: Final = (5, 10, 12, 15, 20, 25, 30, 35, 40, 50)
DEADLINES: Final = ("só hoje", "até domingo", "até meia-noite", "neste fim de semana")
MOST_SAVED, LEAST_SAVED = 0.4, 0.03
"""Largest and smallest share of its price that an amount in reais takes off a thing."""
LEAST_INSTALMENT: Final = 10.0
MOST_FOR_SEVERAL: Final = 300.0
"""Price, in reais, above which nobody is asked to take two or more."""
ANY_PRICE: Final = (0.0, float("inf"))
OFFERS: Final[Mapping[str, tuple[float, float]]] = {
    **{f"{percent}% de desconto": ANY_PRICE for percent in PERCENTAGES},
    **{f"{percent}% de desconto {deadline}": ANY_PRICE for percent in (15, 20, 30) for deadline in DEADLINES},
    **{
        f"{form}R$ {amount}{rest}": (amount / MOST_SAVED, amount / LEAST_SAVED)
        for form, amounts, rest in (("", (10, 15, 25, 40, 60), " de desconto"), ("cupom de ", (20, 30, 50), ""))
        for amount in amounts
    },
    **{f"cupom de {percent}% de desconto": ANY_PRICE for percent in (8, 18, 22)},
    **{f"{percent}% de cashback": ANY_PRICE for percent in (3, 5, 8, 10, 18)},
    "frete grátis": ANY_PRICE,
    # Neither a limit that everything reaches, nor one for which it takes half a dozen.
    **{f"frete grátis acima de R$ {amount}": (amount / 5, amount * 2.0) for amount in (79, 99, 149)},
    **{f"leve {taken} e pague {taken - 1}": (0.0, MOST_FOR_SEVERAL / (taken - 1)) for taken in (2, 3, 4)},
    **{f"até {parts}x sem juros": (parts * LEAST_INSTALMENT, float("inf")) for parts in (3, 6, 10, 12)},
    **{f"{percent}% de desconto nas últimas {left} unidades": ANY_PRICE for percent in (20, 40) for left in (50, 80)},
    "segunda unidade pela metade do preço": (0.0, MOST_FOR_SEVERAL),
    "brinde nas compras acima de R$ 150": (30.0, 600.0),
}
"""Offers, and the prices, in reais, from and up to which they make sense."""
SILENT_DAYS: Final = (30, 60, 90, 120, 180)
FOLLOWED_EVERYWHERE: Final = (
    "quem deixou itens no carrinho",
    "aniversariantes do mês",
    "quem tem itens na lista de desejos",
    "quem ativou as notificações esta semana",
)
"""Segments that shops have but that Olist's tables do not show."""


def campaigns_of(store: Store) -> list[tuple[str, str]]:
    """Return every thing that the store sells with every offer that fits its price."""
    sold = sorted(_purchases(store)["category"].drop_nulls().unique())
    prices = {thing: price for category in sold for thing, price in _priced(category).items()}
    return [(thing, offer) for thing, price in prices.items() for offer in offers_for(price)]


def offers_for(price: float) -> list[str]:
    """Return the offers that make sense for a thing at that price, in reais."""
    return [offer for offer, (least, most) in OFFERS.items() if least <= price <= most]


def things_of(category: str) -> list[str]:
    """Return the things of a category; the category itself where none are known."""
    return list(_priced(category))


def segments_of(store: Store) -> list[str]:
    """Return the segments of the store's shoppers, the same for the same store."""
    import polars as pl

    purchases = _purchases(store)
    tastes = purchases.select("state", "category").drop_nulls().unique().sort("state", "category").rows()
    states = [StateCode(state) for state in sorted(purchases["state"].drop_nulls().unique())]
    shoppers = purchases.group_by("customer_unique_id").agg(orders=pl.n_unique("order_id"), silent=pl.min("days_ago"))
    longest = shoppers["silent"].max()
    silent = [days for days in SILENT_DAYS if isinstance(longest, int) and days <= longest]
    return [
        *FOLLOWED_EVERYWHERE,
        "novos clientes",
        *(["clientes frequentes"] if (shoppers["orders"] > 1).any() else []),
        *(f"clientes sem compra há {days} dias" for days in silent),
        *(f"clientes {state:de}" for state in states),
        *(f"clientes {state:de} sem compra há {days} dias" for state in states for days in silent),
        *_distinct(
            f"quem já comprou {thing}"
            for category in sorted({each[1] for each in tastes})
            for thing in things_of(category)
        ),
        *_distinct(
            f"clientes {StateCode(state):de} que compraram {thing}"
            for state, category in tastes
            for thing in things_of(category)
        ),
    ]


def _distinct(segments: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(segments))


def _priced(category: str) -> Mapping[str, float]:
    return _things().get(category) or {readable_category(category): USUAL_PRICE}


@cache
def _things() -> Mapping[str, Mapping[str, float]]:
    things: dict[str, dict[str, float]] = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return things


def _purchases(store: Store) -> "DataFrame":
    """Return one row per item: order, person, state, category, and its age on the store's last day."""
    import polars as pl

    bought = pl.col("order_purchase_timestamp")
    return (
        store.items.select("order_id", "product_id")
        .join(store.orders.select("order_id", "customer_id", "order_purchase_timestamp"), on="order_id")
        .join(store.customers.select("customer_id", "customer_unique_id", "customer_state"), on="customer_id")
        .join(store.products.select("product_id", "product_category_name"), on="product_id")
        .select(
            "order_id",
            "customer_unique_id",
            state="customer_state",
            category="product_category_name",
            days_ago=(bought.max() - bought).dt.total_days(),
        )
    )
