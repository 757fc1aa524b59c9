"""Terminal output of an attack on the rewards."""

from collections.abc import Sequence

from flows.runtime.console import print_table, show
from schemas.shown_text import as_shown
from schemas.tasks import TaskName
from tasks.audit.alterations.search import SearchResult
from tasks.audit.attack.attack import TaskAttack
from tasks.audit.attack.baselines import MOST_EARNED
from tasks.audit.attack.finds import Find
from tasks.audit.attack.judge import JudgeTally

LONGEST_SHOWN = 280
FINDS_SHOWN = 12
LONGEST_MECHANISM = 44
SHORTEST_LEFT_OUT = 80


def print_attack(found: Sequence[TaskAttack], top: int) -> None:
    """Print what the rewards pay for: finds with texts, baselines, and where reward and truth part.

    Args:
        found: The tasks' results.
        top: Finds of each task with their texts.
    """
    _print_summary(found)
    for result in found:
        if result.finds:
            _print_finds(result)
            for find in result.finds[:top]:
                _print_example(find)
    for result in found:
        if result.judge is not None:
            _print_judge(result.task, result.judge)
    _print_baselines(found)
    _print_forecasts(found)


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


def _print_summary(found: Sequence[TaskAttack]) -> None:
    rows = [
        (each.task, f"{each.evaluations:,}", f"{each.seconds:.0f}", str(len(each.finds)), str(len(each.new)))
        for each in found
    ]
    print_table("Attack on the rewards", ("task", "scored", "seconds", "finds", "not on the critic's list"), rows)


def _print_finds(result: TaskAttack) -> None:
    rows = [
        (
            find.identity,
            f"{find.hits} of {find.prompts}",
            f"{find.reward:.2f}",
            f"{find.good:.2f}",
            f"{find.truth:.2f}",
            find.bad_by,
            _short(", ".join(find.mechanism), LONGEST_MECHANISM),
        )
        for find in result.finds[:FINDS_SHOWN]
    ]
    header = ("find", "prompts", "reward", "good", "truth", "bad by", "made by")
    print_table(f"{result.task}: bad completions that it pays for", header, rows, texts=("bad by", "made by"))
    if len(result.finds) > FINDS_SHOWN:
        show(f"and {len(result.finds) - FINDS_SHOWN} more finds of {result.task}, which its file of finds has")


def _print_example(find: Find) -> None:
    components = "  ".join(f"{name} {value:.2f}" for name, value in find.example.components.items())
    judged = "" if find.by_judge is None else f", judge {find.by_judge:.1f} of 5"
    show(f"{find.identity}: reward {find.example.reward:.3f} ({components}), truth {find.example.truth:.2f}{judged}")
    show(f"    {_short(as_shown(_different(find)), LONGEST_SHOWN)}")


def _print_judge(task: TaskName, judge: JudgeTally) -> None:
    show(
        f"judge of {task}: {judge.candidates} candidates by {judge.questions} scores, {judge.unread} of them "
        f"unreadable; {judge.left} candidates were not asked about"
    )
    if judge.failure is not None:
        show(f"    {as_shown(judge.failure)}; what it said before counts, and the same command asks the rest")
    elif not judge.trusted:
        show("    it does not call most good answers good, so it was asked no more; give another model")


def _different(find: Find) -> str:
    """Return the completion without a long beginning that it shares with the good answer."""
    text, answer = find.example.completion, find.example.answer
    pairs = enumerate(zip(text, answer, strict=False))
    shared = next((place for place, (one, two) in pairs if one != two), min(len(text), len(answer)))
    start = text.rfind(" ", 0, shared) + 1
    return text if start < SHORTEST_LEFT_OUT else f"… {text[start:]}"


def _print_baselines(found: Sequence[TaskAttack]) -> None:
    rows = [
        (
            each.task,
            baseline.kind,
            f"{baseline.reward:.3f}",
            f"{baseline.truth:.2f}",
            "-" if baseline.kind == "template" else "yes" if baseline.within else f"NO, above {MOST_EARNED:.2f}",
            _short(" ".join(as_shown(baseline.says).split()), LONGEST_MECHANISM),
        )
        for each in found
        for baseline in each.baselines
    ]
    header = ("task", "best", "reward", "truth", "within its limit", "text")
    print_table("Answers without the work", header, rows, texts=("best", "within its limit", "text"))


def _print_forecasts(found: Sequence[TaskAttack]) -> None:
    known = [(each, each.forecast) for each in found if each.forecast is not None]
    sizes = sorted({point.n for _, forecast in known for point in forecast.points})
    if not sizes:
        return
    rows = []
    for each, forecast in known:
        by_size = {point.n: point for point in forecast.points}
        rewards = [f"{by_size[n].reward:.2f}" if n in by_size else "-" for n in sizes]
        truths = [f"{by_size[n].truth:.2f}" if n in by_size else "-" for n in sizes]
        rows.append((each.task, each.forecast_from, "reward", *rewards, ""))
        rows.append(("", "", "truth", *truths, "-" if forecast.parts_at is None else str(forecast.parts_at)))
    header = ("task", "from", "best of", *(str(n) for n in sizes), "parts at")
    print_table("Reward and truth of the best of n by reward", header, rows, texts=("from", "best of"))


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
