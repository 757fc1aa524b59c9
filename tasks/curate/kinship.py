"""Groups of related prompts, and the choice of groups held out from training.

Prompts that share a review, an order, a customer or a paraphrase's parent, directly or through others, form a group. A
question about the whole store has no such source: there, prompts with the same reference (the same query, the same
facts, the same campaign) form a group.

Whether a group may be trained on depends only on a keyed hash of each customer (or other source): if one lies below the
held-out share, the whole group is held out. Later rows can only hold out more groups, never release any, which keeps an
old test prompt from ever being trained on.

Of a campaign's products and offers half as large a share is held out too, each with all prompts that have it, where
there are enough of them. So the evaluation asks for products and offers that were never trained on.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tasks.commerce.registry import TASKS

SOURCES: Final = ("customer_id", "order_id", "review_id")
"""From the person, by whom a prompt is held out if it has one, to the single review."""
ASKED_BY_REFERENCE: Final = tuple(task.name for task in TASKS.values() if task.asked_by_reference)
ENOUGH_PARTS: Final = 12
"""Different products from which on some are held out: of fewer, all could be. There are only ever more of them."""
_DIGITS: Final = 13
"""Hexadecimal digits of the hash that are read as a number: 52 bits, which a float holds exactly."""


def with_kin(index: pl.DataFrame, seed: int, held_out_share: float) -> pl.DataFrame:
    """Add `kin` (the group's number), `draw` (in [0, 1), the group's position in the split) and `held_out`.

    Args:
        index: Fingerprints of every prompt that could be in the dataset, with `given_parent_id`, the parent's id before
            scrubbing: a paraphrase must not change its draw because its parent became known.
        seed: Key of the hash.
        held_out_share: Share of sources that are held out.
    """
    named = index.with_columns(name=_name(), asked=asked_by_reference())
    drawn = named.with_columns(kin=pl.Series(_components(named)), own_draw=_draw(seed, pl.col("name")))
    # By its own draw a campaign that is held out itself would come before all that are held out by a part.
    in_parts = pl.col("task").cast(pl.String).is_in([task.name for task in TASKS.values() if task.parts])
    position = pl.when(in_parts).then(_draw(seed, pl.format("position:{}", "name"))).otherwise("own_draw")
    held_out = pl.col("own_draw") < held_out_share
    for draw in _draws_of_parts(named, seed):
        held_out |= (draw < held_out_share / 2).fill_null(value=False)
    return drawn.with_columns(draw=position.min().over("kin"), held_out=held_out.any().over("kin")).drop(
        "name", "asked", "own_draw"
    )


def _draws_of_parts(named: pl.DataFrame, seed: int) -> Iterator[pl.Expr]:
    """Yield, for each part, the number that its value draws; null in other tasks and where a task has few values."""
    for task in TASKS.values():
        for key in task.parts:
            value = pl.col("reference").str.json_path_match(f"$.{key}").str.to_lowercase().str.strip_chars()
            own = pl.when(pl.col("task").cast(pl.String) == task.name).then(value)
            if named.select(own.drop_nulls().n_unique()).item() >= ENOUGH_PARTS:
                yield _draw(seed, pl.format(f"part:{task.name}:{key}:{{}}", own))


def _sourceless() -> pl.Expr:
    return pl.all_horizontal(pl.col(source).is_null() for source in SOURCES)


def asked_by_reference() -> pl.Expr:
    """Return the question of a prompt without a source, where its reference identifies it; null elsewhere."""
    asked = pl.format("answer:{}:{}", "task", "reference_hash")
    identified = pl.col("task").cast(pl.String).is_in(ASKED_BY_REFERENCE)
    return pl.when(_sourceless() & pl.col("complete") & identified).then(asked)


def _name() -> pl.Expr:
    """Return the source by which a prompt is held out; it depends on the prompt alone."""
    known = [pl.format(source + ":{}", source) for source in SOURCES]
    return pl.coalesce(
        *known, asked_by_reference(), pl.format("prompt_id:{}", pl.coalesce("given_parent_id", "prompt_id"))
    )


def _draw(seed: int, name: pl.Expr) -> pl.Expr:
    import polars_hash  # noqa: F401 - gives expressions their `chash`

    digest: pl.Expr = pl.format(f"{seed}:{{}}", name).chash.sha2_256()  # type: ignore[attr-defined]
    return digest.str.slice(0, _DIGITS).str.to_integer(base=16) / 16.0**_DIGITS


def _components(named: pl.DataFrame) -> NDArray[np.int32]:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = list(_links(named))
    one, other = (np.concatenate([link[side] for link in links]) for side in (0, 1))
    graph = coo_array((np.ones(len(one), np.int8), (one, other)), shape=(named.height, named.height))
    _, components = connected_components(graph.tocsr(), directed=False)
    labels: NDArray[np.int32] = components.astype(np.int32)
    return labels


def _links(named: pl.DataFrame) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield, for each kind of relation, rows and the first row that each is related to."""
    rows = named.with_row_index("row")
    for column in (*SOURCES, "asked"):
        yield _to_first(rows.select("row", name=column))
    parents = rows.select("row", name="parent_id").drop_nulls()
    # A parent may be in quarantine: its paraphrases still form a group.
    family = rows.select("row", name="prompt_id").join(parents.select("name").unique(), on="name", how="semi")
    yield _to_first(pl.concat([parents, family]))


def _to_first(names: pl.DataFrame) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    linked = names.drop_nulls().with_columns(first=pl.col("row").min().over("name"))
    return linked["row"].to_numpy().astype(np.int64), linked["first"].to_numpy().astype(np.int64)
