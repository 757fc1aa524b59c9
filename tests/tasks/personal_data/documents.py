"""Documents with planted personal data in the spellings that Brazilians use, and numbers that must stay.

One author wrote the spellings and, after them, the detectors, and saw what these missed: a high recall says that the
intended values are found, not how many of those that strangers write. Nothing here calls a detector. Every number is
drawn; none is a person's.
"""

import random
import re
import string
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from stdnum import luhn

from tasks.personal_data.scrub import KINDS, Kind
from tests.tasks.personal_data import identities
from tests.tasks.personal_data.numbers import card, cnpj, cpf, digits, with_cnpj_digits, with_cpf_digits

PLANTED_OF_A_KIND: Final = 1_000
DECOYS: Final = 3_000


@dataclass(frozen=True)
class Document:
    """A text with at most one planted value."""

    before: str
    value: str
    after: str
    kind: Kind | None
    spelling: str


def is_two_kinds(value: str) -> bool:
    """Return whether a bare number is valid as CPF and mobile, or as CNPJ and card: only a word next to it decides."""
    if not value.isdigit():
        return False
    is_cpf_and_mobile = len(value) == 11 and value[2] == "9" and with_cpf_digits(value[:9]) == value
    return is_cpf_and_mobile or (len(value) == 14 and luhn.is_valid(value) and with_cnpj_digits(value[:12]) == value)


# fmt: off
AREAS: Final = (
    "11", "12", "19", "21", "22", "24", "27", "31", "32", "34", "41", "43", "47", "48", "51", "54", "61", "62", "65",
    "67", "71", "73", "75", "79", "81", "82", "83", "84", "85", "91", "92", "95", "98",
)
CPF_SHAPES: Final = (
    *("999.999.999-99",) * 4,
    *("99999999999",) * 3,
    *("999 999 999 99", "999999999-99", "999.999.999/99", "999.999.999.99", "999-999-999-99", "999 999 999-99"),
    *("999. 999. 999-99", "999.999.999 - 99", "999.999.999 99", "999,999,999-99", "9 9 9 9 9 9 9 9 9 9 9"),
    "999999999 99",
)
CNPJ_SHAPES: Final = (
    *("AA.AAA.AAA/AAAA-99",) * 4,
    *("AAAAAAAAAAAA99",) * 2,
    *("AA AAA AAA AAAA 99", "AA.AAA.AAA.AAAA-99", "AAAAAAAA/AAAA-99", "AA.AAA.AAA/AAAA99", "AA.AAA.AAA / AAAA - 99"),
    *("AAAAAAAA AAAA 99", "AA AAA AAA/AAAA-99", "AA-AAA-AAA/AAAA-99", "AA.AAA.AAA/AAAA.99", "AA.AAA.AAA AAAA-99"),
)
MOBILE_SHAPES: Final = (
    *("(AA) 98888-8888", "(AA) 9 8888-8888", "(AA)988888888", "AA 98888-8888", "AA988888888") * 2,
    *("+55 (AA) 9 8888-8888", "+55 AA 98888-8888", "+55AA988888888", "55AA988888888", "055 AA 98888-8888"),
    *("+55 (AA) 98888-8888", "0055 AA 98888-8888", "0AA 98888 8888", "(0AA) 98888-8888", "(0xxAA) 98888-8888"),
    *("AA-98888-8888", "AA 9.8888.8888", "AA 98888.8888", "AA 9 88888888", "AA 9 8888 8888", "AA/98888-8888"),
    *("AA 988888888", "0 AA 98888-8888", "015 AA 98888-8888", "[AA] 98888-8888", "( AA ) 98888-8888", "AA.98888.8888"),
    *("+55-AA-98888-8888", "AA 988 888 888", "(AA) 9-8888-8888", "(AA)9.8888-8888", "AA 98888 - 8888"),
    *("+55 AA 988888888", "98888-8888", "9 8888-8888", "9.8888-8888"),
)
LANDLINE_SHAPES: Final = (
    "(AA) 3888-8888", "AA 3888-8888", "(AA)38888888", "+55 AA 3888-8888", "(AA) 3888.8888", "0AA 3888-8888",
)
LABELLED_PHONES: Final = (
    "988888888", "3888-8888", "AA38888888", "AA 3888 8888", "9 8888 8888", "98888 8888", "38888888",
)
CEP_SHAPES: Final = ("99999-999",) * 4 + ("99.999-999",)
LABELLED_CEPS: Final = (
    "99999-999", "99999999", "99999 999", "99.999-999", "99.999.999", "99999 - 999", "99999- 999", "99999.999",
)
CARD_SHAPES: Final = {
    16: ("9999 9999 9999 9999",) * 3
    + ("9999999999999999", "9999.9999.9999.9999", "9999-9999-9999-9999", "9999  9999  9999  9999"),
    15: ("9999 999999 99999", "999999999999999", "9999-999999-99999", "9999.999999.99999"),
    14: ("9999 999999 9999", "99999999999999", "9999-999999-9999"),
}
NAMES: Final = (
    "maria", "joao", "ana.paula", "carlos_souza", "j.silva87", "contato", "dani-lima", "rafa2001", "lu",
    "pedro.h.alves+loja", "tia_nena",
)
HOSTS: Final = (
    "gmail.com", "hotmail.com", "uol.com.br", "yahoo.com.br", "bol.com.br", "minhaempresa.ind.br", "icloud.com",
    "usp.br", "terra.com.br",
)
# fmt: on


