import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.documents import Rollout, ScoredRollout
from schemas.references import REFERENCES
from schemas.store.store import Store
from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit.gate import Probe
from tasks.audit.mutants import MUTANTS
from tasks.audit.probes.properties import CEILING, FLOOR
from tasks.audit.probes.run import run_probes
from tasks.audit.reward import RewardFunction
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import score_rollout
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.synthesize.simulated import simulate_store

pytestmark = pytest.mark.slow

PROMPTS: Final = 16
BY_BUG: Final[tuple[tuple[TaskName, str, str], ...]] = (
    ("sentiment", "reference_answer", "clipped at a half"),
    ("insights", "nothing_said", "insights: length only"),
    ("push", "refusal", "push: length only"),
    ("insights", "prompt_echo", "quoting the prompt is free"),
    ("extraction", "format_echo", "extraction: format echo paid"),
    ("push", "keyword_stuffing", "push: length only"),
    ("extraction", "other_language", "extraction: weights swapped"),
    ("sql_qa", "cut_off", "sql_qa: reference ignored"),
    ("sql_qa", "chatter", "sql_qa: chatter is free"),
    ("extraction", "unknown_is_not_scored", "extraction: unknown counts as wrong"),
    ("sentiment", "known_part_counts", "unknown is full marks"),
    ("extraction", "same_complaint", "extraction: narrow list of complaints"),
    ("extraction", "same_object", "extraction: keys in order"),
    ("churn", "portuguese_number", "no decimal comma"),
    ("sentiment", "wrong_type", "boolean as integer"),
    ("extraction", "wrong_type", "text as boolean"),
    ("extraction", "missing_field", "extraction: missing fields are free"),
    ("extraction", "wrong_value", "extraction: a field forgotten"),
    ("sentiment", "wrong_answer", "sentiment: distance without sign"),
    ("sentiment", "errors", "partial credit cut off"),
    ("extraction", "grave_error", "extraction: mismatch not punished"),
    ("churn", "no_values", "churn: answer inverted"),
    ("extraction", "one_field", "extraction: missing fields are free"),
    ("churn", "both_answers", "first object taken"),
    ("extraction", "wrong_answer", "extraction: reference ignored"),
    ("sentiment", "contradiction", "sentiment: contradiction is free"),
    ("sentiment", "more_fields", "sign flipped"),
    ("churn", "repaired", "repair not capped"),
    ("sentiment", "unfinished", "truncation paid"),
    ("extraction", "content_before_form", "strict JSON only"),
    ("churn", "worthless_reason", "churn: invented numbers are free"),
    ("sql_qa", "same_query", "sql_qa: rounding demanded"),
    ("sql_qa", "no_result", "sql_qa: any valid query is paid"),
    ("sql_qa", "write", "sql_qa: writes are passed over"),
    ("sql_qa", "wrong_answer", "sql_qa: size for result"),
    ("sql_qa", "wrong_result", "sql_qa: repeated rows are free"),
    ("sql_qa", "without_condition", "sql_qa: size for result"),
    ("sql_qa", "order_of_rows", "sql_qa: order ignored"),
    ("sql_qa", "several_stores", "sql_qa: one store"),
    ("insights", "same_analysis", "insights: thousands as decimals"),
    ("insights", "other_words", "insights: narrow word list"),
    ("insights", "pasted_table", "quoting the prompt is free"),
    ("insights", "wrong_answer", "insights: rows unchecked"),
    ("insights", "untrue_number", "insights: invented numbers are free"),
    ("insights", "untrue_number", "insights: columns unchecked"),
    ("insights", "english", "insights: length only"),
    ("insights", "shallow", "insights: one fact is enough"),
    ("insights", "padding", "insights: padding is free"),
    ("push", "same_push", "capitals matter"),
    ("push", "at_limit", "push: bytes counted"),
    ("push", "other_calls", "push: narrow calls to action"),
    ("push", "english", "push: any words"),
    ("push", "wrong_answer", "push: length only"),
    ("push", "no_call", "push: length only"),
    ("push", "formal", "push: no formal penalty"),
    ("push", "too_long", "push: no length cliff"),
    ("push", "missing_fact", "push: product ignored"),
    ("push", "false_offer", "push: amounts unchecked"),
    ("push", "several_pushes", "push: several pushes are free"),
    ("churn", "wrong_type", "share without bounds"),
    ("push", "weighted_sum", "no number"),
    ("extraction", "repeatable", "noise"),
    ("churn", "full_marks", "churn: answer inverted"),
    ("extraction", "unknown_fields", "extraction: unknown counts as wrong"),
    ("sentiment", "anchors", "sentiment: neighbours are right"),
    ("sql_qa", "anchors", "sql_qa: chatter is free"),
    ("sql_qa", "half_a_cent", "sql_qa: reference ignored"),
    ("sql_qa", "order_of_columns", "sql_qa: reference ignored"),
    ("insights", "untrue_numbers", "insights: invented numbers are free"),
    ("push", "corruptions_cost", "push: invented offers are free"),
    ("push", "each_offer", "quoting the prompt is paid"),
    ("push", "each_amount", "push: length only"),
    ("push", "each_writing", "quoting the prompt is paid"),
    ("sql_qa", "rewrites_keep", "sql_qa: reference ignored"),
)
"""For each probe a bug that turns it red, by the task that it is looked for in."""

