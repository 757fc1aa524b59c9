"""A language model says which of two insights is the better one: beside the rewards, and with no say in the gate.

Each pair is asked about twice, with the answers in both orders. What is preferred in both is preferred; a preference
that follows the order says something of the judge and nothing of the answers, and is a tie.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from schemas.evaluate_config import JudgeConfig
from schemas.progress import Progress, silent
from tasks.evaluate.judge_agreement import read_scored_pairs
from tasks.evaluate.judge_question import Pair, Preference, as_question, encodable, read_preference
from tasks.lineage.judging import PREFERENCE, Judgement
from tasks.policy.endpoint import Endpoint, EndpointError, Question, Reply
from tasks.policy.reply_cache import ReplyCache, open_cache

if TYPE_CHECKING:
    from tasks.evaluate.background import AnsweredPrompt

MAX_TOKENS: Final = 1_000
"""Of the judge's reply, which has ten and a thought before it where the model thinks aloud."""
REPLIES_FILE: Final = "judge.sqlite3"
"""Of the work folder."""
LEVEL: Final = 0.95
"""Of the interval around the agreement."""

Record = Callable[[str, Sequence[Judgement]], object]
"""Keeps judgements under a name (`tasks.lineage.judging.record_judgements`)."""


@dataclass(frozen=True)
class JudgeReport:
    """What the judge said, and how far it may be believed."""

    model: str
    """The judge, by the name that its endpoint knows it by."""
    prompts: int
    """Test prompts that it compared."""
    tuned_wins: int
    """Prompts on which it preferred the tuned model's answer in both orders."""
    base_wins: int
    """Prompts on which it preferred the base's answer in both orders."""
    ties: int
    """Prompts on which it called a tie, or its preference followed the order in which it read."""
    order_flips: int
    """Of the ties, those in which the preference followed the order."""
    unread: int
    """Prompts on which an answer of the judge could not be read."""
    checked_pairs: int
    """Pairs of audited completions, scored differently by people, that it was checked by."""
    agreement: float | None
    """Share of them on which it preferred, in both orders, what people scored higher; None where there were none."""
    agreement_low: float | None
    """Lower end of the share's 95 % interval (Wilson), which takes pairs of one prompt for independent."""
    agreement_high: float | None
    """Upper end of it."""
    raters: str
    """Who scored those pairs: the kinds of raters, such as `human` or `rubric`."""
    agreement_by_length: float | None = None
    """Share of them on which the longer answer was scored higher: what a judge reaches that only looks at length."""


class Outcome(StrEnum):
    """What both orders together say."""

    FIRST = "first"
    SECOND = "second"
    TIE = "tie"
    """A tie in at least one order, and so no preference in both."""
    ORDER_FLIP = "order flip"
    """The place was preferred, whichever answer stood there."""
    UNREAD = "unread"
    """A reply, or both, could not be read."""


@dataclass(frozen=True)
class Judged:
    """A pair with what the judge said of it."""

    pair: Pair
    as_given: Preference | None
    """With the first answer read first; None where the reply could not be read."""
    swapped: Preference | None
    """With the second answer read first."""

    @property
    def outcome(self) -> Outcome:
        """What both orders together say."""
        match self.as_given, self.swapped:
            case (None, _) | (_, None):
                return Outcome.UNREAD
            case Preference.A, Preference.B:
                return Outcome.FIRST
            case Preference.B, Preference.A:
                return Outcome.SECOND
            case (Preference.TIE, _) | (_, Preference.TIE):
                return Outcome.TIE
            case _:
                return Outcome.ORDER_FLIP


def judge_insights(
    config: JudgeConfig,
    answers: Sequence["AnsweredPrompt"],
    audit: Path,
    seed: int,
    *,
    work: Path,
    record: Record,
    progress: Progress = silent,
) -> JudgeReport:
    """Compare the answers of base and tuned to insights, and check the judge by what people scored.

    Args:
        config: The judge's endpoint, and how much it is asked.
        answers: Answers to test prompts; those to other tasks are passed over.
        audit: Folder of the audit artifact.
        seed: What the draw of prompts and pairs depends on.
        work: Folder where every reply is kept as it comes, so that the same command goes on from it.
        record: Keeps the judgements.
        progress: Told the replies that are there and in all.

    Raises:
        InputError: The endpoint cannot be used, its key is not in the environment, the sheet or the kept replies
            cannot be read, or the judgements could not be recorded.
    """
    compared = _drawn(answers, config.prompts, seed)
    checked = read_scored_pairs(audit, config.checked_pairs, seed)
    pairs = [*compared, *checked.pairs]
    with open_cache(work / REPLIES_FILE, "the judge's replies in") as replies:
        judged = _judge(config, pairs, replies, progress)
    on_test, on_audit = judged[: len(compared)], judged[len(compared) :]
    record("judge: base and tuned", [_as_judgement(each, ("base", "tuned")) for each in on_test])
    record("judge: audited pairs", [_as_judgement(each, ("lower", "higher"), "higher") for each in on_audit])
    outcomes = Counter(each.outcome for each in on_test)
    agreed = [each.outcome is Outcome.SECOND for each in on_audit]
    low, high = _wilson(sum(agreed), len(agreed))
    return JudgeReport(
        model=config.model,
        prompts=len(on_test),
        tuned_wins=outcomes[Outcome.SECOND],
        base_wins=outcomes[Outcome.FIRST],
        ties=outcomes[Outcome.TIE] + outcomes[Outcome.ORDER_FLIP],
        order_flips=outcomes[Outcome.ORDER_FLIP],
        unread=outcomes[Outcome.UNREAD],
        checked_pairs=len(on_audit),
        agreement=_share(agreed),
        agreement_low=low,
        agreement_high=high,
        raters=checked.raters,
        agreement_by_length=_share([len(pair.second) > len(pair.first) for pair in checked.pairs]),
    )


