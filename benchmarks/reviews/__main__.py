"""Simulated store compared with a real sample of Olist's: texts, ratings, delivery times and payments.

Olist's sample holds far more orders that were never delivered than the whole data set; it is thinned to the published
mix of order statuses first, so that everything that depends on satisfaction can be compared.

Limits, and why:

- ratings within 4 points of Olist's: all that depends on satisfaction is calibrated on them;
- median and 90th percentile of the characters of a message, and mean words, within a factor of 1.4: prompts as long as
  real ones; at most 3 % of messages longer than 350 characters, for prompts are read by small models;
- texts with accents, in capitals, that start in small letters, and with emoji, within 8 points: style is noise that a
  model must stand, and too much of it would teach nothing else; titles within 4 points;
- of the words that real shoppers write, 75 % are in the simulated vocabulary, of the 200 commonest 90 %, and 60 % are
  as common there; 85 % of the simulated words are real ones: no store knows every thing and place that people name;
- by region (those with 100 deliveries in the sample) mean days within 25 % and late orders within 4 points;
- kinds of payment and the mix of instalments within 5 points;
- 10,000 orders take at most 2 CPU seconds (the best of three) and 100,000 at most 1 GB: any size is made on a laptop;
- at most 5 % of 10,000 messages say to the letter what another says, and they hold 5,000 different templates;
- 1,100 different words among 6,000, where real reviews hold some more;
- "não recebi" as often as in real messages, within a factor of 1.4: the commonest complaint, and whose text decides;
- texts of several lines within 4 points, and those with a word misspelled as Brazilians do (`spelling.toml`) from half
  as many to 8 points more: the list has our words, and real ones are misspelled in others, too;
- a text contradicts its stars (`polarity.toml`) no oftener than real ones do.

One deviation is intended: two reviews in three have a message and not four in ten, because prompts are made of
messages; unhappy shoppers write most often, as in Olist. It is in the table without a limit.
"""

import math
import random
import re
import subprocess
import sys
import time
import tomllib
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import emoji
import polars as pl

from benchmarks.harness import Report, add_olist, run_benchmark
from benchmarks.reviews.texts import (
    bare,
    contradicting_share,
    equal_share,
    misspelled_share,
    share_with,
    word_types,
    words,
)
from schemas.store.files import read_store
from schemas.store.store import Store
from tasks.synthesize.market import CATEGORIES
from tasks.synthesize.sentences import REVIEWS
from tasks.synthesize.simulated import simulate_store

ORDERS: Final = 20_000
SEED: Final = 1
MESSAGES_FOR_VARIETY: Final = 10_000
TOKENS: Final = 6_000
RIGHT_ELSEWHERE: Final = frozenset(
    ("a", "atraso", "cancelo", "deixo", "falto", "mau", "quiz", "reclama", "servil", "trás", "vc", "vcs", "ves")
)
"""Spellings that are right as other words."""
PUBLISHED_STATUSES: Final = {
    "delivered": 96_478,
    "shipped": 1_107,
    "canceled": 625,
    "unavailable": 609,
    "invoiced": 314,
    "processing": 301,
    "created": 5,
    "approved": 2,
}
"""Orders of the whole data set by status, as Kaggle counts them."""
REGIONS: Final = {
    "North": ("AC", "AM", "AP", "PA", "RO", "RR", "TO"),
    "Northeast": ("AL", "BA", "CE", "MA", "PB", "PE", "PI", "RN", "SE"),
    "Centre-West": ("DF", "GO", "MS", "MT"),
    "Southeast": ("ES", "MG", "RJ", "SP"),
    "South": ("PR", "RS", "SC"),
}
FEWEST_DELIVERIES: Final = 100
# The publisher replaced companies by the great houses of a novel.
HOUSES: Final = re.compile(r"\b(lannister|stark|targaryen|baratheon|tyrell|greyjoy|arryn|martell|tully)s?\b")
NOUNS: Final = {thing.noun.lower() for category in CATEGORIES for thing in category.things} | {"produto"}


@dataclass(frozen=True)
class Line:
    """One measure of both stores."""

    group: str
    name: str
    real: float
    simulated: float
    form: str
    """Format of both: `%`, `0.0%`, `0` or `0.0`."""
    low: float | None = None
    high: float | None = None
    """Limits of the simulated value; none where it is only shown."""

    @property
    def met(self) -> bool:
        """Whether the simulated value is within its limits."""
        return (self.low is None or self.simulated >= self.low) and (self.high is None or self.simulated <= self.high)


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    add_olist(parser)


