"""Churn: from a shopper's history, the risk that they never buy again, as a small JSON object.

Components (each in [0, 1]):

- `json`: the form, as in extraction: 1 for the object alone, less with chatter, less again where it was repaired.
  Counts in full only as far as `types` are right, and a quarter at least. Gamed by a valid object without sense.
- `types`: fields that pass their check (a number in [0, 1], a real boolean, a text), over the three that are asked for
  and any that are not. Gamed by one fixed object for every shopper.
- `churn`: 1 for the right answer. Gamed by the likelier answer.
- `risk`: 1 - (risk_score - churned)^2, the Brier score turned round (Brier 1950): only an honest risk earns most;
  halved where the risk and the answer disagree. Gamed by 0.5, worth 0.75 at most and only until `churn` counts.
- `reasoning`: 1 for 20 to 220 characters of Portuguese of one's own; each number that the profile does not hold takes
  away a half. Gamed by one fixed sentence: what it says of the profile is not checked beyond its numbers.

Source: DESIGN, the commerce tasks (the answer is scored); source portfolio, churn prediction.
"""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from schemas.documents import Rollout
from schemas.store import Store
from tasks.commerce.commerce_task import CommerceTask, Reference, Reward, Score, fill_unknown
from tasks.commerce.example import Example
from tasks.commerce.extraction import is_boolean, is_risk
from tasks.commerce.parser import parse_object
from tasks.commerce.portuguese_numbers import decimal, numbers_in, read_number, reais
from tasks.commerce.sandbox import Databases
from tasks.commerce.text_form import MAX_CHARACTERS, fluency, originality, ramp, refuses, words
from tasks.commerce.wordings import read_wording

WORDING: Final = read_wording("churn")
WEIGHTS: Final = {"json": 0.20, "types": 0.15, "churn": 0.30, "risk": 0.20, "reasoning": 0.15}


