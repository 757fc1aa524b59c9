"""Terminal output of an attack on the rewards."""

from collections.abc import Sequence

from flows.runtime.console import print_table, show
from schemas.shown_text import as_shown
from tasks.audit.alterations.search import SearchResult

LONGEST_SHOWN = 280
LONGEST_MECHANISM = 44


def print_search(found: Sequence[SearchResult], top: int) -> None:
    """Print what the library's search found: a summary, and the worst finds of each task with their text."""
    rows = [
        (each.task, f"{each.evaluations:,}", f"{each.seconds:.0f}", str(len(each.finds)), f"{each.best_bad:.2f}")
        for each in found
    ]
    header = ("task", "scored", "seconds", "finds", "most that a bad answer earns")
    print_table("Attack on the rewards", header, rows)
    for each in (find for result in found for find in result.finds[:top]):
        show(
            f"{each.task} {each.identity}: {each.hits} of {each.prompts} prompts, reward {each.reward:.2f} of "
            f"{each.good:.2f}, truth {each.truth:.2f}, by {_short(', '.join(each.mechanism), LONGEST_MECHANISM)}"
        )
        show(f"    {_short(as_shown(each.example.completion), LONGEST_SHOWN)}")


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
