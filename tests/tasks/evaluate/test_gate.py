import re
from dataclasses import replace

import pytest

from schemas.tasks import TASK_NAMES, TaskName
from tasks.evaluate.claims import AgainstBaseline, Floor, TaskClaim
from tasks.evaluate.gate import PromotionGate, decide, hold_where_worse
from tasks.evaluate.stats.statistics import Blocks, PairedStats

BETTER = PairedStats(
    n_prompts=40,
    n_seeds=1,
    n_nonzero=35,
    mean_base=0.5,
    mean_tuned=0.6,
    mean_difference=0.1,
    ci_low=0.06,
    ci_high=0.14,
    p_win=0.7,
    p_tie=0.125,
    p_loss=0.175,
    p_signflip=0.001,
    p_wilcoxon=0.001,
    p_harm=0.999,
    p_holm=0.006,
    noninferiority_low=0.07,
    mde=0.05,
    n_for_margin=40,
    verdict="better",
)
UNDECIDED = replace(
    BETTER, mean_difference=0.0, noninferiority_low=-0.08, p_harm=0.5, n_for_margin=102, verdict="inconclusive"
)
NON_INFERIOR = replace(UNDECIDED, noninferiority_low=-0.02, verdict="non-inferior")
WORSE = replace(UNDECIDED, mean_difference=-0.2, noninferiority_low=-0.25, p_harm=0.001, verdict="worse")
MARGINS: dict[TaskName, float] = dict.fromkeys(TASK_NAMES, 0.05)
BETTER_PUSH = Blocks(BETTER, {"push": BETTER})


def test_promotes_what_is_shown() -> None:
    gate = decide(Blocks(BETTER, {"extraction": BETTER, "push": NON_INFERIOR}), {1: 0.1, 2: 0.05}, 0.05, None)
    assert gate.verdict == "promote"
    assert "rose by 0.100" in gate.reasons[0]
    assert any("extraction" in reason and "push" not in reason for reason in gate.reasons)


SINGLE = replace(
    UNDECIDED, n_prompts=1, ci_low=None, ci_high=None, noninferiority_low=None, mde=None, n_for_margin=None
)
EQUAL = replace(UNDECIDED, n_nonzero=0, noninferiority_low=0.0)
OPEN = replace(UNDECIDED, ci_low=-0.01, noninferiority_low=0.0, mde=0.123, p_holm=0.07)
HARMED = replace(NON_INFERIOR, mean_difference=-0.01, p_harm=0.01, verdict="worse")
ALIKE = replace(UNDECIDED, n_prompts=2, noninferiority_low=0.0, mde=0.0, n_for_margin=59)
RARE = replace(ALIKE, mean_difference=-0.04, noninferiority_low=-0.04)


@pytest.mark.parametrize(
    ("overall", "push", "verdict", "sentences"),
    [
        (BETTER, UNDECIDED, "hold", ["push is undecided: .* a loss of 0.080 .* margin is 0.05; .* 102 prompts"]),
        (BETTER, replace(UNDECIDED, n_for_margin=None), "hold", ["push is undecided: .*: add seeds$"]),
        (BETTER, WORSE, "hold", ["push is worse: mean difference −0.200, p 0.001 for harm"]),
        (BETTER, HARMED, "promote", ["worse, but by less than the margin: push"]),
        (BETTER, ALIKE, "hold", ["push is undecided: all 2 prompts have the same difference, 0.000"]),
        (BETTER, RARE, "hold", ["push is undecided: all 2 prompts have the same difference, −0.040"]),
        (BETTER, replace(ALIKE, n_for_margin=2), "promote", []),
        (BETTER, replace(RARE, n_for_margin=2), "promote", []),
        (OPEN, OPEN, "hold", ["improvement overall is not shown: .* find a true gain of 0.123 with power .80"]),
        (EQUAL, EQUAL, "hold", ["base and tuned score the same on all 40 prompts"]),
        (SINGLE, SINGLE, "hold", ["one prompt, which says nothing", "push is undecided: it has one prompt"]),
    ],
)
def test_scores_decide_and_the_reasons_say_why(
    overall: PairedStats, push: PairedStats, verdict: str, sentences: list[str]
) -> None:
    gate = decide(Blocks(overall, {"extraction": BETTER, "push": push}), {1: 0.1}, 0.05, None)
    assert gate.verdict == verdict
    assert len(gate.speaks_against) == len(sentences)
    assert all(map(re.search, sentences, gate.speaks_against)), gate.speaks_against
    # A gain that is shown speaks for a model that is held, too.
    assert any("rose by" in reason for reason in gate.speaks_for) == (overall is BETTER)
    assert any("rose by" in reason for reason in gate.reasons) == (verdict == "promote")