def fill(shape: str, number: str) -> str:
    """Put a number's characters in the places of a shape, in order."""
    signs = iter(number)
    return "".join(next(signs) if sign in "98A3" else sign for sign in shape)


def spell_cpf(generator: random.Random) -> tuple[str, bool]:
    """Return a CPF as people write it, and whether a word next to it must name its kind."""
    shape = generator.choice(CPF_SHAPES)
    return fill(shape, cpf(generator)), shape in {"9 9 9 9 9 9 9 9 9 9 9", "999999999 99"}


def spell_cnpj(generator: random.Random) -> tuple[str, bool]:
    """Return a CNPJ, in three of ten cases one with letters, some of them small."""
    shape, letters = generator.choice(CNPJ_SHAPES), generator.random() < 0.3
    value = fill(shape, cnpj(generator, letters))
    spaced = "/" not in shape and "." not in shape
    return (value.lower() if generator.random() < 0.3 else value), letters and spaced


def spell_phone(generator: random.Random) -> tuple[str, bool]:
    """Return a mobile or a landline number, with or without its area code."""
    area = generator.choice(AREAS)
    if (kind := generator.random()) < 0.7:
        shape, number = generator.choice(MOBILE_SHAPES), "9" + generator.choice("6789") + digits(generator, 7)
        return fill(shape, _led(shape, area, number)), False
    if kind < 0.85:
        shape, number = generator.choice(LANDLINE_SHAPES), generator.choice("2345") + digits(generator, 7)
        return fill(shape, _led(shape, area, number)), False
    shape = generator.choice(LABELLED_PHONES)
    first = "9" + generator.choice("6789") if "9" in shape else generator.choice("2345")
    number = first + digits(generator, (9 if "9" in shape else 8) - len(first))
    return fill(shape, _led(shape, area, number)), True


def _led(shape: str, area: str, number: str) -> str:
    return area + number if "A" in shape else number


def spell_cep(generator: random.Random) -> tuple[str, bool]:
    """Return a postal code."""
    labelled = generator.random() < 0.6
    shape = generator.choice(LABELLED_CEPS if labelled else CEP_SHAPES)
    return fill(
        shape, str(generator.randrange(1001, 99990)).zfill(5) + generator.choice(("000", digits(generator, 3)))
    ), labelled


def spell_card(generator: random.Random) -> tuple[str, bool]:
    """Return a card's number."""
    number = card(generator)
    return fill(generator.choice(CARD_SHAPES[len(number)]), number), False