def measure(report: Report, options: Namespace) -> None:
    """Compare the stores."""
    real = thinned(read_store(options.olist), random.Random(SEED))
    simulated = simulate_store(ORDERS, random.Random(SEED))
    lines = [*compare_reviews(real, simulated), *compare_words(real, simulated)]
    lines += [*compare_deliveries(real, simulated), *compare_payments(real, simulated)]
    lines += [*measure_variety(real, simulated), *compare_sense(real, simulated), *measure_cost()]
    _report(report, lines, real, simulated)


def thinned(store: Store, generator: random.Random) -> Store:
    """Return the store with its deliveries and other orders in the proportion of the whole data set."""
    by_status = dict(store.orders.group_by("order_status").agg("order_id").sort("order_status").iter_rows())
    scale = len(by_status["delivered"]) / PUBLISHED_STATUSES["delivered"]
    kept: list[str] = []
    for status, orders in by_status.items():
        kept += generator.sample(sorted(orders), min(len(orders), round(PUBLISHED_STATUSES[status] * scale)))
    orders = store.orders.filter(pl.col("order_id").is_in(kept))
    return Store(
        orders=orders,
        items=store.items.join(orders, on="order_id", how="semi"),
        payments=store.payments.join(orders, on="order_id", how="semi"),
        reviews=store.reviews.join(orders, on="order_id", how="semi"),
        customers=store.customers.join(orders, on="customer_id", how="semi"),
        products=store.products,
        sellers=store.sellers,
        category_translation=store.category_translation,
    )


def compare_reviews(real: Store, simulated: Store) -> list[Line]:
    """Compare ratings, and the form of texts."""
    lines = []
    for stars in range(5, 0, -1):
        shares = _pair(_share(store.reviews["review_score"] == stars) for store in (real, simulated))
        lines.append(_near("Ratings", f"{stars} star{'s' * (stars > 1)}", *shares, points=0.04))
    column = "review_comment_message"
    shares = _pair(_share(store.reviews[column].is_not_null()) for store in (real, simulated))
    lines.append(Line("Form", "reviews with a message (deviation)", *shares, "%"))
    for name, least, most in (("of 1 or 2 stars", 1, 2), ("of 3 stars", 3, 3), ("of 4 or 5 stars", 4, 5)):
        chosen = [store.reviews.filter(pl.col("review_score").is_between(least, most)) for store in (real, simulated)]
        shares = _pair(_share(reviews[column].is_not_null()) for reviews in chosen)
        lines.append(Line("Form", f"  {name}", *shares, "%"))
    shares = _pair(_share(store.reviews["review_comment_title"].is_not_null()) for store in (real, simulated))
    lines.append(_near("Form", "reviews with a title", *shares, points=0.04))
    lengths = [pl.Series([len(text) for text in messages(store)]) for store in (real, simulated)]
    for tenth in (1, 2, 3, 4, 5, 6, 7, 8, 9):
        values = _pair(_number(length.quantile(tenth / 10, "nearest")) for length in lengths)
        factor = 1.4 if tenth in {5, 9} else None
        lines.append(_times("Form", f"characters, {tenth}0th percentile", *values, "0", factor))
    long = _pair(_share(length > 350) for length in lengths)
    lines.append(Line("Form", "messages over 350 characters", *long, "%", high=0.03))
    counts = [pl.Series([len(words(text)) for text in messages(store)]) for store in (real, simulated)]
    lines.append(_times("Form", "words, mean", *_pair(_number(count.mean()) for count in counts), "0.0", 1.4))
    for name, test in FORMS.items():
        shares = _pair(_share(pl.Series([test(text) for text in messages(store)])) for store in (real, simulated))
        lines.append(_near("Form", name, *shares, points=0.08))
    return lines


FORMS: Final[dict[str, Callable[[str], bool]]] = {
    "messages with an accent": lambda text: text != bare(text),
    "messages all in capitals": lambda text: text.isupper() and sum(map(str.isalpha, text)) > 3,
    "messages that start in small letters": lambda text: text[0].islower(),
    "messages with an emoji": lambda text: emoji.emoji_count(text) > 0,
}


def compare_words(real: Store, simulated: Store) -> list[Line]:
    """Compare the vocabularies, by words in use; accents and capitals do not count, and a company is a shop."""
    theirs, ours = (
        Counter(word for text in messages(store) for word in words(HOUSES.sub("loja", text.lower())))
        for store in (real, simulated)
    )
    common = {word for word, _ in theirs.most_common(200)}
    top = len(common & {word for word, _ in ours.most_common(200)}) / len(common)
    return [
        Line("Words", "different words", len(theirs), len(ours), "0"),
        Line("Words", "real words in use, known", 1.0, _covered(theirs, ours), "%", low=0.75),
        Line("Words", "simulated words in use, real", 1.0, _covered(ours, theirs), "%", low=0.85),
        Line(
            "Words",
            "of the 200 commonest real words, known",
            1.0,
            len(common & ours.keys()) / len(common),
            "%",
            low=0.90,
        ),
        Line("Words", "of the 200 commonest real words, as usual", 1.0, top, "%", low=0.60),
    ]


