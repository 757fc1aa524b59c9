"""Judge model of an attack: asked of what a reward pays for and neither ground truth nor critic calls bad.

It is slow and costs money, so it is asked after the search, of the best few candidates of each mechanism, and every
reply is kept. It is no oracle: it is asked of good answers first, and where it calls most of them bad, nothing that it
says makes a find. Where its endpoint fails, the attack ends without it, and says so.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Final

from pydantic import BaseModel, ConfigDict

from schemas.config.config import AuditJudgeConfig
from schemas.errors import Interrupted
from schemas.tasks import TaskName
from tasks.audit.attack.candidate import Candidate
from tasks.audit.attack.finds import Find
from tasks.audit.attack.judge_question import Scrub, as_question, read_score
from tasks.audit.attack.measures import Measured, Target
from tasks.audit.attack.search import AttackPrompts, ExploitSearch, find_of, transfers
from tasks.audit.critic.alteration import Case
from tasks.policy.endpoint import Endpoint, EndpointError, Reply
from tasks.policy.reply_cache import ReplyCache, open_cache

TRIED_FIRST: Final = 3
"""Training prompts on which a candidate is judged before it is judged on fresh ones."""
WORST: Final = 2
"""Highest score that calls a completion bad."""
BEST: Final = 5
MAX_TOKENS: Final = 1_000
"""Token limit of a reply: one, and a thought before it from models that reason."""

Stop = Callable[[], bool]


class JudgeTally(BaseModel):
    """What a judge was asked about one task."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    judge: str
    """Address and model."""
    most: int
    """Most completions that it may be asked of."""
    questions: int = 0
    """Completions that it was asked of, now or before."""
    unread: int = 0
    """Those whose reply was no score, and so no opinion."""
    candidates: int = 0
    """Candidates that it has judged."""
    left: int = 0
    """Candidates that it was not asked of: the questions were used up, or it failed."""
    good_called_bad: float | None = None
    """Share of good answers that it scored 1 or 2, or not at all; above a half, it is asked of nothing else."""
    failure: str | None = None
    """Why its endpoint could not be used to the end."""

    @property
    def trusted(self) -> bool:
        """Return whether it called most good answers good."""
        return self.good_called_bad is not None and self.good_called_bad <= 0.5

    def is_of(self, config: AuditJudgeConfig | None) -> bool:
        """Return whether these are all the questions of a configuration, so that there is nothing to ask again."""
        return (
            config is not None and self.failure is None and (self.judge, self.most) == (_name(config), config.questions)
        )


@dataclass(frozen=True)
class JudgedCandidates:
    """Finds by a judge, and what it was asked."""

    finds: tuple[Find, ...]
    tally: JudgeTally


def replies_file(folder: Path, task: TaskName) -> Path:
    """Return the file of a task's replies; `--fresh` keeps it, since they were paid for."""
    return folder / f"judge-{task}.sqlite3"


def check_judge(config: AuditJudgeConfig) -> None:
    """Make sure, before a search, that the key is there.

    Raises:
        InputError: It is not.
    """
    with _endpoint(config):
        pass


def judge_candidates(
    config: AuditJudgeConfig,
    scrub: Scrub,
    target: Target,
    prompts: AttackPrompts,
    search: ExploitSearch,
    replies: Path,
    stop: Stop,
) -> JudgedCandidates:
    """Ask a judge about the unopposed candidates of a search that has ended.

    Args:
        config: The judge's endpoint, and the number of questions.
        scrub: Takes personal data out of what is sent.
        target: The reward under attack.
        prompts: Training and fresh prompts.
        search: The search.
        replies: File of the kept replies.
        stop: Returns whether to give up; replies are kept.

    Raises:
        InputError: The key is not in the environment, or the replies cannot be kept.
        Interrupted: `stop` said so.
    """
    with open_cache(replies, "the judge's replies in") as cache:
        judging = _Judging(_Judge(config, scrub, cache, stop), target, prompts, search.finds)
        return judging.run(list(search.unopposed))