Prompts = Mapping[TaskName, list[Rollout]]


@pytest.fixture(scope="module")
def store() -> Store:
    return simulate_store(250, random.Random(8))


@pytest.fixture(scope="module")
def prompts(store: Store) -> Prompts:
    return prompts_of(store)


@pytest.fixture(scope="module")
def score(store: Store) -> RewardFunction:
    databases = Databases.from_store(store)
    return lambda rollout: score_rollout(rollout, databases)


def prompts_of(store: Store) -> Prompts:
    # More of sql_qa: few of its questions ask for an order.
    return {
        name: [
            rollout(name, example.prompt, example.reference)
            for example in maker(store, random.Random(2), 3 * PROMPTS if name == "sql_qa" else PROMPTS)
        ]
        for name, maker in EXAMPLE_MAKERS.items()
    }


def rollout(task: TaskName, prompt: str, reference: Mapping[str, Any] | None) -> Rollout:
    known = None if reference is None else dict(reference)
    return Rollout(prompt_id=prompt or "p", task=task, prompt=prompt, completion="?", reference=known)


def failed(probes: Mapping[str, Probe]) -> set[str]:
    return {name for name, probe in probes.items() if not probe.passed}


def earning(whole: RewardFunction, reward: Callable[[Rollout, float], float]) -> RewardFunction:
    """Make a reward that is another, whatever its components say."""

    def score(asked: Rollout) -> ScoredRollout:
        scored = whole(asked)
        return scored.model_copy(update={"reward": reward(asked, scored.reward)})

    return score


@pytest.mark.parametrize("task", TASK_NAMES)
def test_unbroken_rewards_pass(task: TaskName, prompts: Prompts, score: RewardFunction) -> None:
    probes = run_probes(task, prompts[task], score)
    assert {name: probes[name].detail for name in failed(probes)} == {}


def test_unbroken_rewards_pass_where_a_real_store_knows_less(store: Store, score: RewardFunction) -> None:
    real = prompts_of(replace(store, review_causes=None, customer_hazards=None))
    assert not real["churn"]
    for task in TASK_NAMES:
        if real[task]:
            assert failed(run_probes(task, real[task], score)) == set()


@pytest.mark.parametrize(("task", "probe", "bug"), BY_BUG)
def test_every_probe_is_turned_red_by_a_bug(
    task: TaskName, probe: str, bug: str, prompts: Prompts, score: RewardFunction
) -> None:
    mutant = next(mutant for mutant in MUTANTS if mutant.name == bug)
    with mutant.planted():
        assert probe in failed(run_probes(task, prompts[task], score))


def test_no_probe_is_forgotten(prompts: Prompts, score: RewardFunction) -> None:
    probes = {name for task in TASK_NAMES for name in run_probes(task, prompts[task], score)}
    assert probes == {probe for _, probe, _ in BY_BUG}


@pytest.mark.parametrize("task", TASK_NAMES)
def test_constant_rewards_fail(task: TaskName, prompts: Prompts, score: RewardFunction) -> None:
    everything = failed(run_probes(task, prompts[task], earning(score, lambda *_: 1.0)))
    nothing = failed(run_probes(task, prompts[task], earning(score, lambda *_: 0.0)))
    assert {"nothing_said", "refusal", "prompt_echo", "format_echo", "keyword_stuffing", "cut_off"} <= everything
    assert "reference_answer" not in everything
    assert {"reference_answer", "cut_off", "weighted_sum"} <= nothing
    assert "nothing_said" not in nothing


def test_what_meets_its_bound_passes(prompts: Prompts, score: RewardFunction) -> None:
    def at_bounds(asked: Rollout, reward: float) -> float:
        return FLOOR if reward == 1 else CEILING

    probes = run_probes("push", prompts["push"], earning(score, at_bounds))
    met = {"reference_answer", "nothing_said", "refusal", "prompt_echo", "format_echo", "keyword_stuffing"}
    assert not met & failed(probes)
    assert probes["refusal"].detail.endswith(f"earns 0.150 at worst on {PROMPTS} prompts, must be 0.15 or less")


