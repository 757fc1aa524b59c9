"""Campaign material of a store for pushes: products, offers and segments."""

from typing import TYPE_CHECKING, Final

from schemas.store.store import Store
from tasks.commerce.text.categories import readable_category, things_of

if TYPE_CHECKING:
    from polars import DataFrame

PERCENTAGES: Final = (5, 10, 12, 15, 20, 25, 30, 35, 40, 50)
DEADLINES: Final = ("só hoje", "até domingo", "até meia-noite", "neste fim de semana")
OFFERS: Final = (
    *(f"{percent}% de desconto" for percent in PERCENTAGES),
    *(f"{percent}% de desconto {deadline}" for percent in (15, 20, 30) for deadline in DEADLINES),
    *(f"R$ {amount} de desconto" for amount in (10, 15, 25, 40, 60)),
    *(f"cupom de R$ {amount}" for amount in (20, 30, 50)),
    *(f"cupom de {percent}% de desconto" for percent in (8, 18, 22)),
    *(f"{percent}% de cashback" for percent in (3, 5, 8, 10, 18)),
    "frete grátis",
    *(f"frete grátis acima de R$ {amount}" for amount in (79, 99, 149)),
    "leve 2 e pague 1",
    "leve 3 e pague 2",
    "leve 4 e pague 3",
    *(f"até {parts}x sem juros" for parts in (3, 6, 10, 12)),
    *(f"{percent}% de desconto nas últimas {left} unidades" for percent in (20, 40) for left in (50, 80)),
    "segunda unidade pela metade do preço",
    "brinde nas compras acima de R$ 150",
)
SILENT_DAYS: Final = (30, 60, 90, 120, 180)
FOLLOWED_EVERYWHERE: Final = (
    "quem deixou itens no carrinho",
    "aniversariantes do mês",
    "quem tem itens na lista de desejos",
    "quem ativou as notificações esta semana",
)
"""Segments that shops have but that Olist's tables do not show."""


def products_of(store: Store) -> list[str]:
    """Return the store's products in a shopper's words: its categories, and things in them."""
    sold = sorted(_purchases(store)["category"].drop_nulls().unique())
    return list(
        dict.fromkeys(name for category in sold for name in (readable_category(category), *things_of(category)))
    )


def segments_of(store: Store) -> list[str]:
    """Return the segments of the store's shoppers, the same for the same store."""
    import polars as pl

    purchases = _purchases(store)
    tastes = purchases.select("state", "category").drop_nulls().unique().sort("state", "category").rows()
    states = sorted(purchases["state"].unique())
    shoppers = purchases.group_by("customer_unique_id").agg(orders=pl.n_unique("order_id"), silent=pl.min("days_ago"))
    longest = shoppers["silent"].max()
    silent = [days for days in SILENT_DAYS if isinstance(longest, int) and days <= longest]
    return [
        *FOLLOWED_EVERYWHERE,
        "novos clientes",
        *(["clientes frequentes"] if (shoppers["orders"] > 1).any() else []),
        *(f"clientes sem compra há {days} dias" for days in silent),
        *(f"clientes de {state}" for state in states),
        *(f"clientes de {state} sem compra há {days} dias" for state in states for days in silent),
        *(f"quem já comprou {readable_category(category)}" for category in sorted({taste[1] for taste in tastes})),
        *(f"clientes de {state} que compraram {readable_category(category)}" for state, category in tastes),
    ]


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