def compare_deliveries(real: Store, simulated: Store) -> list[Line]:
    """Compare the days from purchase to delivery, and the share of late ones, by region."""
    lines = []
    tables = [_deliveries(store) for store in (real, simulated)]
    for region, states in REGIONS.items():
        theirs, ours = (table.filter(pl.col("customer_state").is_in(states)) for table in tables)
        limited = theirs.height >= FEWEST_DELIVERIES
        days = _pair(_number(table["days"].mean()) for table in (theirs, ours))
        lines.append(_times("Delivery", f"{region}: days, mean", *days, "0.0", 1.25 if limited else None))
        late = _pair(_share(table["late"]) for table in (theirs, ours))
        lines.append(_near("Delivery", f"{region}: late", *late, points=0.04 if limited else None))
    late = _pair(_share(table["late"]) for table in tables)
    return [*lines, _near("Delivery", "Brazil: late", *late, points=0.02)]


def compare_payments(real: Store, simulated: Store) -> list[Line]:
    """Compare the kinds of payment and the instalments of cards."""
    lines = []
    largest = [
        store.payments.sort("payment_value", "payment_type").unique("order_id", keep="last")
        for store in (real, simulated)
    ]
    for kind in ("credit_card", "boleto", "voucher", "debit_card"):
        shares = _pair(_share(table["payment_type"] == kind) for table in largest)
        lines.append(_near("Payment", f"orders, mostly by {kind}", *shares, points=0.05))
    cards = [store.payments.filter(pl.col("payment_type") == "credit_card") for store in (real, simulated)]
    for name, least, most in (("once", 0, 1), ("2 or 3", 2, 3), ("4 to 6", 4, 6), ("7 to 10", 7, 10), ("more", 11, 99)):
        shares = _pair(_share(card["payment_installments"].is_between(least, most)) for card in cards)
        lines.append(_near("Payment", f"cards, instalments: {name}", *shares, points=0.05))
    return lines


def measure_variety(real: Store, simulated: Store) -> list[Line]:
    """Count different texts, templates and words, in as many messages as the real sample has, and in 10,000."""
    theirs, ours = messages(real), messages(simulated)
    lines = []
    for name, key in (("texts", str), ("templates", template)):
        counts = _pair(len(set(map(key, texts[: len(theirs)]))) for texts in (theirs, ours))
        lines.append(Line("Variety", f"different {name} in {len(theirs)} messages", *counts, "0"))
    many = len(set(map(template, ours[:MESSAGES_FOR_VARIETY])))
    lines.append(Line("Variety", "different templates in 10,000 messages", float("nan"), many, "0", low=5_000))
    equal = _pair(equal_share(texts[:MESSAGES_FOR_VARIETY]) for texts in (theirs, ours))
    lines.append(Line("Variety", "messages equal to another, of 10,000", float("nan"), equal[1], "0.0%", high=0.05))
    types = _pair(word_types(texts, TOKENS, SEED) for texts in (theirs, ours))
    return [*lines, Line("Variety", f"different words in {TOKENS:,}", *types, "0", low=1_100)]


def compare_sense(real: Store, simulated: Store) -> list[Line]:
    """Compare what a Brazilian would notice first: complaints, spelling, lines, and stars that do not fit the text."""
    theirs, ours = messages(real), messages(simulated)
    missing = _pair(share_with(texts, "nao recebi") for texts in (theirs, ours))
    spellings = tomllib.loads((REVIEWS / "spelling.toml").read_text(encoding="utf-8"))["misspellings"]
    # A right word for another, such as "mas" for "mais", is not counted.
    wrong = {spelling for found in spellings.values() for spelling in found} - {*spellings} - RIGHT_ELSEWHERE
    misspelled = _pair(misspelled_share(texts, wrong) for texts in (theirs, ours))
    broken = _pair(sum("\n" in text for text in texts) / len(texts) for texts in (theirs, ours))
    contradicting = _pair(contradicting_share(_texts_and_stars(store)) for store in (real, simulated))
    return [
        _times("Sense", 'messages with "não recebi"', *missing, "%", 1.4),
        _near("Sense", "messages of several lines", *broken, points=0.04),
        Line("Sense", "messages with a usual misspelling", *misspelled, "%", misspelled[0] / 2, misspelled[0] + 0.08),
        Line("Sense", "messages that contradict their stars", *contradicting, "0.0%", high=contradicting[0]),
    ]