def spell_email(generator: random.Random) -> tuple[str, bool]:
    """Return an e-mail address, in some cases as people hide it from machines."""
    name, host = generator.choice(NAMES) + generator.choice(("", "", digits(generator, 2))), generator.choice(HOSTS)
    dotted, spoken = host.replace(".", " . "), host.replace(".", " ponto ")
    # fmt: off
    ways = [
        *[f"{name}@{host}"] * 8, f"{name} @ {dotted}", f"{name} (arroba) {spoken}", f"{name} arroba {spoken}",
        f"{name}@ {host}", f"{name} @{host}", f"{name}[arroba]{host}", f"{name}(at){host}", f"<{name}@{host}>",
        f"{name}(arroba){host}", f"mailto:{name}@{host}", f"{name}＠{host}", f"{name}@{host}".upper(),
        f"{name} [at] {host}", f"{name}@{host.replace('.', ',')}", f"{name} @ {host}", f"{name}@gmail",
        f"{name} arroba {host}",
    ]
    # fmt: on
    return generator.choice(ways), False


def spell_url(generator: random.Random) -> tuple[str, bool]:
    """Return a URL that carries a secret."""
    secret = "".join(generator.choices(string.ascii_letters + string.digits, k=generator.choice((10, 24, 40))))
    host = generator.choice(("www.loja.com.br", "minhaloja.com", "app.entregas.com.br", "pay.loja.net", "l.promo.me"))
    start = generator.choice(("https://", "https://", "http://", "HTTPS://", ""))
    key = generator.choice(
        ("token", "access_token", "sessionid", "key", "api_key", "auth", "senha", "password", "code", "sid", "hash")
    )
    # fmt: off
    ways = [
        *[f"{start}{host}/conta?{key}={secret}"] * 3, f"{start}{host}/pedido?id=12&{key}={secret}&utm_source=sms",
        f"{start}{host}/#{key}={secret}", f"https://ana:{secret}@{host}/painel",
        f"{start}{host}/r?email=ana.lima%40gmail.com", f"{start}{host}/c?cpf={cpf(generator)}",
        f"{start}{host}/redefinir/{secret * 3}", f"{start}{host}/u?email=lu@bol.com.br",
        f"{start}{host}/v/eyJhbGciOiJIUzI1NiJ9.{secret}.{secret}",
        f"https://wa.me/55{generator.choice(AREAS)}98{digits(generator, 7)}",
        f"{start}{host}/reset/{generator.randbytes(16).hex()}",
        f"{start}{host}/a?x=1&X-Amz-Signature={generator.randbytes(32).hex()}",
    ]
    # fmt: on
    return generator.choice(ways), False


# fmt: off
SPELLINGS: Final[dict[Kind, Callable[[random.Random], tuple[str, bool]]]] = {
    "CPF": spell_cpf, "CNPJ": spell_cnpj, "EMAIL": spell_email, "TELEFONE": spell_phone, "CEP": spell_cep,
    "CARTAO": spell_card, "URL": spell_url, **identities.SPELLINGS,
}
NAMED: Final[dict[Kind, tuple[str, ...]]] = {
    "CPF": (
        "Meu CPF é {}, podem conferir.", "cpf: {}", "CPF n° {} em nome da minha mãe", "Nota saiu sem o cpf ({})",
        "CPF do titular {}, aguardo.",
    ),
    "CNPJ": (
        "Somos empresa, CNPJ {}.", "cnpj: {} favor emitir a nota", "CNPJ nº {} - razão social na nota",
        "O CNPJ da loja é {}?",
    ),
    "EMAIL": ("Meu e-mail é {}.", "respondam para {} por favor", "email: {}", "Não chegou nada no {}, nem no spam."),
    "TELEFONE": (
        "Meu telefone é {}.", "me liga no {} urgente", "whats {}", "Tel: {} (falar com Ana)", "zap {}, respondo rápido",
        "Fone {}", "meu cel {}", "Ligar para {} depois das 18h",
    ),
    "CEP": (
        "CEP {}", "Rua das Flores, 120, Centro, cep: {}", "cep {} e não entregam aqui?", "O CEP é {}, casa amarela",
        "CEP-{}",
    ),
    "CARTAO": (
        "Cobraram duas vezes no cartão {}.", "Cartão: {} validade 12/29", "número {} no crédito",
        "o final do meu cartão está errado, o certo é {}",
    ),
    "URL": ("Cliquei em {} e deu erro.", "O link é {}", "Recebi isto: {}. É golpe?", "vejam {}, por favor"),
    **identities.NAMED,
}
OF_DOCUMENTS: Final = ("Segue: {}", "Meus dados: Ana Lima, {}", "Nota em nome de Ana Lima, {}.", "{} - aguardo a nota")
OF_CONTACTS: Final = (
    "Qualquer coisa, {}, obrigada!", "Segue: {}", "Produto não chegou. {}", "{} - aguardo retorno",
    "Meus dados: Ana Lima, {}", "Podem falar comigo: {}.",
)
UNNAMED: Final[dict[Kind, tuple[str, ...]]] = {
    **dict.fromkeys(("CPF", "CNPJ"), OF_DOCUMENTS),
    **dict.fromkeys(("EMAIL", "TELEFONE"), OF_CONTACTS),
    "CEP": (
        "Moro na Rua das Flores, 120, Centro, {}", "Av. Brasil, 2310, {}, Campinas", "Meu endereço: Rua Sete, 45 - {}.",
        "Não entregam aqui: {}",
    ),
    "CARTAO": ("Paguei com o {} e cobraram duas vezes.", "Segue: {}", "Crédito {}, em 3x", "Comprei no {} e nada"),
    "URL": ("Segue: {}", "{} - não abre", "Recebi por SMS: {}", "Olhem: {}, por favor"),
    **identities.NAMED,
}
# fmt: on