def test_a_gain_overall_needs_a_better_task_and_every_seed() -> None:
    gate = decide(Blocks(BETTER, {"push": replace(NON_INFERIOR, p_holm=0.07)}), {1: 0.1, 2: 0.0, 3: -0.02}, 0.05, None)
    assert gate.verdict == "hold"
    assert "the nearest to it is push, p 0.070" in gate.reasons[0]
    assert [reason.partition(" did not gain")[0] for reason in gate.reasons[1:]] == ["seed 2", "seed 3"]


@pytest.mark.parametrize(
    ("task", "sentence"),
    [
        (WORSE, "the ground truth of push is worse: mean difference −0.200, p 0.001 for harm"),
        (UNDECIDED, "the ground truth of push is undecided: with 40 prompts a loss of 0.080 cannot be excluded"),
        (replace(UNDECIDED, noninferiority_low=None), "the ground truth of push is undecided: it has one prompt"),
    ],
)
def test_holds_what_the_reward_likes_and_the_ground_truth_does_not(task: PairedStats, sentence: str) -> None:
    # A mean over the tasks says nothing: what one of them lost, another gained.
    gate = decide(BETTER_PUSH, {1: 0.1}, 0.05, Blocks(BETTER, {"push": task}, MARGINS))
    assert gate.verdict == "hold"
    assert len(gate.reasons) == 1
    assert sentence in gate.reasons[0]


def test_an_unlearned_task_counts_neither_for_nor_against() -> None:
    useless = TaskClaim(floors=(Floor("execution_accuracy", 0.25, 0.0, 0.0),))
    gate = decide(BETTER_PUSH, {1: 0.1}, 0.05, None, {"push": TaskClaim(), "sql_qa": useless})
    assert gate.verdict == "promote"
    assert gate.reasons[-1].startswith("sql_qa is not learned")


@pytest.mark.parametrize(("push", "its", "place"), [(NON_INFERIOR, 0.7, "against"), (BETTER, 0.55, "good_to_know")])
def test_a_baseline_that_is_not_beaten_speaks_against_only_where_it_scores_more(
    push: PairedStats, its: float, place: str
) -> None:
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


@pytest.mark.parametrize(
    ("overall", "task", "sentence"),
    [
        (WORSE, NON_INFERIOR, "against the champion, overall is worse"),
        (replace(WORSE, noninferiority_low=-0.01), NON_INFERIOR, "against the champion, overall is worse"),
        (UNDECIDED, NON_INFERIOR, "against the champion, overall is undecided: with 40 prompts a loss of 0.080"),
        (replace(UNDECIDED, noninferiority_low=None), NON_INFERIOR, "it has one prompt"),
        (BETTER, WORSE, "against the champion, push is worse"),
    ],
)
def test_a_challenger_that_may_be_worse_than_the_champion_is_held(
    overall: PairedStats, task: PairedStats, sentence: str
) -> None:
    gate = hold_where_worse(PROMOTED, CHAMPION, Blocks(overall, {"push": task}), None, 0.05)
    assert gate.verdict == "hold"
    assert len(gate.reasons) == 1
    assert sentence in gate.reasons[0]
    held = hold_where_worse(HELD, CHAMPION, Blocks(overall, {"push": task}), None, 0.05)
    assert held.reasons == ("undecided", *gate.reasons)


def test_a_challenger_that_is_less_right_than_the_champion_is_held_though_its_rewards_are_higher() -> None:
    better = BETTER_PUSH
    gate = hold_where_worse(PROMOTED, CHAMPION, better, Blocks(WORSE, {"push": WORSE}, MARGINS), 0.05)
    assert gate.verdict == "hold"
    assert [reason.partition(" is worse")[0] for reason in gate.reasons] == [
        "against the champion, the ground truth of push"
    ]


def test_one_of_six_equally_good_tasks_that_seems_worse_by_chance_holds_nothing_against_the_champion() -> None:
    unlucky = replace(UNDECIDED, p_harm=0.03, verdict="worse")
    tasks: dict[TaskName, PairedStats] = {**dict.fromkeys(TASK_NAMES, UNDECIDED), "push": unlucky}
    assert hold_where_worse(PROMOTED, CHAMPION, Blocks(NON_INFERIOR, tasks), None, 0.05).verdict == "promote"
    tasks["push"] = replace(unlucky, p_harm=0.008)
    held = hold_where_worse(PROMOTED, CHAMPION, Blocks(NON_INFERIOR, tasks), None, 0.05)
    assert held.verdict == "hold"
    assert held.reasons[-1].endswith("p 0.048 for harm"), "six times .008: what is shown is what decided"
