"""Sentences and small tables of the report: the finding, the looks, and the answers in a shop's terms."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from statistics import fmean
from typing import Final

from schemas.tasks import TaskName
from tasks.bag_of_words.sentences import BAG_OF_WORDS, classifier_sentence
from tasks.evaluate.claims import gain_of_form
from tasks.evaluate.compare import Comparison
from tasks.evaluate.report.background import Background, Looks, SideBySide
from tasks.evaluate.stats.variance import ALPHA
from tasks.report.number_format import decimal, moment, percent, shortest
from tasks.report.wording import worded

PHRASES: Final[Mapping[TaskName, tuple[str, tuple[str, ...]]]] = {
    "extraction": ("{exact} of {n} reviews were read without any error", ("exact",)),
    "sql_qa": ("{execution_accuracy} of {n} questions were answered with the right result", ("execution_accuracy",)),
    "insights": (
        "{no_false_claim} of {n} analyses have no false finding, and {all_kept} keep to all that was asked",
        ("no_false_claim", "all_kept"),
    ),
    "push": (
        "{suits_the_campaign} of {n} pushes suit product and offer, and {all_kept} may be sent as they are",
        ("suits_the_campaign", "all_kept"),
    ),
    "sentiment": ("The sentiment is right in {accuracy} of {n} reviews", ("accuracy",)),
    "churn": ("The forecast of staying or leaving is right for {accuracy} of {n} customers", ("accuracy",)),
}
"""A sentence of each task without its full stop, and the metrics that it names: shares of answers."""


def headline(comparison: Comparison) -> str:
    """Summarize the finding in one sentence, whose scores are of the tasks that count."""
    overall = comparison.overall
    learned = {task: block for task, block in comparison.tasks.items() if block.verdict != "not learned"}
    counted = learned or comparison.tasks
    prompts = [block.n_prompts for block in counted.values()]
    found = {
        "better": worded("The tuned model is better than the base and may be promoted")
        if comparison.gate.verdict == "promote"
        else worded("The tuned model is better than the base overall, but not ready for promotion"),
        "no better": worded("The tuned model scores higher than the base, but no better than a baseline"),
        "not learned": worded("The tuned model scores higher than the base, but has learned no task"),
        "worse": worded("The tuned model is worse than the base"),
        "non-inferior": worded("The tuned model is no worse than the base, but not shown to be better"),
        "inconclusive": worded("The tuned model cannot be distinguished from the base by this test"),
    }
    form = gain_of_form(comparison.claims, comparison.ground_truth)
    of_all, of_some = (
        "{found}: it scores {tuned} where the base scores {base}.",
        "{found}: on the tasks that count ({tasks}) it scores {tuned} where the base scores {base}.",
    )
    scores = worded(
        of_all if len(counted) == len(comparison.tasks) else of_some,
        found=found[overall.verdict],
        tasks=", ".join(counted),
        tuned=decimal(fmean((block.mean_tuned for block in counted.values()), prompts)),
        base=decimal(fmean((block.mean_base for block in counted.values()), prompts)),
    )
    return f"{scores} {form[0].upper()}{form[1:]}." if form else scores


def classifier_lines(comparison: Comparison) -> list[str]:
    """Return a sentence for each task of which a bag of words is shown to have more right answers than the model."""
    with_bag = {task: claim for task, claim in comparison.claims.items() if BAG_OF_WORDS in claim.baselines}
    truths = {task: claim.baselines[BAG_OF_WORDS].truth for task, claim in with_bag.items()}
    return [
        classifier_sentence(task, truth.n_prompts, truth.mean_base, truth.mean_tuned)
        for task, truth in truths.items()
        if truth is not None and truth.ci_high is not None and truth.ci_high < 0
    ]


def known_to_base(known: Mapping[str, int]) -> str:
    """State how many held-out prompts, by task, test nothing, since the base was trained on their words."""
    if not known:
        return ""
    return worded(
        "Held-out prompts in quarantine, since the base was trained on the same words: {n} ({tasks}).",
        n=sum(known.values()),
        tasks=", ".join(f"{task} {count}" for task, count in known.items()),
    )


def when_margin_was_set(looks: Looks, margin: float) -> str:
    """State the number of this look, and when the margin was recorded."""
    sentence = (
        "Look number {number} of this challenger at this test split. The margin of {margin} was recorded on "
        "{recorded}, {order} its answers to this split were first drawn on {drawn}."
    )
    return worded(
        sentence,
        number=looks.number,
        margin=shortest(margin),
        recorded=moment(looks.margin_recorded_at),
        order=worded("after") if _was_set_too_late(looks) else worded("before"),
        drawn=moment(looks.first_read_at),
    )


def warnings_of(looks: Looks, margin: float) -> Iterator[str]:
    """Yield caveats of the claim: earlier looks, and a margin chosen after the answers could be seen."""
    if looks.number > 1:
        bound = min(1.0, looks.number * ALPHA)
        yield worded(
            "This is look number {number}: the p values and intervals below hold for a single look. The chance that "
            "any of {number} looks claims a gain that is none may be as high as {bound}.",
            number=looks.number,
            bound=percent(bound),
        )
    if looks.margin_before is not None:
        yield worded(
            "The margin was changed after the test split had been read: it is {now} now and was {before} at an earlier "
            "look.",
            now=shortest(margin),
            before=shortest(looks.margin_before),
        )
    elif _was_set_too_late(looks):
        yield worded(
            "The margin was recorded after this challenger's answers to the test split had been drawn, so that nothing "
            "shows that it was chosen without them."
        )


def _was_set_too_late(looks: Looks) -> bool:
    return datetime.fromisoformat(looks.margin_recorded_at) > datetime.fromisoformat(looks.first_read_at)


def why_chosen(each: SideBySide) -> str:
    """Name the rule by which a prompt was chosen, and say where it is the best or worst of a sign that surprises."""
    if each.reason == "random":
        return worded("chosen at random")
    if each.reason == "gain":
        return worded("largest gain of the task") if each.scores.difference > 0 else worded("no gain: best of the task")
    if each.reason == "loss":
        lost = each.scores.difference < 0
        return worded("among the largest losses") if lost else worded("no loss: among the smallest gains")
    return worded("nearest to the median difference")


def shop_lines(background: Background) -> list[str]:
    """Return a task's answers in words, for each task with known ground truth, in the order of the tasks."""
    found = []
    for task, (phrase, metrics) in PHRASES.items():
        answers, rates = background.known_answers.get(task, 0), background.ground_truth.get(task, {})
        if answers and all({"base", "tuned"} <= rates.get(metric, {}).keys() for metric in metrics):
            tuned, base = (
                {metric: decimal(round(rates[metric][model] * answers), 0) for metric in metrics}
                for model in ("tuned", "base")
            )
            text, counts = worded(phrase, n=decimal(answers, 0), **tuned), ", ".join(base.values())
            right = [rates.get(f"{metric}_repaired", {}).get("base") for metric in metrics]
            if known := [decimal(round(rate * answers), 0) for rate in right if rate is not None]:
                beside = worded("(base: {counts}; with its JSON repaired: {n})", counts=counts, n=", ".join(known))
            else:
                beside = worded("(base: {counts})", counts=counts)
            found.append(f"{text} {beside}")
    return found
