import random
from dataclasses import replace

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.tables.prompts import PromptRow
from tasks.curate.kinship import SOURCES, with_kin
from tests.tasks.curate.prompt_rows import indexed, prompt_row


def kin(*rows: PromptRow) -> list[set[int]]:
    """Return the sets of kin as sets of row numbers."""
    index, _, _ = indexed(list(rows))
    labels = with_kin(index, 0, 0.5)["kin"].to_list()
    return [{row for row, own in enumerate(labels) if own == label} for label in dict.fromkeys(labels)]


def paraphrase_of(parent: PromptRow, text: str) -> PromptRow:
    """Return a paraphrase as synthesis makes one."""
    child = prompt_row(
        parent.task, text, review_id=parent.review_id, order_id=parent.order_id, customer_id=parent.customer_id
    )
    return replace(child, parent_id=parent.prompt_id)


def test_sharing_is_transitive_and_goes_through_others() -> None:
    rows = [
        prompt_row("extraction", "a", review_id="r1", order_id="o1"),
        prompt_row("sentiment", "b", order_id="o1", customer_id="c1"),
        prompt_row("churn", "c", customer_id="c1"),
        prompt_row("churn", "d", customer_id="r1"),
    ]
    assert kin(*rows) == [{0, 1, 2}, {3}]


def test_paraphrases_stay_together_where_their_prompt_is_gone() -> None:
    parent = prompt_row("churn", "pergunta")
    one, two = (paraphrase_of(parent, text) for text in ("um", "dois"))
    assert kin(one, two) == [{0, 1}]
    assert kin(paraphrase_of(one, "um de um"), parent, one, two) == [{0, 1, 2, 3}]


@st.composite
def tangled_rows(draw: st.DrawFn) -> list[PromptRow]:
    """Rows that share sources, from hardly to hopelessly."""
    generator = random.Random(draw(st.integers()))
    pool, share = draw(st.integers(5, 200)), draw(st.floats(0, 0.8))

    def source() -> str | None:
        return str(generator.randrange(pool)) if generator.random() < share else None

    return [
        prompt_row(
            generator.choice(("extraction", "sentiment", "churn")),
            f"pergunta {number}",
            **{column: source() for column in SOURCES},
        )
        for number in range(draw(st.integers(5, 60)))
    ]


@settings(deadline=None, max_examples=40)
@given(tangled_rows(), st.integers(1, 59), st.integers(0, 3), st.floats(0.05, 0.6))
def test_more_rows_never_release_what_was_held_out(rows: list[PromptRow], part: int, seed: int, share: float) -> None:
    def held_out(some: list[PromptRow]) -> set[str]:
        index = with_kin(indexed(some)[0], seed, share)
        return set(index.filter("held_out")["prompt_id"])

    assert held_out(rows[:part]) <= held_out(rows)


def campaigns(products: int, offers: int) -> list[PromptRow]:
    return [
        prompt_row("push", f"Produto {product}, oferta {offer}", {"product": f"p{product}", "offer": f"o{offer}"})
        for product in range(products)
        for offer in range(offers)
    ]


def parts(index: pl.DataFrame) -> list[set[str]]:
    return [set(index["reference"].str.json_path_match(f"$.{key}")) for key in ("product", "offer")]


def test_products_and_offers_are_held_out_of_themselves_and_tested_beside_known_ones() -> None:
    index = with_kin(indexed(campaigns(60, 60))[0], 3, 0.25)
    trained, held_out = (parts(index.filter(pl.col("held_out") == is_held)) for is_held in (False, True))
    for known, tested in zip(trained, held_out, strict=True):
        assert 0.05 < len(tested - known) / 60 < 0.25
    first = index.filter("held_out").sort("draw").head(40)
    unseen = [not known.isdisjoint(tested) for known, tested in zip(trained, parts(first), strict=True)]
    assert all(unseen)
    of_both = [
        sum(value not in known for value in first["reference"].str.json_path_match(f"$.{key}"))
        for key, known in zip(("product", "offer"), trained, strict=True)
    ]
    assert all(5 <= count <= 25 for count in of_both)
