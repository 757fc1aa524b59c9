"""Simulated Brazilian market: the states, the product categories and the possible issues of an order."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

ComplaintCategory = Literal["delivery", "product", "seller", "price", "other"]
DATA_FILES: Final = ("data/reviews/things.toml",)
THINGS_FILE: Final = Path(__file__).resolve().parents[2] / "data" / "reviews" / "things.toml"
MACHINE, SIZED, USED_UP = "*", "+", "~"


@dataclass(frozen=True)
class State:
    """State as a delivery destination."""

    code: str
    share: float
    zip_prefixes: tuple[int, int]
    """First and last used prefix of its post codes."""
    transit_days: float
    """Usual days between the carrier's pick-up and the delivery."""
    promised_days: float
    disruption: float
    """Probability that a delivery there comes after the promised day."""
    cities: tuple[str, ...]
    """In Olist's spelling: lower case, no accents."""


# Shares, days and delays are near those of Olist's 99,441 orders.
STATES: Final = (
    State("SP", 42.0, (1000, 19999), 5.5, 19, 0.058, ("sao paulo", "campinas", "santos", "guarulhos", "sorocaba")),
    State("RJ", 12.9, (20000, 28999), 11.5, 26, 0.130, ("rio de janeiro", "niteroi", "duque de caxias")),
    State("MG", 11.7, (30000, 39999), 8.5, 24, 0.052, ("belo horizonte", "uberlandia", "juiz de fora")),
    State("RS", 5.5, (90000, 99999), 12, 28, 0.068, ("porto alegre", "caxias do sul", "pelotas")),
    State("PR", 5.1, (80000, 87999), 8.5, 24, 0.047, ("curitiba", "londrina", "maringa")),
    State("SC", 3.7, (88000, 89999), 11.5, 25, 0.090, ("florianopolis", "joinville", "blumenau")),
    State("BA", 3.4, (40000, 48999), 15.5, 29, 0.135, ("salvador", "feira de santana", "ilheus")),
    State("DF", 2.2, (70000, 72799), 9.5, 24, 0.068, ("brasilia",)),
    State("ES", 2.0, (29000, 29999), 12, 25, 0.118, ("vitoria", "vila velha")),
    State("GO", 2.0, (72800, 76799), 12, 27, 0.078, ("goiania", "anapolis")),
    State("PE", 1.7, (50000, 56999), 15, 31, 0.105, ("recife", "olinda", "caruaru")),
    State("CE", 1.3, (60000, 63999), 17.5, 31, 0.148, ("fortaleza", "sobral")),
    State("PA", 1.0, (66000, 68899), 20, 37, 0.120, ("belem", "ananindeua")),
    State("MT", 0.9, (78000, 78899), 14.5, 31, 0.065, ("cuiaba", "rondonopolis")),
    State("MA", 0.75, (65000, 65999), 18, 30, 0.190, ("sao luis", "imperatriz")),
    State("MS", 0.72, (79000, 79999), 12, 26, 0.112, ("campo grande", "dourados")),
    State("PB", 0.54, (58000, 58999), 16.5, 33, 0.108, ("joao pessoa", "campina grande")),
    State("PI", 0.50, (64000, 64999), 16, 29, 0.158, ("teresina", "parnaiba")),
    State("RN", 0.49, (59000, 59999), 15.5, 32, 0.106, ("natal", "mossoro")),
    State("AL", 0.42, (57000, 57999), 20.5, 32, 0.235, ("maceio", "arapiraca")),
    State("SE", 0.35, (49000, 49999), 17.5, 30, 0.150, ("aracaju", "lagarto")),
    State("TO", 0.28, (77000, 77999), 14, 28, 0.125, ("palmas", "araguaina")),
    State("RO", 0.25, (76800, 76999), 16, 38, 0.030, ("porto velho", "ji-parana")),
    State("AM", 0.15, (69000, 69299), 22.5, 45, 0.040, ("manaus",)),
    State("AC", 0.08, (69900, 69999), 17.5, 41, 0.037, ("rio branco",)),
    State("AP", 0.07, (68900, 68999), 23, 46, 0.045, ("macapa",)),
    State("RR", 0.05, (69300, 69399), 25, 46, 0.120, ("boa vista",)),
)


@dataclass(frozen=True)
class Thing:
    """Shoppers' name of a product: a noun in the singular, its gender, and its properties."""

    noun: str
    feminine: bool
    mark: str = ""
    """`MACHINE`, `SIZED`, `USED_UP`, or none of them."""
    kind: str = ""


@dataclass(frozen=True)
class Category:
    """One of Olist's product categories."""

    name: str
    english: str
    share: float
    prices: tuple[float, float]
    weights: tuple[int, int]
    things: tuple[Thing, ...]


def read_things(kind: str, nouns: str) -> tuple[Thing, ...]:
    """Parse nouns of a kind, written with their article, which gives their gender, and with their mark."""
    things = []
    for written in nouns.strip().split(", "):
        article, _, noun = written.partition(" ")
        mark = noun[-1] if noun[-1] in {MACHINE, SIZED, USED_UP} else ""
        things.append(Thing(noun.removesuffix(mark), feminine=article == "a", mark=mark, kind=kind))
    return tuple(things)


def _read_categories() -> tuple[Category, ...]:
    tables: dict[str, dict[str, Any]] = tomllib.loads(THINGS_FILE.read_text(encoding="utf-8"))
    return tuple(
        Category(
            name,
            table["english"],
            table["share"],
            (table["prices"][0], table["prices"][1]),
            (table["weights"][0], table["weights"][1]),
            tuple(thing for kind, nouns in table["things"].items() for thing in read_things(kind, nouns)),
        )
        for name, table in tables.items()
    )


CATEGORIES: Final = _read_categories()


@dataclass(frozen=True)
class Issue:
    """Possible issue of an order, with the shopper's words for it."""

    category: ComplaintCategory
    complaint: str
    """The shopper's complaint in a few words: the `main_complaint` of an extraction."""
    severity: float
    """Stars that it costs."""


ISSUES: Final = {
    "late": Issue("delivery", "atraso na entrega", 2.0),
    "waiting": Issue("delivery", "produto não entregue", 3.3),
    "lost": Issue("delivery", "produto não entregue", 4.0),
    "canceled": Issue("seller", "pedido cancelado", 3.8),
    "broken": Issue("product", "produto com defeito", 3.0),
    "wrong": Issue("product", "produto errado", 2.9),
    "unlike": Issue("product", "produto diferente do anúncio", 2.3),
    "flimsy": Issue("product", "baixa qualidade", 2.2),
    "incomplete": Issue("product", "pedido incompleto", 2.6),
    "silent": Issue("seller", "vendedor não responde", 2.4),
    "packaging": Issue("seller", "embalagem ruim", 1.3),
    "refund": Issue("seller", "dificuldade na troca", 2.8),
    "freight": Issue("price", "frete caro", 0.9),
    "price": Issue("price", "preço alto", 0.8),
    "regret": Issue("other", "compra errada", 1.5),
}
"""Possible issues, by their key in `data/reviews/complaints.toml`, which has their sentences."""
