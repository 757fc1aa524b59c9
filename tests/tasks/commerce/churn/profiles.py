"""Profiles of churn for tests, and everything that the grammar can say of one."""

import json
import random
from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any

from hypothesis import strategies as st

from tasks.commerce.churn.profile import FIELDS, CustomerProfile, read_profile
from tasks.commerce.churn.prompts import ChurnInputs
from tasks.commerce.example import Example
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.synthesize.simulated import simulate_store

WAYS = ("sai", "fica")


@cache
def examples(count: int = 300, seed: str = "churn:evidence") -> Sequence[Example]:
    store = simulate_store(1_000, random.Random(seed))
    return list(EXAMPLE_MAKERS["churn"](store, random.Random(seed), count))


def prompt_of(**known: Any) -> str:
    """Return the prompt of a regular and satisfied customer, but for what is given."""
    usual = {"state": "SP", "orders": 4, "spent": 640.0, "silent_days": 20, "last_rating": 5, "mean_rating": 4.8}
    return ChurnInputs(**{**usual, **known}).prompt("Este cliente vai deixar de comprar?")


def lines_of(prompt: str) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in prompt.splitlines()[1:])


def reason(field: str, value: str, way: str) -> dict[str, str]:
    return {"campo": field, "valor": value, "aponta": way}


def answer_of(*reasons: object, risk: float = 0.8, **others: Any) -> str:
    fields = {"risk_score": risk, "churn": risk > 0.5, "reasons": list(reasons)} | others
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def all_reasons(prompt: str) -> list[dict[str, str]]:
    lines = lines_of(prompt)
    return [reason(name, lines[name], way) for name, way in product(FIELDS, WAYS) if name in lines]


FURIOUS = prompt_of(orders=1, spent=45, silent_days=212, last_rating=1, mean_rating=1, late=1)


def profile_in(prompt: str) -> CustomerProfile:
    profile = read_profile(prompt)
    assert profile is not None
    return profile


@st.composite
def prompts(draw: st.DrawFn) -> str:
    ratings = st.none() | st.integers(10, 50).map(lambda tenths: tenths / 10)
    orders = draw(st.integers(1, 6))
    return prompt_of(
        orders=orders,
        spent=draw(st.integers(0, 2_000)),
        silent_days=draw(st.integers(0, 600)),
        last_rating=draw(ratings),
        mean_rating=draw(ratings),
        late=draw(st.integers(0, orders)),
        undelivered=draw(st.integers(0, orders)),
    )
