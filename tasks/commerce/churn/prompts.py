"""Prompts of churn: what a shop knows of one shopper, and the store's profile of each whose outcome it knows."""

import random
from collections.abc import Iterator
from math import floor
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import BeforeValidator, Field

from schemas.store.store import Store
from tasks.commerce.churn.profile import read_profile
from tasks.commerce.example import Example, distinct_prompts
from tasks.commerce.inputs import Name, TaskInputs
from tasks.commerce.text.json_fields import read_number
from tasks.commerce.text.lexicons import read_data, read_wording
from tasks.commerce.text.portuguese import decimal, readable_category, reais

if TYPE_CHECKING:
    from polars import DataFrame

DATA_FILES: Final = ("data/wordings/churn.toml",)
WORDING: Final = read_wording("churn")
PROFILE: Final[str] = read_data("wordings/churn.toml")["perfil"]


def _number(given: Any) -> Any:
    """Return the number of a typed text, such as `R$ 1.234,50`; anything else as it is, for its field to refuse."""
    found = read_number(given) if isinstance(given, str) and "%" not in given else None
    return given if found is None else found


Count = Annotated[int, Field(ge=0, le=100_000), BeforeValidator(_number)]
Reais = Annotated[float, Field(ge=0, le=1e9), BeforeValidator(_number)]
Stars = Annotated[float, Field(ge=1, le=5), BeforeValidator(_number)]


class ChurnInputs(TaskInputs):
    """Inputs of one shopper's risk."""

    state: Annotated[str, Field(pattern="^[A-Z]{2}$")] = Field(description="The shopper's state, such as SP")
    orders: Annotated[Count, Field(ge=1)] = Field(description="Number of orders")
    category: Name | None = Field(default=None, description="Category of most of the items, such as `beleza e saúde`")
    spent: Reais = Field(description="Money spent in all, in reais")
    instalments: Annotated[Count, Field(ge=1, le=100)] = Field(
        default=1, description="Instalments of the payment with the most"
    )
    silent_days: Count = Field(description="Days since the last purchase")
    last_rating: Stars | None = Field(default=None, description="Stars of the newest review")
    mean_rating: Stars | None = Field(default=None, description="Mean of all stars")
    late: Count | None = Field(default=None, description="Number of late deliveries, where it is known")
    undelivered: Count | None = Field(default=None, description="Number of orders that did not arrive")

    def prompt(self, instruction: str) -> str:
        """Return the prompt."""
        # Nobody who gave 1,05 gave the lowest, 1.
        last = self.last_rating if self.last_rating in (None, 1) else max(self.last_rating or 0, 1.1)
        said = {name: "desconhecido" if value is None else str(value) for name, value in dict(self).items()}
        said |= {"category": self.category or "desconhecida", "spent": reais(self.spent)}
        said["last_rating"] = _rating(last, 0 if self.last_rating in range(1, 6) else 1)
        said["mean_rating"] = _rating(self.mean_rating, 1)
        return f"{instruction}\n{PROFILE.format(**said)}"


def _rating(rating: float | None, places: int) -> str:
    # Rounded down: nobody who gave 4,96 gave 5.
    return "sem avaliação" if rating is None else decimal(floor(rating * 10 + 1e-9) / 10 if places else rating, places)


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield examples with their profiles' lines, of shoppers whose outcome the store knows; a real one knows none."""
    if store.customer_hazards is None:
        return
    rows: list[tuple[Any, ...]] = _profiles(store, store.customer_hazards).rows()
    for row, prompt in distinct_prompts(rows, WORDING.instructions, _prompt, generator, count):
        customer_id, churned, *_ = row
        profile = read_profile(prompt)
        reference = {"churn": churned, "profile": dict(profile.texts) if profile else {}}
        yield Example("churn", WORDING.system, prompt, reference, customer_id)


def _profiles(store: Store, hazards: "DataFrame") -> "DataFrame":
    """Return one row per shopper: who it is, whether they churned, and the inputs of their prompt."""
    import polars as pl

    bought, delivered = pl.col("order_purchase_timestamp"), pl.col("order_delivered_customer_date")
    orders = store.orders.join(
        store.customers.select("customer_id", "customer_unique_id", "customer_state"), on="customer_id"
    )
    items = store.items.join(store.products, on="product_id", how="left")
    for table, figures in (
        (items, {"spent": pl.sum("price"), "category": pl.col("product_category_name")}),
        (store.reviews, {"rating": pl.mean("review_score")}),
        (store.payments, {"instalments": pl.max("payment_installments")}),
    ):
        orders = orders.join(table.group_by("order_id").agg(**figures), on="order_id", how="left")
    return (
        orders.sort(bought, "order_id")
        .group_by("customer_unique_id")
        .agg(
            state=pl.last("customer_state"),
            orders=pl.len(),
            # Of equally frequent ones the first by name.
            category=pl.col("category").explode().drop_nulls().mode().min(),
            spent=pl.sum("spent"),
            instalments=pl.max("instalments"),
            silent_days=(store.orders["order_purchase_timestamp"].max() - bought.max()).dt.total_days(),
            last_rating=pl.col("rating").drop_nulls().last(),
            mean_rating=pl.mean("rating"),
            late=(delivered.dt.date() > pl.col("order_estimated_delivery_date").dt.date()).sum(),
            undelivered=delivered.is_null().sum(),
        )
        .join(hazards, on="customer_unique_id")
        .drop_nulls("state")
        .sort("customer_unique_id")
        .select("customer_unique_id", "churned", *ChurnInputs.model_fields)
    )


def _prompt(row: tuple[Any, ...], instruction: str) -> str:
    _, _, *values = row
    known = dict(zip(ChurnInputs.model_fields, values, strict=True))
    known["category"] = known["category"] and readable_category(known["category"])
    known["instalments"] = known["instalments"] or 1
    # The store's tables are checked: a million prompts are not checked one by one again.
    return ChurnInputs.model_construct(None, **known).prompt(instruction)