def pasted(value: str, generator: random.Random) -> str:
    """Return a number as pasted from a web page, a phone's keyboard or a PDF."""
    way = generator.randrange(5)
    if way == 0:
        return value.replace(" ", generator.choice("\u00a0\u2009\u202f")).replace(
            "-", generator.choice("\u2010\u2011\u2012\u2013\u2212")
        )
    if way in {1, 2}:
        zero = 0xFF10 if way == 1 else 0x660
        return "".join(chr(zero + int(sign)) if sign in string.digits else sign for sign in value)
    place = generator.randrange(1, len(value))
    return value[:place] + generator.choice("\u200b\u200d\u2060\u00ad") + value[place:]


REMARKS: Final = ("{}.", "Olá! {}.", "{}\nAguardo.", "{}, e nada até agora")
# fmt: off
DECOY_FRAMES: Final[dict[str, tuple[str, ...]]] = {
    "barcode": ("{}", "Veio outro: {}.", "Está na caixa: {}"), "date": ("{}", "No site aparece assim: {}."),
    "identifier": ("{}", "O sistema mostra isto: {}"), "page": ("{}", "É este: {}", "Vi aqui: {}"),
    "range": ("{}", "Disseram assim: {}.", "Está no anúncio: {}"), "speech": ("{}", "{}."), "sql": ("{}",),
    "table": ("{}", "O relatório diz:\n{}"), "toll free": ("{}.", "Péssimo, {}!", "{}, e nada até agora"),
}
# fmt: on