def _drawn(answers: Sequence["AnsweredPrompt"], most: int, seed: int) -> list[Pair]:
    """Draw prompts of insights, whatever the order in which they come."""
    pairs = sorted(
        (
            Pair(answer.prompt_id, *map(encodable, (answer.prompt, answer.base_completion, answer.tuned_completion)))
            for answer in answers
            if answer.task == "insights"
        ),
        key=lambda pair: pair.prompt_id,
    )
    return pairs if len(pairs) <= most else random.Random(seed).sample(pairs, most)


def _judge(config: JudgeConfig, pairs: Sequence[Pair], replies: ReplyCache, progress: Progress) -> list[Judged]:
    """Return what the judge says of each pair, and ask it only what it was not asked before."""
    name = f"{config.url} {config.model}"
    orders = [(as_question(pair, name), as_question(pair.swapped, name)) for pair in pairs]
    questions = {question.key: question for both in orders for question in both}
    _ask(config, questions, replies, progress)
    said = {key: read_preference(replies.get(key) or "") for key in questions}
    return [
        Judged(pair, said[as_given.key], said[swapped.key])
        for pair, (as_given, swapped) in zip(pairs, orders, strict=True)
    ]


def _ask(config: JudgeConfig, questions: dict[str, Question], replies: ReplyCache, progress: Progress) -> None:
    missing = [question for key, question in questions.items() if replies.get(key) is None]
    done = len(questions) - len(missing)
    progress(done, len(questions), "the judge's replies")
    if not missing:
        return

    def keep(key: str, reply: Reply) -> None:
        nonlocal done
        replies.put(key, reply.text)
        done += 1
        progress(done, len(questions), "the judge's replies")

    with Endpoint(
        config,
        purpose="judge's",
        section="evaluate.judge",
        otherwise="take evaluate.judge out of the configuration to evaluate without it",
        temperature=0.0,
        max_tokens=MAX_TOKENS,
    ) as endpoint:
        failure = endpoint.ask_all(missing, keep)
    if failure is not None:
        raise EndpointError(f"{failure}; {done} of its {len(questions)} replies are kept, and none is asked for again")


def _as_judgement(judged: Judged, names: tuple[str, str], expected: str | None = None) -> Judgement:
    """Describe a judgement by what its two answers are."""
    first, second = names
    preference = {Outcome.FIRST: first, Outcome.SECOND: second, Outcome.ORDER_FLIP: Outcome.TIE.value}.get(
        judged.outcome, judged.outcome.value
    )
    feedback: dict[str, str | bool] = {
        PREFERENCE: preference,
        "order_flip": judged.outcome is Outcome.ORDER_FLIP,
        "unread": judged.outcome is Outcome.UNREAD,
    }
    if expected is not None:
        feedback["agrees_with_raters"] = preference == expected
    pair = judged.pair
    return Judgement(
        prompt_id=pair.prompt_id,
        prompt=pair.prompt,
        answers={first: pair.first, second: pair.second},
        feedback=feedback,
        rationale=(
            f"A={first}, B={second}: {judged.as_given or 'unread'}; A={second}, B={first}: {judged.swapped or 'unread'}"
        ),
        expected=expected,
    )


def _share(truths: Sequence[bool]) -> float | None:
    return sum(truths) / len(truths) if truths else None


def _wilson(hits: int, trials: int) -> tuple[float, float] | tuple[None, None]:
    if trials == 0:
        return None, None
    from scipy.stats import binomtest

    interval = binomtest(hits, trials).proportion_ci(LEVEL, method="wilson")
    return float(interval.low), float(interval.high)
