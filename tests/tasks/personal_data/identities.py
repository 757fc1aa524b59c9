"""Spellings of documents, plates, dates of birth, keys and profiles, each only where a word leads to it."""

import random
import string
from collections.abc import Callable
from typing import Final

from tasks.personal_data.scrub import Kind
from tests.tasks.personal_data.numbers import digits

_MONTHS: Final = ("janeiro", "março", "maio", "agosto", "dezembro")
_NAMES: Final = ("ana.lima", "joao_souza", "bia.nunes", "rafa.dias", "duda_alves", "tiago.reis", "lia.moura")


def _shaped(shapes: tuple[str, ...], generator: random.Random) -> str:
    """Return a random number in one of the shapes, whose 9 are digits and whose A are letters."""
    signs = {"9": string.digits, "A": string.ascii_uppercase}
    return "".join(generator.choice(signs.get(sign, sign)) for sign in generator.choice(shapes))


def spell_rg(generator: random.Random) -> tuple[str, bool]:
    """Return an RG."""
    shapes = ("99.999.999-9", "99.999.999-X", "999999999", "9.999.999", "MG-99.999.999", "99 999 999 9", "99999999-9")
    return _shaped(shapes, generator), True


def spell_cnh(generator: random.Random) -> tuple[str, bool]:
    """Return the number of a driving licence."""
    return _shaped(("99999999999", "99999999999", "999 999 999 99", "999.999.999-99"), generator), True


def spell_pis(generator: random.Random) -> tuple[str, bool]:
    """Return a PIS."""
    return "1" + _shaped(("99.99999.99-9", "9999999999", "99 9999 9999", "99.99999.999"), generator), True


def spell_voter(generator: random.Random) -> tuple[str, bool]:
    """Return a voter's number, which names a state."""
    state = f"{generator.randrange(1, 29):02}"
    first, second, last = digits(generator, 4), digits(generator, 4), digits(generator, 2)
    return generator.choice(("", " ", ".")).join((first, second, state + last)), True


def spell_plate(generator: random.Random) -> tuple[str, bool]:
    """Return a licence plate, old or Mercosul."""
    letters = generator.choice(("QRS", "BEE", "KLM", "FHT", "OPQ"))
    return letters + _shaped(("-9999", "9A99", "9A99", " 9A99", "9999"), generator), True


def spell_birth(generator: random.Random) -> tuple[str, bool]:
    """Return a date of birth."""
    day, month, year = generator.randrange(1, 29), generator.randrange(1, 13), generator.randrange(1940, 2008)
    named = f"{day} de {generator.choice(_MONTHS)} de {year}"
    numbers = (f"{day:02}/{month:02}/{year}", f"{day}/{month}/{year % 100:02}", f"{day:02}-{month:02}-{year}")
    return generator.choice(
        (*numbers, *numbers, named, f"{day:02}.{month:02}.{year}", f"{day:02}{month:02}{year}")
    ), True


def spell_code(generator: random.Random) -> tuple[str, bool]:
    """Return the security code of a card."""
    return digits(generator, 3), True


def spell_key(generator: random.Random) -> tuple[str, bool]:
    """Return a random key of PIX."""
    plain = "a1" + generator.randbytes(15).hex()
    parts = (plain[:8], plain[8:12], plain[12:16], plain[16:20], plain[20:])
    return generator.choice(("-".join(parts), "-".join(parts).upper(), plain)), True


def spell_profile(generator: random.Random) -> tuple[str, bool]:
    """Return the name or the address of a profile."""
    name = generator.choice(_NAMES) + generator.choice(("", digits(generator, 2)))
    hosts = ("instagram.com/", "https://www.instagram.com/", "facebook.com/", "t.me/", "https://www.tiktok.com/@")
    return generator.choice(("@", "@", "@", *hosts)) + name, True


SPELLINGS: Final[dict[Kind, Callable[[random.Random], tuple[str, bool]]]] = {
    "RG": spell_rg,
    "CNH": spell_cnh,
    "PIS": spell_pis,
    "TITULO": spell_voter,
    "PLACA": spell_plate,
    "NASCIMENTO": spell_birth,
    "CVV": spell_code,
    "PIX": spell_key,
    "PERFIL": spell_profile,
}
NAMED: Final[dict[Kind, tuple[str, ...]]] = {
    "RG": ("Meu RG é {}.", "rg: {}", "RG nº {} da minha mãe", "identidade {}, aguardo"),
    "CNH": ("CNH {}.", "minha cnh é {}, confiram", "habilitação nº {}"),
    "PIS": ("PIS {}.", "pis/pasep: {}", "meu NIS é {}, por favor"),
    "TITULO": ("Título de eleitor {}.", "título eleitoral: {}", "titulo de eleitor nº {} da minha filha"),
    "PLACA": ("Placa {}.", "placa: {}, carro branco", "a placa do carro é {}, confiram"),
    "NASCIMENTO": ("Nasci em {}.", "data de nascimento: {}", "nascimento {}, confiram"),
    "CVV": ("cvv {}.", "código de segurança: {}", "o CVV do cartão é {}, e nada"),
    "PIX": ("Minha chave pix é {}.", "pix: {}", "chave aleatória {}, podem devolver"),
    "PERFIL": ("Me chamem no insta {}.", "meu perfil: {}", "meu instagram é {}, respondo rápido"),
}