@dataclass(frozen=True)
class _Profile:
    customer_id: str
    churned: bool
    text: str


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield examples from the shoppers whose fate the store knows; a real store knows none."""
    if store.customer_hazards is None:
        return
    profiles = _profiles(store)
    generator.shuffle(profiles)
    seen: set[str] = set()
    for profile in profiles:
        if len(seen) == count:
            return
        prompt = f"{generator.choice(WORDING.instructions)}\n{profile.text}"
        if prompt not in seen:
            seen.add(prompt)
            yield Example("churn", WORDING.system, prompt, {"churn": profile.churned}, profile.customer_id)


def _profiles(store: Store) -> list[_Profile]:
    import polars as pl

    hazards = store.customer_hazards
    if hazards is None:
        return []
    delivered, promised = pl.col("order_delivered_customer_date"), pl.col("order_estimated_delivery_date")
    last_day = store.orders["order_purchase_timestamp"].max()
    orders = (
        store.orders.join(store.customers, on="customer_id")
        .join(store.items.group_by("order_id").agg(spent=pl.sum("price")), on="order_id", how="left")
        .join(store.reviews.group_by("order_id").agg(rating=pl.mean("review_score")), on="order_id", how="left")
        .with_columns(late=delivered.dt.date() > promised.dt.date())
    )
    table = (
        orders.group_by("customer_unique_id")
        .agg(
            orders=pl.len(),
            spent=pl.sum("spent"),
            silent_days=(last_day - pl.max("order_purchase_timestamp")).dt.total_days(),
            rating=pl.mean("rating"),
            late=pl.sum("late"),
            undelivered=delivered.is_null().sum(),
        )
        .join(hazards, on="customer_unique_id")
        .sort("customer_unique_id")
    )
    return [_Profile(row["customer_unique_id"], row["churned"], _describe(row)) for row in table.iter_rows(named=True)]


def _describe(row: dict[str, Any]) -> str:
    rating = "sem avaliação" if row["rating"] is None else decimal(row["rating"])
    return (
        f"Pedidos: {row['orders']}\nTotal gasto: {reais(row['spent'])}\nDias desde a última compra: "
        f"{row['silent_days']}\nNota média: {rating}\nEntregas com atraso: {row['late']}\n"
        f"Pedidos não entregues: {row['undelivered']}"
    )


def answer(reference: Reference) -> str:
    """Return risk, answer and reason as compact JSON."""
    if reference.get("churn"):
        fields = {
            "risk_score": 0.9,
            "churn": True,
            "reasoning": "O histórico do cliente indica que ele não deve voltar.",
        }
    else:
        fields = {"risk_score": 0.1, "churn": False, "reasoning": "O histórico do cliente indica que ele deve voltar."}
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def score(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:  # noqa: ARG001 - every task's signature
    """Score the form of the object, the answer, the risk and the reason."""
    parsed = parse_object(completion)
    fields = parsed.value or {}
    churn = fields.get("churn") if is_boolean(fields.get("churn")) else None
    risk = read_number(fields.get("risk_score")) if is_risk(fields.get("risk_score")) else None
    reasoning = fields.get("reasoning")
    reason = reasoning if isinstance(reasoning, str) and reasoning.strip() else None
    asked = fields.keys() | {"risk_score", "churn", "reasoning"}
    types = sum(value is not None for value in (churn, risk, reason)) / len(asked)
    churned = (reference or {}).get("churn")
    components = {
        "json": parsed.cleanliness * (0.25 + 0.75 * types),
        "types": parsed.trust * types,
        "churn": None if churned is None else parsed.trust * float(churn is churned),
        "risk": None if churned is None else parsed.trust * _risk_agreement(risk, churn, churned=churned),
        "reasoning": parsed.trust * _reasoning(reason, prompt),
    }
    return Score(fill_unknown(components, WEIGHTS), parsed.value)


def _risk_agreement(risk: float | None, churn: bool | None, *, churned: bool) -> float:
    if risk is None:
        return 0.0
    consistent = churn is not None and (risk == 0.5 or (risk > 0.5) == churn)
    return (1 - (risk - churned) ** 2) * (1.0 if consistent else 0.5)


def _reasoning(reason: str | None, prompt: str) -> float:
    if reason is None or refuses(reason):
        return 0.0
    text = reason[:MAX_CHARACTERS]
    length = ramp(len(text), 0, 20) * ramp(len(reason), 440, 220)
    invented = set(numbers_in(text)) - set(numbers_in(prompt))
    own_words = words(text)
    return length * fluency(own_words) * originality(own_words, prompt) * 0.5 ** len(invented)


def metric(rollouts: Sequence[Rollout], databases: Databases | None) -> dict[str, float]:  # noqa: ARG001 - every task's signature
    """Return the accuracy of the answer and the AUC of the risk; what cannot be read is wrong and undecided (0.5).

    The AUC (Mann-Whitney: a shopper who left has the higher risk, ties half) is absent where only one answer occurs.
    """
    known = [rollout for rollout in rollouts if rollout.reference and rollout.reference.get("churn") is not None]
    if not known:
        return {}
    churned = [bool((rollout.reference or {})["churn"]) for rollout in known]
    fields = [parse_object(rollout.completion).value or {} for rollout in known]
    accuracy = sum(found.get("churn") is wanted for found, wanted in zip(fields, churned, strict=True)) / len(known)
    risks = [read_number(found.get("risk_score")) if is_risk(found.get("risk_score")) else 0.5 for found in fields]
    left = [risk for risk, wanted in zip(risks, churned, strict=True) if wanted and risk is not None]
    stayed = [risk for risk, wanted in zip(risks, churned, strict=True) if not wanted and risk is not None]
    if not left or not stayed:
        return {"accuracy": accuracy}
    wins = sum((high > low) + 0.5 * (high == low) for high in left for low in stayed)
    return {"accuracy": accuracy, "auc": wins / (len(left) * len(stayed))}


TASK: Final = CommerceTask("churn", WORDING.system, examples, answer, {"grounded": Reward(WEIGHTS, score)}, metric)
