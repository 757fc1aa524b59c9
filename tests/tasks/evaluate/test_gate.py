import re
from dataclasses import replace
from typing import Any

import pytest

from schemas.tasks import TASK_NAMES, TaskName
from tasks.evaluate.claims import AgainstBaseline, Floor, TaskClaim
from tasks.evaluate.gate import PromotionGate, decide, hold_where_worse
from tasks.evaluate.stats.statistics import Blocks, PairedStats
from tests.cases import cases_of

CASES = cases_of(__file__)


def stats(named: str | dict[str, Any]) -> PairedStats:
    """Return the statistics of a name, or those of a name that differ in some fields."""
    known = {"is": named} if isinstance(named, str) else named
    changed = {name: value for name, value in known.items() if name != "is"}
    return PairedStats(**CASES["STATS"]["BETTER"] | CASES["STATS"][known["is"]] | changed)


BETTER, UNDECIDED, NON_INFERIOR, WORSE = map(stats, ("BETTER", "UNDECIDED", "NON_INFERIOR", "WORSE"))
MARGINS: dict[TaskName, float] = dict.fromkeys(TASK_NAMES, 0.05)
BETTER_PUSH = Blocks(BETTER, {"push": BETTER})


def test_promotes_what_is_shown() -> None:
    gate = decide(Blocks(BETTER, {"extraction": BETTER, "push": NON_INFERIOR}), {1: 0.1, 2: 0.05}, 0.05, None)
    assert gate.verdict == "promote"
    assert "rose by 0.100" in gate.reasons[0]
    assert any("extraction" in reason and "push" not in reason for reason in gate.reasons)


@pytest.mark.parametrize(("overall", "push", "verdict", "sentences"), CASES["SCORES"])
def test_scores_decide_and_the_reasons_say_why(overall: Any, push: Any, verdict: str, sentences: list[str]) -> None:
    blocks = Blocks(stats(overall), {"extraction": BETTER, "push": stats(push)})
    gate = decide(blocks, {1: 0.1}, 0.05, None)
    assert gate.verdict == verdict
    assert len(gate.speaks_against) == len(sentences)
    assert all(map(re.search, sentences, gate.speaks_against)), gate.speaks_against
    # A gain that is shown speaks for a model that is held, too.
    assert any("rose by" in reason for reason in gate.speaks_for) == (overall == "BETTER")
    assert any("rose by" in reason for reason in gate.reasons) == (verdict == "promote")


def test_a_gain_overall_needs_a_better_task_and_every_seed() -> None:
    gate = decide(Blocks(BETTER, {"push": replace(NON_INFERIOR, p_holm=0.07)}), {1: 0.1, 2: 0.0, 3: -0.02}, 0.05, None)
    assert gate.verdict == "hold"
    assert "the nearest to it is push, p 0.070" in gate.reasons[0]
    assert [reason.partition(" did not gain")[0] for reason in gate.reasons[1:]] == ["seed 2", "seed 3"]


@pytest.mark.parametrize(("task", "sentence"), CASES["GROUND_TRUTH"])
def test_holds_what_the_reward_likes_and_the_ground_truth_does_not(task: Any, sentence: str) -> None:
    # A mean over the tasks says nothing: what one of them lost, another gained.
    gate = decide(BETTER_PUSH, {1: 0.1}, 0.05, Blocks(BETTER, {"push": stats(task)}, MARGINS))
    assert gate.verdict == "hold"
    assert len(gate.reasons) == 1
    assert sentence in gate.reasons[0]


def test_an_unlearned_task_counts_neither_for_nor_against() -> None:
    useless = TaskClaim(floors=(Floor("execution_accuracy", 0.25, 0.0, 0.0),))
    gate = decide(BETTER_PUSH, {1: 0.1}, 0.05, None, {"push": TaskClaim(), "sql_qa": useless})
    assert gate.verdict == "promote"
    assert gate.reasons[-1].startswith("sql_qa is not learned")


@pytest.mark.parametrize(("push", "its", "place"), [(NON_INFERIOR, 0.7, "against"), (BETTER, 0.55, "good_to_know")])
def test_unbeaten_baseline_speaks_against_if_it_scores_more(push: PairedStats, its: float, place: str) -> None:
    rule = AgainstBaseline("", replace(UNDECIDED, mean_base=its, p_signflip=0.5))
    claims: dict[TaskName, TaskClaim] = {"push": TaskClaim(baselines={"rule": rule})}
    gate = decide(Blocks(BETTER, {"extraction": BETTER, "push": push}), {1: 0.1}, 0.05, None, claims)
    assert gate.verdict == "promote"
    lists = {name: " ".join(gate.report()[name]) for name in ("for", "against", "good_to_know")}
    assert [name for name, said in lists.items() if "better than the baseline `rule`" in said] == [place]


def test_a_margin_of_more_than_half_of_the_bases_score_is_no_reason() -> None:
    little = replace(NON_INFERIOR, mean_base=0.15, verdict="inconclusive")
    gate = decide(Blocks(BETTER, {"extraction": BETTER, "push": little}), {1: 0.1}, 0.1, None)
    assert gate.verdict == "promote"
    assert any("but push, of whose base's score it is more than half" in reason for reason in gate.reasons)
    # Harm within such a margin is no small one.
    harmed = replace(little, verdict="worse", p_harm=0.01)
    assert decide(Blocks(BETTER, {"extraction": BETTER, "push": harmed}), {1: 0.1}, 0.1, None).verdict == "hold"


CHAMPION = "against the champion"
PROMOTED = PromotionGate("promote", ("better",))
HELD = PromotionGate("hold", (), ("undecided",))


@pytest.mark.parametrize(("overall", "task", "sentence"), CASES["CHAMPION"])
def test_a_challenger_that_may_be_worse_than_the_champion_is_held(overall: Any, task: Any, sentence: str) -> None:
    blocks = Blocks(stats(overall), {"push": stats(task)})
    gate = hold_where_worse(PROMOTED, CHAMPION, blocks, None, 0.05)
    assert gate.verdict == "hold"
    assert len(gate.reasons) == 1
    assert sentence in gate.reasons[0]
    assert hold_where_worse(HELD, CHAMPION, blocks, None, 0.05).reasons == ("undecided", *gate.reasons)


def test_a_challenger_that_is_less_right_than_the_champion_is_held_though_its_rewards_are_higher() -> None:
    gate = hold_where_worse(PROMOTED, CHAMPION, BETTER_PUSH, Blocks(WORSE, {"push": WORSE}, MARGINS), 0.05)
    assert gate.verdict == "hold"
    assert [reason.partition(" is worse")[0] for reason in gate.reasons] == [f"{CHAMPION}, the ground truth of push"]


def test_one_of_six_equally_good_tasks_that_seems_worse_by_chance_holds_nothing_against_the_champion() -> None:
    unlucky = replace(UNDECIDED, p_harm=0.03, verdict="worse")
    tasks: dict[TaskName, PairedStats] = {**dict.fromkeys(TASK_NAMES, UNDECIDED), "push": unlucky}
    assert hold_where_worse(PROMOTED, CHAMPION, Blocks(NON_INFERIOR, tasks), None, 0.05).verdict == "promote"
    tasks["push"] = replace(unlucky, p_harm=0.008)
    held = hold_where_worse(PROMOTED, CHAMPION, Blocks(NON_INFERIOR, tasks), None, 0.05)
    assert held.verdict == "hold"
    assert held.reasons[-1].endswith("p 0.048 for harm"), "six times .008: what is shown is what decided"
