"""The model card says what was recorded, in the form that Hugging Face reads, and nothing that is not known."""

import re
from dataclasses import asdict, replace
from typing import Any

import pytest

from tasks.evaluate.report.model_card import CardFacts, model_card
from tasks.policy.merge import MergeCheck
from tests.summaries import DATASET_SUMMARY
from tests.tasks.evaluate.small_comparison import laddered


def block(verdict: str = "better", difference: float = 0.125) -> dict[str, Any]:
    return {
        "mean_tuned": 0.5 + difference,
        "verdict": verdict,
    }


DECISION: dict[str, Any] = {
    "model": "tucano2-commerce",
    "version": "3",
    "alias": "champion",
    "verdict": "promote",
    "reasons": ["overall: better by 0.125 (0.063 to 0.188)"],
    "version_before": "2",
    "forced": None,
}
CHECK = MergeCheck(
    prompts=20,
    tokens=480,
    tokens_same_as_written=478,
    merged_difference=2e-6,
    written_difference=8e-3,
    dtype="bfloat16",
)
DATA_CARD = """# Tucano2-Commerce prompts

## Sources and licences

| source | rows | licence |
| --- | --- | --- |
| olist | 155 | CC BY-NC-SA 4.0: not for commercial use |

## Personal data replaced

None was found.
"""
FACTS = CardFacts(
    decision=DECISION,
    report={"overall": block(), "tasks": {"push": block(), "churn": block("inconclusive", 0.01)}, "gate": {}},
    report_text="# Evaluation\n\nIt is better.\n",
    training={
        "seed": 42,
        "algorithm": "grpo",
        "steps": 120,
        "chosen_step": 80,
        "audit": {
            "spec": "grounded",
            "reward_version": "v" * 64,
            "sheet_sha256": "s" * 64,
            "raters": {"ana-1": "human"},
        },
    },
    dataset=DATASET_SUMMARY,
    data_card=DATA_CARD,
    base_model="Polygl0t/Tucano2-qwen-0.5B-Instruct",
    base_commit=None,
    load_in_4bit=False,
    merged=CHECK,
    served_is_tested=True,
    identities={"policy": "3" * 64, "evaluation": "4" * 64, "base": "2" * 64, "dataset": "1" * 64},
)


def test_a_base_of_a_hub_is_linked_at_the_commit_that_was_trained_from() -> None:
    page = "https://huggingface.co/Polygl0t/Tucano2-qwen-0.5B-Instruct"
    assert f"]({page})" in model_card(FACTS)
    card = model_card(replace(FACTS, base_commit="c0ffee" * 6))
    assert f"]({page}/tree/{'c0ffee' * 6}) at `c0ffeec0ffee`" in card


def front_matter(text: str) -> dict[str, Any]:
    """Read the card as the hub does."""
    from huggingface_hub import ModelCard

    card: Any = ModelCard(text)
    return {**card.data.to_dict(), "eval_results": card.data.eval_results}


def section(text: str, heading: str) -> str:
    assert f"\n## {heading}\n" in text
    return text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def test_the_front_matter_is_what_the_hub_reads() -> None:
    data = front_matter(model_card(FACTS))
    assert data["base_model"] == "Polygl0t/Tucano2-qwen-0.5B-Instruct"
    assert (data["language"], data["library_name"], data["pipeline_tag"]) == ("pt", "transformers", "text-generation")
    assert {"lora", "grpo", "push", "churn"} <= set(data["tags"])
    results = {result.dataset_config: result for result in data["eval_results"]}
    assert set(results) == {"overall", "push", "churn"}
    assert (results["push"].metric_value, results["push"].dataset_split) == (0.625, "test")
    assert results["push"].dataset_revision == "1" * 64


def test_no_licence_and_no_base_are_made_up() -> None:
    data = front_matter(model_card(replace(FACTS, base_model=None)))
    assert "license" not in data
    assert "base_model" not in data
    assert "a base model that has no name on a hub (artifact `222222222222`)" in model_card(
        replace(FACTS, base_model=None)
    )


def test_the_terms_of_the_data_are_repeated() -> None:
    data = section(model_card(FACTS), "Data")
    assert "CC BY-NC-SA 4.0: not for commercial use" in data
    assert "None was found" not in data
    assert "119 train, 12 validation, 24 test" in data


def test_every_identity_is_there_in_full() -> None:
    text = section(model_card(FACTS), "Identities")
    assert all(f"| {part} | {sha256} |" in text for part, sha256 in FACTS.identities.items())
    training = section(model_card(FACTS), "Training")
    assert "v" * 64 in training
    assert "s" * 64 in training
    assert "step 80" in training


