import dataclasses
import random
from collections import Counter

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import InputError
from schemas.prompts import PromptRow, prompt_table
from schemas.tasks import TASK_NAMES, TaskName
from tasks.curate.split import SOURCE_COLUMNS, SPLITS, LeakageError, assign, find_groups, prove_no_leakage
from tests.tasks.curate.prompt_rows import independent_rows, prompt_row

Rows = list[tuple[TaskName, dict[str, str | None]]]


@st.composite
def tangled_rows(draw: st.DrawFn) -> Rows:
    """Rows of three tasks that share sources, from hardly to hopelessly."""
    generator = random.Random(draw(st.integers()))
    pool, share = draw(st.integers(5, 200)), draw(st.floats(0, 0.8))

    def source() -> str | None:
        return str(generator.randrange(pool)) if generator.random() < share else None

    return [
        (generator.choice(TASK_NAMES[:3]), {column: source() for column in SOURCE_COLUMNS})
        for _ in range(draw(st.integers(20, 90)))
    ]


def table_of(rows: Rows) -> pl.DataFrame:
    return prompt_table(prompt_row(task, f"pergunta {number}", **origin) for number, (task, origin) in enumerate(rows))


@given(tangled_rows(), st.integers(1, 3), st.integers(1, 3), st.integers(0, 5))
def test_sizes_are_exact_and_nothing_leaks_or_the_user_is_told(
    rows: Rows, validation: int, test: int, seed: int
) -> None:
    table = table_of(rows)
    try:
        splits = pl.Series(assign(table, validation, test, seed), dtype=pl.String)
    except InputError:
        too_few = min(Counter(table["task"]).values()) <= validation + test
        assert too_few or any(len(group.rows) > 1 for group in find_groups(table))
        return
    sides = {split: table.filter(splits == split) for split in SPLITS}
    prove_no_leakage(sides)
    for task in set(table["task"]):
        assert sides["validation"].filter(task=task).height == validation
        assert sides["test"].filter(task=task).height == test
        assert sides["train"].filter(task=task).height >= 1
    for group in find_groups(table):
        assert len({splits[row] for row in group.rows} - {None}) <= 1


@given(st.integers(0, 1000))
def test_rows_without_sources_are_all_used(seed: int) -> None:
    splits = assign(prompt_table(independent_rows(push=20, sql_qa=11)), 4, 6, seed)
    assert Counter(splits) == {"test": 12, "validation": 8, "train": 11}


