"""Churn: from a shopper's history, the risk that they never buy again, as a small JSON object.

`grounded`, components in [0, 1]:

- `json`: the form, as in extraction: 1 for the object alone, less with chatter, less again where it was repaired.
  Counts in full only as far as `types` are right, and a quarter at least. Gamed by a valid object without sense.
- `types`: fields that pass their check (a number in [0, 1], a real boolean, a text), over the three that are asked for
  and any that are not. Gamed by one fixed object for every shopper.
- `churn`: 1 for the right answer. Gamed by the likelier answer.
- `risk`: 1 - (risk_score - churned)^2, the Brier score turned round (Brier 1950): only an honest risk earns most.
  Gamed by 0.5, worth 0.75.
- `reasoning`: 1 for 20 to 220 characters of Portuguese of one's own; each number that the profile does not hold takes
  away a half. Gamed by one fixed sentence: what it says of the profile is not checked beyond its numbers.

Where risk and answer contradict each other (`churn` with a risk below 0.5), both keep a quarter of what they would
earn: who answers both ways answers neither. One fixed object earns 0.82 a shopper on a simulated store of 20,000 orders
(ceiling 0.88), as seven in ten shoppers have left: the AUC tells it from an answer that knows something.

Source: DESIGN, the commerce tasks (the answer is scored); source portfolio, churn prediction.

`v4.2`: the final report has no reward of churn; this is its reward of extraction by analogy (`json` a dict that can be
read, `schema` fields present of three, `types` checks passed of three). It knows no right answer. Gamed by one fixed
object, which earns everything.
"""

import json
import random
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from schemas.documents import Rollout
from schemas.store import Store
from tasks.commerce.categories import readable_category
from tasks.commerce.commerce_task import CommerceTask, Reference, Reward, Score, fill_unknown
from tasks.commerce.example import Example
from tasks.commerce.json_fields import REPORT_WEIGHTS, is_boolean, is_share, is_text, read_share, report_components
from tasks.commerce.parser import parse_object
from tasks.commerce.portuguese_numbers import decimal, numbers_given, numbers_in, reais
from tasks.commerce.prompt_rounds import distinct_prompts
from tasks.commerce.sandbox import Databases
from tasks.commerce.text_form import MAX_CHARACTERS, fluency, originality, ramp, refuses, words
from tasks.commerce.wordings import read_wording

if TYPE_CHECKING:
    from polars import DataFrame

WORDING: Final = read_wording("churn")
WEIGHTS: Final = {"json": 0.10, "types": 0.10, "churn": 0.35, "risk": 0.30, "reasoning": 0.15}
CHECKS: Final[Mapping[str, Callable[[Any], bool]]] = {
    "risk_score": is_share,
    "churn": is_boolean,
    "reasoning": is_text,
}
CONTRADICTED: Final = 0.25


class Profile(NamedTuple):
    """What the store has seen of one shopper, and their fate."""

    customer_id: str
    churned: bool
    state: str
    orders: int
    category: str | None
    """The one of most of their items."""
    spent: float
    instalments: int | None
    """Of the payment in most instalments."""
    silent_days: int
    """From the last purchase to the store's last one."""
    last_rating: float | None
    """Of the newest order with a review."""
    mean_rating: float | None
    late: int
    undelivered: int


def examples(store: Store, generator: random.Random, count: int) -> Iterator[Example]:
    """Yield examples from the shoppers whose fate the store knows; a real store knows none."""
    if store.customer_hazards is None:
        return
    rows: list[tuple[Any, ...]] = _profiles(store, store.customer_hazards).rows()
    for row, prompt in distinct_prompts(rows, WORDING.instructions, _prompt, generator, count):
        yield Example("churn", WORDING.system, prompt, {"churn": row[1]}, row[0])


def _profiles(store: Store, hazards: "DataFrame") -> "DataFrame":
    """Return a row a shopper, of the columns of `Profile`."""
    import polars as pl

    bought, delivered = pl.col("order_purchase_timestamp"), pl.col("order_delivered_customer_date")
    orders = (
        store.orders.join(
            store.customers.select("customer_id", "customer_unique_id", "customer_state"), on="customer_id"
        )
        .join(store.items.group_by("order_id").agg(spent=pl.sum("price")), on="order_id", how="left")
        .join(store.reviews.group_by("order_id").agg(rating=pl.mean("review_score")), on="order_id", how="left")
        .join(
            store.payments.group_by("order_id").agg(instalments=pl.max("payment_installments")),
            on="order_id",
            how="left",
        )
        .sort(bought, "order_id")
    )
    favourites = (
        store.items.join(store.products.select("product_id", "product_category_name"), on="product_id")
        .join(orders.select("order_id", "customer_unique_id"), on="order_id")
        .drop_nulls("product_category_name")
        .group_by("customer_unique_id", "product_category_name")
        .len()
        .sort("len", "product_category_name", descending=[True, False])
        .unique("customer_unique_id", keep="first", maintain_order=True)
    )
    return (
        orders.group_by("customer_unique_id")
        .agg(
            state=pl.last("customer_state"),
            orders=pl.len(),
            spent=pl.sum("spent"),
            instalments=pl.max("instalments"),
            silent_days=(store.orders["order_purchase_timestamp"].max() - bought.max()).dt.total_days(),
            last_rating=pl.col("rating").drop_nulls().last(),
            mean_rating=pl.mean("rating"),
            late=(delivered.dt.date() > pl.col("order_estimated_delivery_date").dt.date()).sum(),
            undelivered=delivered.is_null().sum(),
        )
        .join(hazards, on="customer_unique_id")
        .join(favourites, on="customer_unique_id", how="left")
        .rename({"customer_unique_id": "customer_id", "product_category_name": "category"})
        .sort("customer_id")
        .select(Profile._fields)
    )