def test_the_evaluations_own_words_are_taken_one_heading_lower() -> None:
    report = "# Evaluation\n\n**It is better.**\n\n## Base against tuned\n\n| a |\n\n####### no heading\n#tag\n"
    text = model_card(replace(FACTS, report_text=report))
    own = section(text, "Evaluation")
    assert "**It is better.**" in own
    assert "\n### Base against tuned\n" in own
    assert "\n####### no heading\n#tag\n" in own
    assert "### How it was evaluated" in own
    assert text.count("\n# ") == 1


def test_undecided_and_worse_tasks_are_named() -> None:
    tasks = {"push": block("worse", -0.1), "churn": block("inconclusive", 0.01), "sql_qa": block("non-inferior")}
    text = section(model_card(replace(FACTS, report={"overall": block(), "tasks": tasks, "gate": {}})), "Limits")
    assert "worse than its base in: push." in text
    assert "Not decided, for too few prompts or too small a difference: churn." in text
    assert "sql_qa" not in text


def test_a_forced_promotion_says_so_and_commands_no_markup() -> None:
    decision = {**DECISION, "verdict": "hold", "forced": "campanha de *natal* [aqui](http://x) <b>"}
    text = section(model_card(replace(FACTS, decision=decision)), "Promotion")
    assert "said **hold**" in text
    assert "against the gate's word" in text
    assert r"campanha de \*natal\* \[aqui\](http://x) \<b\>" in text


def test_a_held_version_is_not_to_be_served() -> None:
    text = model_card(replace(FACTS, decision={**DECISION, "verdict": "hold"}, merged=None))
    assert "This version is held: it is not `champion`." in section(text, "Promotion")
    assert "It is not to be served" in section(text, "How to serve it")
    assert "against the gate's word" not in text


def test_the_merged_model_is_said_to_be_checked_as_it_was() -> None:
    text = section(model_card(FACTS), "How to serve it")
    assert "all 480 greedy tokens are the same in float32" in text
    assert "478 of 480 are the same" in text
    assert "bfloat16" in text
    assert "These very weights answered the test" in text


def test_adapters_of_their_own_are_served_beside_the_base() -> None:
    training = {**FACTS.training, "chosen_step": None, "chosen_steps": {"push": 40, "churn": 20}}
    text = model_card(replace(FACTS, merged=None, training=training))
    assert "`adapters/TASK`" in section(text, "How to serve it")
    assert "push at step 40, churn at step 20" in section(text, "Training")
    assert front_matter(text)["library_name"] == "peft"


@pytest.mark.parametrize(
    ("tested", "merged", "named"), [(False, CHECK, True), (True, CHECK, False), (False, None, False)]
)
def test_merged_weights_are_not_said_to_be_what_was_evaluated_where_base_and_adapter_answered(
    tested: bool, merged: MergeCheck | None, named: bool
) -> None:
    text = model_card(replace(FACTS, served_is_tested=tested, merged=merged))
    assert ("the merged weights did not" in section(text, "Limits")) == named
    assert ("These very weights" in section(text, "How to serve it")) == tested


@pytest.mark.parametrize("four_bit", [False, True])
def test_the_base_that_it_was_trained_beside_is_said(four_bit: bool) -> None:
    text = section(model_card(replace(FACTS, load_in_4bit=four_bit)), "Training")
    assert ("beside a base of 4-bit weights" in text) == four_bit


@pytest.mark.parametrize(("kind", "named"), [("model", True), ("rubric", True), ("human", False)])
def test_rewards_that_no_person_scored_are_a_limit(kind: str, named: bool) -> None:
    audit = {**FACTS.training["audit"], "raters": {"someone-1": kind}}
    text = section(model_card(replace(FACTS, training={**FACTS.training, "audit": audit})), "Limits")
    assert ("no person gave" in text) == named


@pytest.mark.parametrize(
    ("scrubbed", "reported"), [({"CPF": 3, "EMAIL": 0}, "`[CPF]` 3."), ({"CPF": 0}, "None was found")]
)
def test_personal_data_is_reported_with_its_counts(scrubbed: dict[str, int], reported: str) -> None:
    dataset = DATASET_SUMMARY.model_copy(update={"scrubbed": scrubbed})
    text = section(model_card(replace(FACTS, dataset=dataset)), "Personal data (LGPD)")
    assert reported in text
    assert "EMAIL" not in text


def test_a_gain_is_shared_with_what_costs_less_in_one_sentence() -> None:
    def card(gain: dict[str, Any]) -> str:
        return model_card(replace(FACTS, report={**FACTS.report, "gain": gain}))

    gains = {scope: asdict(found) for scope, found in laddered()[1].gains.items()}
    parts = r"Of its gain of \+0\.\d+ over the base, .*: form 33 % \(.*\); content 67 %"
    assert re.search(parts, card(gains))
    assert "; left over `sft` 50 %" in card({"overall": {**gains["overall"], "parts": {}}})
    assert "No gain over the base is shown overall" in card({"overall": {**gains["overall"], "shown": False}})
    assert "over the base, with" not in card({})