def _texts_and_stars(store: Store) -> list[tuple[str, int]]:
    rows = store.reviews.select("review_comment_message", "review_score").drop_nulls().rows()
    return [(text, stars) for text, stars in rows if text.strip()]


def measure_cost() -> list[Line]:
    """Measure the CPU seconds of a store, and the memory of a large one in a process of its own."""
    seconds = []
    for _ in range(3):
        started = time.process_time()
        simulate_store(10_000, random.Random(SEED))
        seconds.append(time.process_time() - started)
    program = (
        "import random, resource; from tasks.synthesize.simulated import simulate_store; "
        f"simulate_store(100_000, random.Random({SEED})); "
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    # Linux counts kilobytes, macOS bytes.
    gigabytes = int(found.stdout) * (1 if sys.platform == "darwin" else 1024) / 1e9
    return [
        Line("Cost", "CPU seconds for 10,000 orders", float("nan"), min(seconds), "0.0", high=2),
        Line("Cost", "GB for 100,000 orders, peak", float("nan"), gigabytes, "0.0", high=1),
    ]


def messages(store: Store) -> list[str]:
    """Return the messages that are not blank, in the order of the table."""
    texts = store.reviews["review_comment_message"].drop_nulls().str.strip_chars()
    return [text for text in texts if text]


def template(text: str) -> str:
    """Return a text without its accents, capitals, punctuation, numbers and product name."""
    plain = bare(text).lower()
    plain = _NOUNS.sub("x", plain)
    return " ".join(re.findall(r"[a-z]+", re.sub(r"\d+", " n ", plain)))


_NOUNS: Final = re.compile(rf"\b({'|'.join(sorted(map(re.escape, map(bare, NOUNS)), key=len, reverse=True))})\b")


def _deliveries(store: Store) -> pl.DataFrame:
    delivered, promised = pl.col("order_delivered_customer_date"), pl.col("order_estimated_delivery_date")
    days = (delivered - pl.col("order_purchase_timestamp")).dt.total_hours() / 24
    table = store.orders.filter(delivered.is_not_null()).join(store.customers, on="customer_id")
    return table.select("customer_state", days=days, late=delivered.dt.date() > promised.dt.date())


def _covered(used: Counter[str], known: Counter[str]) -> float:
    return sum(count for word, count in used.items() if word in known) / used.total()


def _pair(values: Iterable[float]) -> tuple[float, float]:
    real, simulated = values
    return real, simulated


def _share(flags: pl.Series) -> float:
    return _number(flags.mean())


def _number(value: Any) -> float:
    return float(value)


def _near(group: str, name: str, real: float, simulated: float, *, points: float | None) -> Line:
    limits = (None, None) if points is None else (max(0.0, real - points), real + points)
    return Line(group, name, real, simulated, "%", *limits)


def _times(group: str, name: str, real: float, simulated: float, form: str, factor: float | None) -> Line:
    limits = (None, None) if factor is None else (real / factor, real * factor)
    return Line(group, name, real, simulated, form, *limits)


def _report(report: Report, lines: Sequence[Line], real: Store, simulated: Store) -> None:
    rows: list[tuple[str, ...] | None] = []
    group = ""
    for line in lines:
        if group and line.group != group:
            rows.append(None)
        limits = _limits(line)
        mark = "" if not limits else "met" if line.met else "MISSED"
        head = "" if line.group == group else line.group
        rows.append(
            (head, line.name, _written(line.real, line.form), _written(line.simulated, line.form), limits, mark)
        )
        group = line.group
        report.limit(line.met, f"{line.group}, {line.name}")
    title = f"Olist's sample ({real.orders.height:,} orders) beside the simulated store ({simulated.orders.height:,})"
    report.table(title, ("", "measure", "Olist", "simulated", "limits", "verdict"), rows, left=("measure",))


def _limits(line: Line) -> str:
    form = "0%" if line.form == "%" else line.form
    low, high = ("" if limit is None else _written(limit, form) for limit in (line.low, line.high))
    return f"{low} to {high}" if low and high else f"from {low}" if low else f"up to {high}" if high else ""


def _written(value: float, form: str) -> str:
    if math.isnan(value):
        return ""
    forms = {"%": ".1%", "0.0%": ".2%", "0%": ".0%", "0.0": ",.1f", "0": ",.0f"}
    return format(value, forms[form])


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