def _prompt(row: tuple[Any, ...], instruction: str) -> str:
    profile = Profile(*row)
    category = "desconhecida" if profile.category is None else readable_category(profile.category)
    lines = [
        instruction,
        f"Estado: {profile.state}",
        f"Pedidos: {profile.orders}",
        f"Categoria favorita: {category}",
        f"Total gasto: {reais(profile.spent)}",
        f"Máximo de parcelas: {profile.instalments or 1}",
        f"Dias desde a última compra: {profile.silent_days}",
        f"Última nota: {_rating(profile.last_rating, 0)}",
        f"Nota média: {_rating(profile.mean_rating, 1)}",
        f"Entregas com atraso: {profile.late}",
        f"Pedidos não entregues: {profile.undelivered}",
    ]
    return "\n".join(lines)


def _rating(rating: float | None, places: int) -> str:
    return "sem avaliação" if rating is None else decimal(rating, places)


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
    churn, reason = fields.get("churn"), fields.get("reasoning")
    churn = churn if is_boolean(churn) else None
    reason = reason if is_text(reason) else None
    risk = read_share(fields.get("risk_score"))
    types = sum(value is not None for value in (churn, risk, reason)) / len(fields.keys() | CHECKS.keys())
    trust = parsed.trust
    contradicts = churn is not None and risk is not None and risk != 0.5 and (risk > 0.5) != churn
    kept = trust * (CONTRADICTED if contradicts else 1.0)
    churned = (reference or {}).get("churn")
    components = {
        "json": parsed.cleanliness * (0.25 + 0.75 * types),
        "types": trust * types,
        "churn": None if churned is None else kept * (churn is churned),
        "risk": None if churned is None else kept * (0.0 if risk is None else 1 - (risk - churned) ** 2),
        "reasoning": trust * (0.0 if reason is None else _reasoning(reason, prompt)),
    }
    return Score(fill_unknown(components, WEIGHTS), parsed.value)


def _reasoning(reason: str, prompt: str) -> float:
    text = reason[:MAX_CHARACTERS]
    length = ramp(len(text), 0, 20) * ramp(len(text), 440, 220)
    if not length or refuses(text):
        return 0.0
    invented = set(numbers_in(text)) - numbers_given(prompt)
    own_words = words(text)
    return length * fluency(own_words) * originality(own_words, prompt) * 0.5 ** len(invented)


def v42_score(completion: str, prompt: str, reference: Reference | None, databases: Databases | None) -> Score:  # noqa: ARG001 - every task's signature
    """Score a dict, its three fields and their types."""
    parsed = parse_object(completion)
    return Score(report_components(parsed.trust, parsed.value or {}, tuple(CHECKS), CHECKS), parsed.value)


def metric(rollouts: Sequence[Rollout], databases: Databases | None) -> dict[str, float]:  # noqa: ARG001 - every task's signature
    """Return the accuracy of the answer and the AUC of the risk; what cannot be read is wrong and undecided (0.5).

    The AUC (Mann-Whitney: a shopper who left has the higher risk, ties half) is absent where only one answer occurs.
    """
    right = 0
    left, stayed = list[float](), list[float]()
    for rollout in rollouts:
        churned = (rollout.reference or {}).get("churn")
        if churned is None:
            continue
        fields = parse_object(rollout.completion).value or {}
        right += fields.get("churn") is churned
        risk = read_share(fields.get("risk_score"))
        (left if churned else stayed).append(0.5 if risk is None else risk)
    if not left and not stayed:
        return {}
    accuracy = right / (len(left) + len(stayed))
    if not left or not stayed:
        return {"accuracy": accuracy}
    stayed.sort()
    wins = sum(bisect_left(stayed, risk) + bisect_right(stayed, risk) for risk in left) / 2
    return {"accuracy": accuracy, "auc": wins / (len(left) * len(stayed))}


TASK: Final = CommerceTask(
    "churn",
    WORDING.system,
    examples,
    answer,
    {"grounded": Reward(WEIGHTS, score), "v4.2": Reward(REPORT_WEIGHTS, v42_score)},
    metric,
)