def test_the_worst_prompt_counts_and_is_reported(prompts: Prompts, score: RewardFunction) -> None:
    last = prompts["push"][-1]

    def kind_to_silence(asked: Rollout, reward: float) -> float:
        return 0.625 if asked.prompt == last.prompt and not asked.completion else reward

    probe = run_probes("push", prompts["push"], earning(score, kind_to_silence))["nothing_said"]
    assert not probe.passed
    assert probe.detail == f"nothing: earns 0.625 at worst on {PROMPTS} prompts, must be 0.15 or less"


def test_what_is_no_number_fails_wherever_it_comes_up(prompts: Prompts, score: RewardFunction) -> None:
    broken = earning(score, lambda asked, reward: reward if asked.completion else float("nan"))
    assert failed(run_probes("sentiment", prompts["sentiment"], broken)) == {
        "nothing_said",
        "weighted_sum",
        "repeatable",
    }


def test_details_tell_nothing_of_prompts_and_answers(prompts: Prompts, score: RewardFunction) -> None:
    secret = "Maria da Silva, 529.982.247-25"
    named = [
        one.model_copy(
            update={"prompt": f"{one.prompt}\n{secret}", "reference": {**(one.reference or {}), "x": secret}}
        )
        for one in prompts["insights"]
    ]
    for broken in (score, earning(score, lambda *_: 1.0)):
        assert "Maria" not in str(run_probes("insights", named, broken))


def test_each_prompt_is_probed_once(prompts: Prompts, score: RewardFunction) -> None:
    asked: list[str] = []

    def counted(one: Rollout) -> ScoredRollout:
        asked.append(one.completion)
        return score(one)

    run_probes("push", prompts["push"][:2], counted)
    once = len(asked)
    run_probes("push", [*prompts["push"][:2], *prompts["push"][:2]], counted)
    assert len(asked) == 2 * once


@pytest.mark.parametrize("task", TASK_NAMES)
def test_prompts_whose_reference_says_nothing_prove_nothing(task: TaskName, score: RewardFunction) -> None:
    unknown = dict.fromkeys(REFERENCES[task].model_fields)
    for blind in (rollout(task, "p", None), rollout(task, "p", unknown)):
        assert failed(run_probes(task, [blind], score)) == {"reference_answer"}
    assert failed(run_probes(task, [], score)) == {"reference_answer"}


def test_references_that_contradict_themselves_are_passed_over(prompts: Prompts, score: RewardFunction) -> None:
    odd = rollout("sentiment", "odd", {"polarity": "positive", "score": 1})
    assert failed(run_probes("sentiment", [*prompts["sentiment"], odd], score)) == set()


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM orders WHERE order_status = 'delivered';",
        "SELECT COUNT(*) FROM orders WHERE order_status = 'delivered' -- entregues",
        "WITH d AS (SELECT order_id FROM orders WHERE order_status = 'delivered') SELECT COUNT(*) FROM d",
    ],
)
def test_queries_may_end_and_begin_in_any_way(sql: str, score: RewardFunction) -> None:
    assert failed(run_probes("sql_qa", [rollout("sql_qa", "Quantos?", {"sql": sql})], score)) == set()


TEXT: Final = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40) | st.sampled_from(
    ["\x1b[31m", "[bold]", "'", '"', "\\", "99999999999999999999", "%", "R$", "de", "{}", "\n", ": ", "x" * 500]
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(product=TEXT, offer=TEXT, facts=st.lists(TEXT.map(lambda text: f"{text}: {text}") | TEXT, max_size=5))
def test_no_reference_makes_probes_raise(product: str, offer: str, facts: list[str], score: RewardFunction) -> None:
    for task, reference in {
        "push": {"product": product, "offer": offer},
        "insights": {"facts": [*facts, 1, 2.5]},
    }.items():
        probes = run_probes(task, [rollout(task, f"{product}\n{offer}", reference)], score)  # type: ignore[arg-type]
        assert probes["reference_answer"].detail


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(complaint=TEXT, risk=st.floats(0, 1), known=st.sets(st.sampled_from(["main_complaint", "churn_risk"])))
def test_no_complaint_makes_probes_raise(complaint: str, risk: float, known: set[str], score: RewardFunction) -> None:
    values = {"sentiment": "negative", "sentiment_score": 1, "main_complaint": complaint, "churn_risk": risk}
    fields = {name: value for name, value in values.items() if name in known or name.startswith("sentiment")}
    reference = {"rating": 1, "fields": fields}
    assert run_probes("extraction", [rollout("extraction", "p", reference)], score)["wrong_type"].passed
