"""Language model as judge of two insights, beside the rewards and without effect on the gate.

Each pair is judged twice, in both orders. An answer preferred in both is preferred; a preference that follows the order
describes the judge and not the answers, and counts as a tie.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Final

from pydantic import ValidationError

from schemas.config.evaluate import JudgeConfig
from schemas.documents import SheetRow
from schemas.errors import InputError
from schemas.faults import first_fault
from schemas.progress import Progress, silent
from schemas.tables.delimited import of_cell, read_text
from tasks.commerce.insights.render import render
from tasks.evaluate.judge.question import (
    AnsweredPrompt,
    AnswerPair,
    Preference,
    as_question,
    encodable,
    read_preference,
)
from tasks.lineage.mlflow.judging import PREFERENCE, Judgement
from tasks.policy.endpoint import Endpoint, EndpointError, EndpointQuestion, Reply, ReplyCache, open_cache

MAX_TOKENS: Final = 1_000
"""Token limit of the judge's reply: ten, and a thought before it from models that reason."""
REPLIES_FILE: Final = "judge.sqlite3"
"""Database of replies in the work folder."""
SHEET_FILE: Final = "sheet.csv"
"""Artifact file of the audit: the scored completions."""
LEVEL: Final = 0.95
"""Confidence level of the agreement's interval."""

Record = Callable[[str, Sequence[Judgement]], object]
"""Saves judgements under a name (`tasks.lineage.mlflow.judging.record_judgements`)."""


@dataclass(frozen=True)
class JudgeReport:
    """Results of the judge, and its agreement with people."""

    model: str
    """The judge's model name at its endpoint."""
    prompts: int
    """Test prompts compared."""
    tuned_wins: int
    """Prompts on which it preferred the tuned model's answer in both orders."""
    base_wins: int
    """Prompts on which it preferred the base's answer in both orders."""
    ties: int
    """Prompts with a tie, or with a preference that followed the reading order."""
    order_flips: int
    """Those ties in which the preference followed the order."""
    unread: int
    """Prompts with an unreadable reply."""
    checked_pairs: int
    """Pairs of audited completions, scored differently by people, used to check it."""
    agreement: float | None
    """Share of them on which it preferred, in both orders, the answer that people scored higher; None without any."""
    agreement_low: float | None
    """Lower end of the share's 95 % interval (Wilson), which treats pairs of one prompt as independent."""
    agreement_high: float | None
    """Upper end of the interval."""
    raters: str
    """Kinds of raters of those pairs, such as `human` or `rubric`."""
    agreement_by_length: float | None = None
    """Share of them on which the longer answer was scored higher: the agreement of a judge that only looks at
    length."""


class Outcome(StrEnum):
    """Combined result of both orders."""

    FIRST = "first"
    SECOND = "second"
    TIE = "tie"
    """A tie in at least one order, so no preference in both."""
    ORDER_FLIP = "order flip"
    """The same position was preferred in both orders."""
    UNREAD = "unread"
    """One or both replies could not be read."""


