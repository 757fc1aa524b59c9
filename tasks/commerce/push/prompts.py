"""Prompts of push: things with offers that fit their price, and segments of the store, in any combination."""

import random
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Final

from pydantic import AfterValidator, Field

from schemas.store.store import Store
from tasks.commerce.example import Example
from tasks.commerce.inputs import Name, TaskInputs
from tasks.commerce.push.products import plain_name, plain_offer, things_of
from tasks.commerce.regulated import law_against
from tasks.commerce.text.lexicons import read_data, read_wording
from tasks.commerce.text.portuguese import StateCode

if TYPE_CHECKING:
    from polars import DataFrame

DATA_FILES: Final = ("data/campaigns/offers.toml", "data/wordings/push.toml")
CAMPAIGNS: Final = read_data("campaigns/offers.toml")
WORDING: Final = read_wording("push")


class PushInputs(TaskInputs):
    """Inputs of one push notification."""

    product: Annotated[Name, AfterValidator(plain_name)] = Field(
        description="The product or group of products, such as `fone de ouvido`"
    )
    offer: Annotated[Name, AfterValidator(plain_offer)] = Field(description="The offer, such as `20% de desconto`")
    segment: Name = Field(description="Whom it is for, such as `clientes que não compram há 60 dias`")

    def prompt(self, instruction: str) -> str:
        """Return the prompt."""
        return f"{instruction}\nProduto: {self.product}\nOferta: {self.offer}\nPúblico: {self.segment}"


def campaigns_of(store: Store) -> list[tuple[str, str]]:
    """Return every thing that the store sells with every offer that fits its price."""
    sold = sorted(_purchases(store)["category"].drop_nulls().unique())
    prices = {thing: price for category in sold for thing, price in things_of(category).items()}
    return [(thing, offer) for thing, price in prices.items() for offer in offers_for(price)]


def offers_for(price: float) -> list[str]:
    """Return the offers that make sense for a thing at that price, in reais."""
    return [offer for offer, (least, most) in CAMPAIGNS["ofertas"].items() if least <= price <= most]


def segments_of(store: Store) -> list[str]:
    """Return the segments of the store's shoppers, the same for the same store."""
    import polars as pl

    purchases = _purchases(store)
    tastes = purchases.select("state", "category").drop_nulls().unique().sort("state", "category").rows()
    states = [StateCode(state) for state in sorted(purchases["state"].drop_nulls().unique())]
    shoppers = purchases.group_by("customer_unique_id").agg(orders=pl.n_unique("order_id"), silent=pl.min("days_ago"))
    longest = shoppers["silent"].max()
    silent = [days for days in CAMPAIGNS["dias_sem_compra"] if isinstance(longest, int) and days <= longest]
    segments = (
        *CAMPAIGNS["de_toda_loja"],
        "novos clientes",
        *(["clientes frequentes"] if (shoppers["orders"] > 1).any() else []),
        *(f"clientes sem compra há {days} dias" for days in silent),
        *(f"clientes {state:de}" for state in states),
        *(f"clientes {state:de} sem compra há {days} dias" for state in states for days in silent),
        *(f"quem já comprou {thing}" for each in sorted({each[1] for each in tastes}) for thing in things_of(each)),
        *(f"clientes {StateCode(code):de} que compraram {thing}" for code, each in tastes for thing in things_of(each)),
    )
    return list(dict.fromkeys(segments))


def _purchases(store: Store) -> "DataFrame":
    """Return one row per item: order, person, state, category, and its age on the store's last day."""
    import polars as pl

    bought = pl.col("order_purchase_timestamp")
    return (
        store.items.join(store.orders, on="order_id")
        .join(store.customers, on="customer_id")
        .join(store.products, on="product_id")
        .select(
            *("order_id", "customer_unique_id"),
            state="customer_state",
            category="product_category_name",
            days_ago=(bought.max() - bought).dt.total_days(),
        )
    )


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield examples of campaigns: things with offers, segments and wordings, no duplicates, nothing regulated."""
    return islice(_examples(store, generator, count), count)


def _examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    campaigns, segments = campaigns_of(store), segments_of(store)
    combinations = len(WORDING.instructions) * len(campaigns) * len(segments)
    # Far less than half of the campaigns have a product, or a segment by a product, that gets no push.
    for number in generator.sample(range(combinations), min(2 * count, combinations)):
        rest, instruction = divmod(number, len(WORDING.instructions))
        segment, campaign = divmod(rest, len(campaigns))
        product, offer = campaigns[campaign]
        known = PushInputs.model_construct(product=product, offer=offer, segment=segments[segment])
        prompt = known.prompt(WORDING.instructions[instruction])
        if not law_against(prompt.partition("\nProduto: ")[2]):
            yield Example("push", WORDING.system, prompt, {"product": product, "offer": offer})
