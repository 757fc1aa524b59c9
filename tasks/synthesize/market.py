"""The Brazil that the simulated store sells in: its states, its categories and what can go wrong with an order."""

from dataclasses import dataclass
from typing import Final, Literal

ComplaintCategory = Literal["delivery", "product", "seller", "price", "other"]


@dataclass(frozen=True)
class State:
    """A state, as a place to deliver to."""

    code: str
    share: float
    """Weight of its shoppers among all."""
    zip_prefixes: tuple[int, int]
    """First and last prefix of its post codes that the store uses."""
    transit_days: float
    """Usual days between the carrier's pick-up and the delivery."""
    disruption: float
    """Chance that a delivery there runs into trouble."""
    cities: tuple[str, ...]
    """As Olist writes them: small letters, no accents."""


STATES: Final = (
    State("SP", 38, (1000, 19999), 5, 0.06, ("sao paulo", "campinas", "santos", "guarulhos", "sorocaba")),
    State("RJ", 13, (20000, 28999), 9, 0.14, ("rio de janeiro", "niteroi", "duque de caxias")),
    State("MG", 12, (30000, 39999), 8, 0.07, ("belo horizonte", "uberlandia", "juiz de fora")),
    State("RS", 6, (90000, 99999), 11, 0.08, ("porto alegre", "caxias do sul", "pelotas")),
    State("PR", 5, (80000, 87999), 8, 0.06, ("curitiba", "londrina", "maringa")),
    State("SC", 4, (88000, 89999), 10, 0.08, ("florianopolis", "joinville", "blumenau")),
    State("BA", 5, (40000, 48999), 14, 0.18, ("salvador", "feira de santana", "ilheus")),
    State("DF", 3, (70000, 72799), 9, 0.07, ("brasilia",)),
    State("GO", 3, (72800, 76799), 11, 0.10, ("goiania", "anapolis")),
    State("ES", 3, (29000, 29999), 11, 0.12, ("vitoria", "vila velha")),
    State("PE", 4, (50000, 56999), 15, 0.16, ("recife", "olinda", "caruaru")),
    State("CE", 3, (60000, 63999), 17, 0.20, ("fortaleza", "sobral")),
    State("PA", 2, (66000, 68899), 19, 0.20, ("belem", "ananindeua")),
    State("MA", 1.5, (65000, 65999), 18, 0.24, ("sao luis", "imperatriz")),
    State("AM", 1, (69000, 69299), 22, 0.18, ("manaus",)),
)


@dataclass(frozen=True)
class Thing:
    """What shoppers call a product: a noun in the singular, and whether it is feminine."""

    noun: str
    feminine: bool


@dataclass(frozen=True)
class Category:
    """One of Olist's product categories."""

    name: str
    english: str
    prices: tuple[float, float]
    """Lowest and highest price, in reais."""
    weights: tuple[int, int]
    """Lowest and highest weight, in grams."""
    things: tuple[Thing, ...]


def _things(nouns: str) -> tuple[Thing, ...]:
    """Read nouns that are written with their article, which tells their gender."""
    split = [noun.partition(" ") for noun in nouns.split(", ")]
    return tuple(Thing(noun, feminine=article == "a") for article, _, noun in split)


CATEGORIES: Final = (
    Category("cama_mesa_banho", "bed_bath_table", (30, 250), (400, 3000), _things("o edredom, a toalha")),
    Category("beleza_saude", "health_beauty", (20, 300), (100, 1500), _things("o secador, o barbeador")),
    Category("esporte_lazer", "sports_leisure", (30, 600), (200, 9000), _things("o colchonete, a barraca")),
    Category(
        "moveis_decoracao", "furniture_decor", (40, 500), (800, 12000), _things("o espelho, a cadeira, a luminária")
    ),
    Category("informatica_acessorios", "computers_accessories", (25, 450), (80, 1500), _things("o mouse, o teclado")),
    Category("utilidades_domesticas", "housewares", (20, 280), (300, 5000), _things("o faqueiro, a panela")),
    Category("relogios_presentes", "watches_gifts", (60, 700), (100, 500), _things("o relógio, a pulseira")),
    Category("telefonia", "telephony", (15, 900), (50, 400), _things("o celular, o carregador, a capinha")),
    Category("ferramentas_jardim", "garden_tools", (30, 400), (300, 8000), _things("a furadeira, a mangueira")),
    Category("automotivo", "auto", (30, 500), (200, 6000), _things("o som automotivo")),
    Category("brinquedos", "toys", (20, 250), (150, 3000), _things("o quebra-cabeça, o carrinho, a boneca")),
    Category("cool_stuff", "cool_stuff", (40, 500), (200, 3000), _things("o drone, a caneca térmica")),
    Category("perfumaria", "perfumery", (40, 400), (100, 600), _things("o perfume, o hidratante")),
    Category("bebes", "baby", (25, 600), (200, 9000), _things("o carrinho de bebê, a cadeirinha")),
    Category("eletronicos", "electronics", (30, 600), (100, 2500), _things("o fone de ouvido, a caixa de som")),
    Category("papelaria", "stationery", (10, 120), (80, 900), _things("o estojo, a agenda, a lousa")),
    Category(
        "fashion_bolsas_e_acessorios",
        "fashion_bags_accessories",
        (40, 350),
        (150, 1200),
        _things("a bolsa, a carteira"),
    ),
    Category("pet_shop", "pet_shop", (20, 260), (150, 6000), _things("o arranhador, a coleira")),
    Category("eletroportateis", "small_appliances", (70, 600), (900, 5000), _things("o liquidificador, a cafeteira")),
    Category("malas_acessorios", "luggage_accessories", (60, 500), (500, 4500), _things("a mala, a mochila")),
    Category("consoles_games", "consoles_games", (50, 900), (150, 3500), _things("o controle, o headset gamer")),
    Category("livros_interesse_geral", "books_general_interest", (20, 120), (200, 1200), _things("o livro")),
)


@dataclass(frozen=True)
class Issue:
    """One thing that goes wrong with an order, and what the shopper calls it."""

    category: ComplaintCategory
    complaint: str
    """The shopper's complaint in a few words: the `main_complaint` of an extraction."""
    severity: float
    """Stars that it costs."""


ISSUES: Final = {
    "late": Issue("delivery", "atraso na entrega", 2.0),
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
"""What can go wrong, by the key under which `data/reviews/patterns.toml` has its sentences."""