def decoy(generator: random.Random) -> tuple[str, str]:
    """Return a kind of number or address that must stay, and a text with one."""
    one, many = generator.randrange(1, 10), digits(generator, 11)
    day, month, year = generator.randrange(1, 29), generator.randrange(1, 13), generator.randrange(2015, 2027)
    access = "35" + digits(generator, 42)
    groups = " ".join(access[place : place + 4] for place in range(0, 44, 4))
    # fmt: off
    ways = {
        "order": (
            f"Pedido {many} não chegou", f"nº do pedido: {one}1987654321", f"pedido 02-{digits(generator, 9)}",
            f"pedido n° {digits(generator, 8)}",
        ),
        "protocol": (f"protocolo {digits(generator, 13)}", f"Protocolo nº {year}{many[:8]}", f"protocolo {many}"),
        "tracking": (
            f"rastreio LB{digits(generator, 9)}BR", f"código {digits(generator, 8)}",
            f"objeto OJ{digits(generator, 9)}BR parado",
        ),
        "invoice": (
            f"nota fiscal {digits(generator, 9)}", f"NF-e {digits(generator, 9)}", f"chave {access}",
            f"chave de acesso {groups}",
        ),
        "barcode": (
            f"EAN 789{digits(generator, 10)}", f"código de barras 789{digits(generator, 10)}",
            f"ref. 789{digits(generator, 10)}", f"SKU {digits(generator, 8)}",
        ),
        "price": (
            f"paguei R$ {one}.234.567,89", f"R$ {one}99,90 em {one}x",
            f"de R$ 1.{many[:3]},00 por R$ {many[:3]},{many[3:5]}", f"total: {one}23.456.789,10",
        ),
        "date": (
            f"{year}-{month:02}-{day:02}", f"em {day:02}/{month:02}/{year}", f"arquivo {year}{month:02}{day:02}",
            f"{day:02}.{month:02}.{year} às 14:35:10", f"desde {year}-{month:02}-{day:02} 10:02:33",
        ),
        "range": (
            f"entre {one}0 e {one}9 dias", f"de {year} a {year + 1}", f"{year}-{year + 1}", f"{one}000-{one}500 reais",
            "de 10 a 20 e de 30 a 40",
        ),
        "identifier": (
            f"id {generator.randbytes(16).hex()}", "uuid 0b5f9b1c-7a53-4a3e-9a0e-0d5f5c2b1a77",
            f"SELECT * FROM orders WHERE order_id = '{generator.randbytes(16).hex()}'",  # noqa: S608
        ),
        "sql": (
            f"SELECT COUNT(*) FROM orders WHERE price > {digits(generator, 5)} AND qty IN (10, 20, 30, 40, 50)",  # noqa: S608
            f"WHERE ts BETWEEN {year}0101 AND {year}1231",
        ),
        "table": (
            f"SP | {many[:5]} | {many[5:]} | 1.234,50\nRJ | 98.765 | 4,2 | 153", f"12 345 678 90 11 {one}2 13 14",
            f"2016 1.{many[:3]} 2017 2.{many[3:6]} 2018 3.{many[6:9]}",
        ),
        "toll free": (
            "liguei no 0800 701 1234", "o 0800-7011234 não atende", "o SAC é 4004-1234", "só tem o SAC 0300 789 1234",
            "mandaram ligar no 190",
        ),
        "page": (
            "https://www.loja.com.br/produto/fone-bluetooth-123456",
            "https://www.loja.com.br/busca?q=tenis&page=2&utm_source=google", "www.amazon.com.br/dp/B08N5WRWNW",
            "https://produto.mercadolivre.com.br/MLB-1234567890-fone-de-ouvido-sem-fio-_JM",
        ),
        "speech": (
            "segui o @lojaoficial e nada", "notebook 15.6 i5-10300H 8GB 256GB", "tamanho 40x30x20 cm",
            "galaxy A52s 5G 128gb", "processo 0001234-56.2018.8.26.0100", "nota 10 a todos",
        ),
    }
    # fmt: on
    name = generator.choice(sorted(ways))
    return name, generator.choice(DECOY_FRAMES.get(name, REMARKS)).format(generator.choice(ways[name]))


def planted(kind: Kind, generator: random.Random) -> Document:
    """Return a document with one value of a kind, some with a decoy in a separate sentence."""
    value, must_be_named = SPELLINGS[kind](generator)
    must_be_named = must_be_named or is_two_kinds(value)
    if kind not in {"URL", "EMAIL", "PERFIL"} and generator.random() < 0.12:
        value = pasted(value, generator)
    sentence = generator.choice((NAMED if must_be_named or generator.random() < 0.7 else UNNAMED)[kind])
    before, after = sentence.split("{}")
    if (way := generator.random()) < 0.2:
        before = f"{decoy(generator)[1]}\n{before}"
    elif way < 0.4:
        after = f"{after}\n{decoy(generator)[1]}"
    if generator.random() < 0.15:
        before, after, value = before.upper(), after.upper(), value if kind == "URL" else value.upper()
    return Document(before, value, after, kind, re.sub(r"\d", "9", value))


def documents(generator: random.Random) -> list[Document]:
    """Return all documents of the benchmark."""
    made = [planted(kind, generator) for kind in KINDS for _ in range(PLANTED_OF_A_KIND)]
    for _ in range(DECOYS):
        name, text = decoy(generator)
        made.append(Document(text, "", "", None, name))
    return made
