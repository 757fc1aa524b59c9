"""Race of system prompts: the best of those that answered the same prompts wins, within the budget."""

from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.documents import ScoredRollout
from tasks.evaluate.prompts.race import Runner, race
from tasks.evaluate.prompts.wordings import PromptCandidate

WORDINGS = [PromptCandidate(name, 0, name) for name in ("own", "shipped-1", "shipped-2", "shipped-3")]


def scored(reward: float, row: int) -> ScoredRollout:
    return ScoredRollout(
        prompt_id=str(row),
        task="push",
        prompt="",
        completion="",
        reward=reward,
        components={"length": reward},
        parsed={},
        spec="grounded",
        reward_version="0" * 64,
    )


def run(
    worth: Mapping[str, float | Sequence[float]],
    *,
    budget: int = 48,
    rows: int = 12,
    shots: int = 0,
    propose: Callable[[Runner], Sequence[PromptCandidate]] = lambda _: (),
) -> tuple[PromptCandidate, list[Runner]]:
    """Run a race in which each candidate earns what it is worth, on every prompt or on each; by default nothing."""

    def earns(candidate: PromptCandidate, row: int) -> float:
        found = worth.get(candidate.system, 0.0)
        return found if isinstance(found, float) else found[row]

    def shown(candidate: PromptCandidate) -> list[PromptCandidate]:
        return [PromptCandidate(candidate.name, n, f"{candidate.system}+{n}") for n in range(1, shots + 1)]

    runners: list[Runner] = []
    running = race(WORDINGS, shown, propose, budget=budget, rows=rows, runners=runners)
    earned = None
    try:
        while True:
            trials = running.send(earned)  # type: ignore[arg-type]
            earned = [[scored(earns(each.candidate, row), row) for row in each.rows] for each in trials]
    except StopIteration as ended:
        best: PromptCandidate = ended.value.candidate
        return best, runners


@pytest.mark.parametrize("best", ["own", "shipped-1", "shipped-3"])
def test_the_wording_that_earns_most_wins(best: str) -> None:
    assert run({best: 0.5, "shipped-2": 0.1})[0].name == best


def test_of_equals_the_own_wording_stays() -> None:
    assert run(dict.fromkeys(("own", "shipped-1", "shipped-2"), 0.3))[0].name == "own"


def test_examples_are_tried_under_the_best_wording_and_kept_where_they_earn_more() -> None:
    best, runners = run({"shipped-2": 0.4, "shipped-2+1": 0.6, "shipped-2+2": 0.5}, shots=2)
    assert best == PromptCandidate("shipped-2", 1, "shipped-2+1")
    assert [each.candidate.system for each in runners if each.candidate.shots] == ["shipped-2+1", "shipped-2+2"]
    assert run({"shipped-2": 0.4, "shipped-2+1": 0.3}, shots=2)[0] == PromptCandidate("shipped-2", 0, "shipped-2")


def test_examples_are_compared_with_the_wording_on_the_prompts_that_both_answered() -> None:
    # Those that the wording alone has answered so far are hard.
    own = [*[1.0] * 7, *[0.0] * 5, *[1.0] * 8]
    best, runners = run({"own": own, "own+1": 0.6, "own+2": 0.6}, shots=2, budget=60, rows=20)
    assert best == WORDINGS[0]
    assert sorted(len(each.scored) for each in runners if each.candidate.name == "own") == [7, 17, 17]


def test_a_proposal_joins_on_the_same_prompts_as_the_wording_it_may_replace() -> None:
    proposed = PromptCandidate("proposed-1", 0, "proposed")
    best, runners = run({"shipped-1": 0.4, "proposed": 0.9}, propose=lambda _: [proposed])
    assert best == proposed
    answered = {each.candidate.name: len(each.scored) for each in runners}
    assert answered["proposed-1"] == answered["shipped-1"]
    assert [each.prompt_id for each in runners[-1].scored] == [str(row) for row in range(len(runners[-1].scored))]


def test_a_proposal_is_made_from_the_best_wording_of_the_round() -> None:
    seen: list[tuple[str, Mapping[str, float]]] = []

    def propose(best: Runner) -> list[PromptCandidate]:
        seen.append((best.candidate.name, best.components()))
        return []

    run({"shipped-3": 0.5}, propose=propose)
    assert seen == [("shipped-3", {"length": 0.5})]


@given(
    budget=st.integers(1, 120),
    rows=st.integers(1, 15),
    shots=st.integers(0, 3),
    worth=st.dictionaries(st.sampled_from([each.name for each in WORDINGS]), st.floats(0, 1)),
    proposals=st.integers(0, 3),
)
def test_no_race_draws_more_answers_than_its_budget(
    budget: int, rows: int, shots: int, worth: Mapping[str, float], proposals: int
) -> None:
    def propose(_: Runner) -> list[PromptCandidate]:
        return [PromptCandidate(f"proposed-{n}", 0, f"p{n}") for n in range(proposals)]

    best, runners = run(worth, budget=budget, rows=rows, shots=shots, propose=propose)
    assert sum(len(each.scored) for each in runners) <= budget
    assert all(len(each.scored) <= rows for each in runners)
    assert best in [each.candidate for each in runners]