def test_the_seed_decides_the_split() -> None:
    table = prompt_table(independent_rows(push=40))
    first, again, other = (assign(table, 5, 5, seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_row_keeps_its_side_when_the_table_comes_in_another_order() -> None:
    table = table_of([("push", {"customer_id": str(number % 17)}) for number in range(40)])
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=3)
    sides = [dict(zip(rows["prompt_id"], assign(rows, 5, 5, seed=0), strict=True)) for rows in (table, shuffled)]
    assert sides[0] == sides[1]


def test_rows_hang_together_through_others() -> None:
    table = table_of(
        [
            ("extraction", {"review_id": "r1", "order_id": "o1"}),
            ("push", {"customer_id": "c1"}),
            ("sentiment", {"order_id": "o1", "customer_id": "c1"}),
            ("churn", {"customer_id": "c2"}),
            ("churn", {"customer_id": None}),
            ("sql_qa", {"review_id": "c2"}),
        ]
    )
    assert [group.rows for group in find_groups(table)] == [(0, 1, 2), (3,), (4,), (5,)]


def test_rows_that_no_side_needs_are_dropped_rather_than_leaked() -> None:
    # Every sentiment comes with three of extraction, so that exact sizes cost some of these.
    table = table_of(
        [(task, {"customer_id": str(number)}) for number in range(20) for task in ("sentiment", *["extraction"] * 3)]  # type: ignore[misc]
    )
    splits = assign(table, 2, 4, seed=0)
    test = table.filter(pl.Series(splits, dtype=pl.String) == "test")
    assert Counter(test["task"]) == {"sentiment": 4, "extraction": 4}
    assert splits.count(None) > 0


def test_one_customer_with_everything_cannot_be_split() -> None:
    table = table_of([("push", {"customer_id": "c1"}) for _ in range(30)])
    with pytest.raises(InputError, match=r"push.*share a customer"):
        assign(table, 2, 4, seed=0)


def paraphrase_of(parent: PromptRow, text: str) -> PromptRow:
    """Return a paraphrase as synthesis makes one."""
    child = prompt_row(
        parent.task, text, review_id=parent.review_id, order_id=parent.order_id, customer_id=parent.customer_id
    )
    return dataclasses.replace(child, parent_id=parent.prompt_id)


@given(st.integers(0, 1000), st.integers(1, 3))
def test_paraphrases_stay_with_their_prompt(seed: int, variants: int) -> None:
    parents = list(independent_rows(push=12, sql_qa=14))
    rows = [*parents, *(paraphrase_of(row, f"{row.prompt}, {way}") for row in parents[::2] for way in range(variants))]
    table = prompt_table(rows)
    sides = dict(zip(table["prompt_id"], assign(table, 2, 3, seed), strict=True))
    for row in rows:
        if row.parent_id is not None:
            assert {sides[row.prompt_id], sides[row.parent_id]} - {None} != {"train", "test"}
            assert len({sides[row.prompt_id], sides[row.parent_id]} - {None}) <= 1
    splits = pl.Series(list(sides.values()), dtype=pl.String)
    prove_no_leakage({split: table.filter(splits == split) for split in SPLITS})


def test_siblings_stay_together_where_their_prompt_is_gone() -> None:
    parent = prompt_row("push", "pergunta")
    siblings = [paraphrase_of(parent, text) for text in ("um", "dois")]
    assert [group.rows for group in find_groups(prompt_table(siblings))] == [(0, 1)]
    grandchild = paraphrase_of(siblings[0], "um de um")
    assert [group.rows for group in find_groups(prompt_table([grandchild, parent, *siblings]))] == [(0, 1, 2, 3)]


def test_a_paraphrase_joins_what_its_prompt_shares_with_others() -> None:
    parent, other = prompt_row("push", "pergunta", customer_id="c1"), prompt_row("churn", "outra", customer_id="c1")
    child = dataclasses.replace(prompt_row("push", "um"), parent_id=parent.prompt_id)
    assert [group.rows for group in find_groups(prompt_table([other, child, parent]))] == [(0, 1, 2)]


def test_no_paraphrase_no_change_of_identities() -> None:
    table = table_of([("push", {"review_id": "r1"}), ("push", {})])
    assert [group.key for group in find_groups(table)] == ["review_id:r1", f"prompt_id:{table['prompt_id'][1]}"]


def test_the_proof_fails_on_a_paraphrase_across_sides() -> None:
    parent = prompt_row("push", "pergunta")
    one, two = (prompt_table([paraphrase_of(parent, text)]) for text in ("um", "dois"))
    for first, second in ((prompt_table([parent]), one), (one, prompt_table([parent])), (one, two)):
        with pytest.raises(LeakageError, match="train and test share 1 parent_id"):
            prove_no_leakage({"train": first, "test": second})


@pytest.mark.parametrize("column", ["prompt_id", *SOURCE_COLUMNS])
def test_the_proof_fails_on_anything_shared(column: str) -> None:
    rows = [prompt_row("push", text, review_id=text, order_id=text, customer_id=text) for text in "ab"]
    train, test = (prompt_table([row]) for row in rows)
    prove_no_leakage({"train": train, "test": test})
    with pytest.raises(LeakageError, match=f"train and test share 1 {column}"):
        prove_no_leakage({"train": train, "test": test.with_columns(pl.lit(train[column][0]).alias(column))})


def test_missing_sources_are_nothing_to_share() -> None:
    prove_no_leakage({side: prompt_table([prompt_row("push", side)]) for side in SPLITS})