@dataclass(frozen=True)
class JudgedPair:
    """A pair with the judge's replies."""

    pair: AnswerPair
    as_given: Preference | None
    """With the first answer read first; None if the reply could not be read."""
    swapped: Preference | None
    """With the second answer read first."""

    @property
    def outcome(self) -> Outcome:
        """Return the combined result of both orders."""
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
    answers: Sequence[AnsweredPrompt],
    audit: Path,
    seed: int,
    *,
    work: Path,
    record: Record,
    progress: Progress = silent,
) -> JudgeReport:
    """Compare the insights of base and tuned, and check the judge against people's scores.

    Args:
        config: The judge's endpoint, and the number of questions.
        answers: Answers to test prompts; other tasks are ignored.
        audit: Folder of the audit artifact.
        seed: Decides the draw of prompts and pairs.
        work: Folder where every reply is saved on arrival, so that a repeated command resumes from it.
        record: Saves the judgements.
        progress: Called with the replies received and the total.

    Raises:
        InputError: The endpoint cannot be used, its key is not in the environment, the sheet or the saved replies
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


def _drawn(answers: Sequence[AnsweredPrompt], most: int, seed: int) -> list[AnswerPair]:
    """Draw prompts of insights, independent of their order."""
    pairs = sorted(
        (
            AnswerPair(
                answer.prompt_id,
                encodable(answer.prompt),
                # What people read of it, as on the audit's sheet; itself where nothing of it holds.
                *(
                    encodable(render(each, answer.prompt).text or each)
                    for each in (answer.base_completion, answer.tuned_completion)
                ),
            )
            for answer in answers
            if answer.task == "insights"
        ),
        key=lambda pair: pair.prompt_id,
    )
    return pairs if len(pairs) <= most else random.Random(seed).sample(pairs, most)


def _judge(
    config: JudgeConfig, pairs: Sequence[AnswerPair], replies: ReplyCache, progress: Progress
) -> list[JudgedPair]:
    """Return the judgement of each pair; ask only questions without a saved reply."""
    name = f"{config.url} {config.model}"
    orders = [(as_question(pair, name), as_question(pair.swapped, name)) for pair in pairs]
    questions = {question.key: question for both in orders for question in both}
    _ask(config, questions, replies, progress)
    said = {key: read_preference(replies.get(key) or "") for key in questions}
    return [
        JudgedPair(pair, said[as_given.key], said[swapped.key])
        for pair, (as_given, swapped) in zip(pairs, orders, strict=True)
    ]


def _ask(config: JudgeConfig, questions: dict[str, EndpointQuestion], replies: ReplyCache, progress: Progress) -> None:
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


def _as_judgement(judged: JudgedPair, names: tuple[str, str], expected: str | None = None) -> Judgement:
    """Describe a judgement by the names of its two answers."""
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


@dataclass(frozen=True)
class ScoredPairs:
    """Pairs of answers, one of which was scored higher."""

    pairs: tuple[AnswerPair, ...]
    """The answer with the lower score first."""
    raters: str
    """The kinds of raters of those scores; empty if insights were not scored."""


def read_scored_pairs(audit: Path, most: int, seed: int) -> ScoredPairs:
    """Draw pairs of the audit's insights: two answers to one prompt with different mean scores.

    If people scored insights, only their scores count. Pairs of one prompt share answers, so as many prompts as
    possible are used before any gives a second pair.

    Args:
        audit: Folder of the audit artifact, or any with a scored sheet of its form.
        most: Most pairs to draw.
        seed: Decides the draw.

    Raises:
        InputError: The sheet cannot be read.
    """
    rows = [row for row in _read_sheet(audit / SHEET_FILE) if row.task == "insights"]
    by_people = [row for row in rows if row.rater_kind == "human"]
    pairs = _pairs(by_people or rows)
    generator = random.Random(seed)
    ranked: list[tuple[int, float, AnswerPair]] = []
    for prompt_id in sorted(pairs):
        of_prompt = generator.sample(pairs[prompt_id], len(pairs[prompt_id]))
        ranked += [(rank, generator.random(), pair) for rank, pair in enumerate(of_prompt)]
    ranked.sort(key=lambda entry: entry[:2])
    kinds = sorted({row.rater_kind for row in by_people or rows})
    return ScoredPairs(tuple(pair for _, _, pair in ranked[:most]), " and ".join(kinds))


def _read_sheet(path: Path) -> list[SheetRow]:
    source = read_text(path)
    rows = []
    try:
        delimiter, header = source.header([*SheetRow.model_fields])
        for number, cells in [row for row in source.rows(delimiter) if row[1]][1:]:
            try:
                rows.append(SheetRow.model_validate(dict(zip(header, cells, strict=False))))
            except ValidationError as error:
                raise InputError(f"sheet {path}, line {number}: {first_fault(error)}; correct it") from None
    except ValueError as error:
        raise InputError(f"sheet {path} cannot be read ({error}); audit the rewards again") from None
    return rows


def _pairs(rows: Sequence[SheetRow]) -> Mapping[str, list[AnswerPair]]:
    scores: defaultdict[str, defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    prompts: dict[str, str] = {}
    for row in rows:
        prompts[row.prompt_id] = row.prompt
        scores[row.prompt_id][of_cell(row.completion)].append(row.human_score)
    pairs: dict[str, list[AnswerPair]] = {}
    for prompt_id, of_prompt in scores.items():
        means = {text: fmean(given) for text, given in of_prompt.items()}
        pairs[prompt_id] = [
            AnswerPair(prompt_id, prompts[prompt_id], *sorted((one, other), key=means.__getitem__))
            for one, other in combinations(means, 2)
            if means[one] != means[other]
        ]
    return pairs
