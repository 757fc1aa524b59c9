"""Simulated Brazilian market: states, categories and issues of orders, and the sellers and products of one store.

States, categories and issues are tables of `data/reviews`, which says what each key means.
"""

import itertools
import random
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from tasks.commerce.text.lexicons import Entry, read_entries

DATA_FILES: Final = ("data/reviews/market.toml", "data/reviews/things.toml")
MACHINE, SIZED, USED_UP = "*", "+", "~"


class Thing(NamedTuple):
    """Shoppers' name of a product: a noun in the singular, its gender, and its properties."""

    noun: str
    feminine: bool
    mark: str = ""
    """`MACHINE`, `SIZED`, `USED_UP`, or none of them."""
    kind: str = ""


def _read_things(kind: str, nouns: str) -> list[Thing]:
    """Parse nouns of a kind, written with their article, which gives their gender, and with their mark."""
    things = []
    for written in nouns.strip().split(", "):
        article, _, noun = written.partition(" ")
        mark = noun[-1] if noun[-1] in {MACHINE, SIZED, USED_UP} else ""
        things.append(Thing(noun.removesuffix(mark), feminine=article == "a", mark=mark, kind=kind))
    return things


_MARKET: Final = read_entries("reviews/market.toml")
CHANCES: Final[Mapping[str, float]] = _MARKET.chances
STATES: Final = tuple(Entry({"code": code, **state}) for code, state in _MARKET.states.items())
ISSUES: Final[Mapping[str, Any]] = _MARKET.issues
"""Possible issues, by their key in `data/reviews/complaints.toml`, which has their sentences."""
CATEGORIES: Final = tuple(
    Entry(
        {"name": name, **table, "things": list(itertools.chain(*itertools.starmap(_read_things, table.things.items())))}
    )
    for name, table in read_entries("reviews/things.toml").items()
)
"""Olist's product categories with their `things`."""

ORDERS_PER_SELLER: Final = 25
ORDERS_PER_PRODUCT: Final = 5
FEWEST_SELLERS: Final = 12
FEWEST_PRODUCTS: Final = 60
_STATE_SHARES: Final = tuple(itertools.accumulate(state.share for state in STATES))
_CATEGORY_SHARES: Final = tuple(itertools.accumulate(category.share for category in CATEGORIES))


class Address(NamedTuple):
    """Location of a shopper or a seller."""

    state: Any
    city: str
    zip_prefix: str


class Seller(NamedTuple):
    """Seller that sends orders."""

    seller_id: str
    address: Address
    care: float
    """Quality of picking, packing, punctuality and answers, from 0 to 1."""


class Product(NamedTuple):
    """Product of one seller."""

    product_id: str
    category: Any
    thing: Thing
    seller: Seller
    price: float
    weight: int
    """In grams."""
    measures: tuple[int, int, int]
    """Length, height and width, in centimetres."""
    name_length: int
    description_length: int
    photos: int
    soundness: float
    """Quality, from 0 to 1: how seldom the product disappoints."""


class Catalogue(NamedTuple):
    """All sellers and products."""

    sellers: tuple[Seller, ...]
    products: tuple[Product, ...]
    demand: tuple[float, ...]


def draw_catalogue(orders: int, generator: random.Random) -> Catalogue:
    """Draw sellers and products in proportion to the orders of the store; a few products sell most."""
    sellers = tuple(
        Seller(draw_id(generator), draw_address(generator), round(generator.betavariate(4, 1.5), 3))
        for _ in range(max(FEWEST_SELLERS, orders // ORDERS_PER_SELLER))
    )
    products = tuple(
        _draw_product(generator.choice(sellers), generator)
        for _ in range(max(FEWEST_PRODUCTS, orders // ORDERS_PER_PRODUCT))
    )
    demand = tuple(itertools.accumulate(1 / rank**0.6 for rank in range(1, len(products) + 1)))
    return Catalogue(sellers, products, demand)


def draw_id(generator: random.Random) -> str:
    """Draw an identifier of Olist's form: 32 hexadecimal digits."""
    return f"{generator.getrandbits(128):032x}"


def draw_address(generator: random.Random) -> Address:
    """Draw a state by its share of the country's shoppers, and a city and a post code there."""
    state = generator.choices(STATES, cum_weights=_STATE_SHARES)[0]
    return Address(state, generator.choice(state.cities), f"{generator.randint(*state.zip_prefixes):05d}")


def _draw_product(seller: Seller, generator: random.Random) -> Product:
    category = generator.choices(CATEGORIES, cum_weights=_CATEGORY_SHARES)[0]
    low, high = category.prices
    return Product(
        product_id=draw_id(generator),
        category=category,
        thing=generator.choice(category.things),
        seller=seller,
        # Low prices are more frequent than high ones, and end in 90 centavos.
        price=round(round(low + (high - low) * generator.random() ** 2) - 0.1, 2),
        weight=generator.randint(*category.weights),
        measures=(generator.randint(16, 60), generator.randint(2, 40), generator.randint(11, 45)),
        name_length=generator.randint(25, 63),
        description_length=generator.randint(120, 2500),
        photos=generator.randint(1, 6),
        soundness=round(generator.betavariate(4, 1.5), 3),
    )