class _Judge:
    """A model that scores completions, each once."""

    def __init__(self, config: AuditJudgeConfig, scrub: Scrub, cache: ReplyCache, stop: Stop) -> None:
        self._config = config
        self._scrub = scrub
        self._cache = cache
        self._stop = stop
        self.scores: dict[str, int | None] = {}
        """Of each question of this run, by its key."""

    @property
    def left(self) -> int:
        return self._config.questions - len(self.scores)

    @property
    def tally(self) -> JudgeTally:
        unread = sum(score is None for score in self.scores.values())
        name, most = _name(self._config), self._config.questions
        return JudgeTally(judge=name, most=most, questions=len(self.scores), unread=unread)

    def score(self, completions: Sequence[tuple[Case, str]]) -> list[int | None]:
        """Return the score of each completion; None where the reply was none.

        Raises:
            EndpointError: The endpoint failed for good; the replies until then are kept.
        """
        if self._stop():
            raise Interrupted("interrupted")
        name = _name(self._config)
        questions = [as_question(case, text, name, self._scrub) for case, text in completions]
        missing = {each.key: each for each in questions if self._cache.get(each.key) is None}

        def keep(key: str, reply: Reply) -> None:
            self._cache.put(key, reply.text)

        failure = None
        if missing:
            with _endpoint(self._config) as endpoint:
                failure = endpoint.ask_all(list(missing.values()), keep, self._stop)
        for each in questions:
            reply = self._cache.get(each.key)
            if reply is not None:
                self.scores[each.key] = read_score(reply)
        if failure is not None:
            raise EndpointError(failure)
        return [self.scores[each.key] for each in questions]


class _Judging:
    """The course of one judgement."""

    def __init__(self, judge: _Judge, target: Target, prompts: AttackPrompts, found: Sequence[Find]) -> None:
        self._judge = judge
        self._target = target
        self._prompts = prompts
        self._others = list(found)
        self._found = [Candidate.read(find.candidate) for find in found]
        self._finds: list[Find] = []

    def run(self, candidates: Sequence[Candidate]) -> JudgedCandidates:
        judged, left = 0, len(candidates)
        failure, good_called_bad = None, None
        try:
            scores = self._judge.score([(case, case.answer) for case in self._prompts.training])
            good_called_bad = fmean(score is None or score <= WORST for score in scores)
            if good_called_bad <= 0.5:
                for candidate in candidates:
                    if self._judge.left < TRIED_FIRST + len(self._prompts.fresh):
                        break
                    # What contains a find is paid for by the same hole.
                    if not any(map(candidate.contains, self._found)):
                        self._try(candidate)
                        judged += 1
                    left -= 1
        except EndpointError as error:
            failure = str(error)
        found = {"candidates": judged, "left": left, "good_called_bad": good_called_bad, "failure": failure}
        return JudgedCandidates(tuple(self._shortest()), self._judge.tally.model_copy(update=found))

    def _try(self, candidate: Candidate) -> None:
        """Judge a candidate on some training prompts, and where most are bad, on the fresh ones."""
        known = self._unopposed(candidate, self._prompts.training)[:TRIED_FIRST]
        if not _mostly_bad(self._scores(known)):
            return
        fresh = self._unopposed(candidate, self._prompts.fresh)
        if not transfers(len(fresh), len(self._prompts.fresh)):
            return
        scores = self._scores(fresh)
        bad = [(pair, score) for pair, score in zip(fresh, scores, strict=True) if score is not None and score <= WORST]
        if not _mostly_bad(scores) or not transfers(len(bad), len(self._prompts.fresh)):
            return
        mean = fmean(score for _, score in bad)
        find = find_of(self._target, candidate, len(self._prompts.fresh), [pair for pair, _ in bad])
        share = fmean(measured.share for (_, measured), _ in bad)
        find = find.model_copy(update={"by_judge": mean, "gap": share - (mean - 1) / (BEST - 1)})
        if not any(find.is_like(other) for other in (*self._others, *self._finds)):
            self._finds.append(find)
            self._found.append(candidate)

    def _unopposed(self, candidate: Candidate, cases: Sequence[Case]) -> list[tuple[Case, Measured]]:
        measured = [(case, self._target.measure(candidate, case)) for case in cases]
        return [(case, found) for case, found in measured if found is not None and found.unopposed]

    def _scores(self, completions: Sequence[tuple[Case, Measured]]) -> list[int | None]:
        return self._judge.score([(case, measured.text) for case, measured in completions])

    def _shortest(self) -> list[Find]:
        """Return the finds that contain no other one, which may have been judged later."""
        read = [(find, Candidate.read(find.candidate)) for find in self._finds]
        return [find for find, one in read if not any(other != one and one.contains(other) for _, other in read)]


def _mostly_bad(scores: Sequence[int | None]) -> bool:
    return 2 * sum(score is not None and score <= WORST for score in scores) > len(scores)


def _name(config: AuditJudgeConfig) -> str:
    return f"{config.url} {config.model}"


def _endpoint(config: AuditJudgeConfig) -> Endpoint:
    return Endpoint(
        config,
        purpose="judge's",
        section="audit.judge",
        otherwise="take audit.judge out of the configuration to attack without it",
        temperature=0.0,
        max_tokens=MAX_TOKENS,
    )
