"""Random numbers of documents and cards, with right check digits. Every number is drawn; none is a person's."""

import random
import string

from stdnum import luhn


def digits(generator: random.Random, count: int) -> str:
    """Return random digits."""
    return "".join(generator.choices(string.digits, k=count))


def cpf(generator: random.Random) -> str:
    """Return 11 digits with valid check digits."""
    return with_cpf_digits(digits(generator, 9))


def with_cpf_digits(number: str) -> str:
    """Return 9 digits and their two check digits."""
    for length in (10, 11):
        rest = sum(int(sign) * weight for sign, weight in zip(number, range(length, 1, -1), strict=True)) * 10 % 11
        number += str(rest % 10)
    return number


def cnpj(generator: random.Random, letters: bool = False) -> str:
    """Return 14 digits, or letters and digits as issued since July 2026, with valid check digits."""
    alphabet = string.digits + string.ascii_uppercase if letters else string.digits
    number = "".join(generator.choices(alphabet, k=8)) + generator.choice(("0001", "0001", "0001", "0002", "0137"))
    return with_cnpj_digits(number)


def with_cnpj_digits(number: str) -> str:
    """Return 12 characters and their two check digits."""
    for first in (5, 6):
        weights = [*range(first, 1, -1), *range(9, 1, -1)]
        rest = sum((ord(sign) - 48) * weight for sign, weight in zip(number, weights, strict=True)) % 11
        number += str(0 if rest < 2 else 11 - rest)
    return number


def card(generator: random.Random) -> str:
    """Return a card number of the brands in use in Brazil."""
    prefix, length = generator.choice(
        (
            *(("4", 16), ("4", 16), ("51", 16), ("55", 16), ("2221", 16), ("34", 15), ("37", 15), ("36", 14)),
            *(("301", 14), ("636368", 16), ("438935", 16), ("504175", 16), ("6504", 16), ("606282", 16)),
            *(("6011", 16), ("3528", 16)),
        )
    )
    body = prefix + digits(generator, length - 1 - len(prefix))
    return f"{body}{luhn.calc_check_digit(body)}"
