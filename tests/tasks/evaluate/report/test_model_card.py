"""The model card says what was recorded, in the form that Hugging Face reads, and nothing that is not known."""

from dataclasses import replace
from typing import Any

import pytest

from tasks.evaluate.report.model_card import CardFacts, model_card
from tasks.policy.merge import MergeCheck
from tests.summaries import DATASET_SUMMARY


def block(verdict: str = "better", difference: float = 0.125) -> dict[str, Any]:
    return {"mean_tuned": 0.5 + difference, "verdict": verdict}


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
    # No licence and no base are made up.
    assert "proves the machinery" in model_card(replace(FACTS, base_languages=["en"]))
    assert "proves the machinery" not in model_card(replace(FACTS, base_languages=["en", "pt"]))
    nameless = model_card(replace(FACTS, base_model=None))
    assert front_matter(nameless).keys().isdisjoint({"license", "base_model"})
    assert "a base model that has no name on a hub (artifact `222222222222`)" in nameless


def test_the_evaluations_own_words_are_taken_one_heading_lower() -> None:
    report = "# Evaluation\n\n**It is better.**\n\n## Base against tuned\n\n| a |\n\n####### no heading\n#tag\n"
    text = model_card(replace(FACTS, report_text=report))
    own = section(text, "Evaluation")
    assert "**It is better.**" in own
    assert "\n### Base against tuned\n" in own
    assert "\n####### no heading\n#tag\n" in own
    assert "### How it was evaluated" in own
    assert "no person gave" not in section(text, "Limits")
    audit = {**FACTS.training["audit"], "raters": {"someone-1": "model"}}
    unrated = model_card(replace(FACTS, training={**FACTS.training, "audit": audit}))
    assert "no person gave" in section(unrated, "Limits")
    assert text.count("\n# ") == 1


def test_a_forced_promotion_says_so_and_commands_no_markup() -> None:
    decision = {**DECISION, "verdict": "hold", "forced": "campanha de *natal* [aqui](http://x) <b>"}
    text = section(model_card(replace(FACTS, decision=decision)), "Promotion")
    assert "said **hold**" in text
    assert "against the gate's word" in text
    assert r"campanha de \*natal\* \[aqui\](http://x) \<b\>" in text


@pytest.mark.parametrize(
    ("tested", "merged", "named"), [(False, CHECK, True), (True, CHECK, False), (False, None, False)]
)
def test_merged_weights_are_not_said_to_be_what_was_evaluated_where_base_and_adapter_answered(
    tested: bool, merged: MergeCheck | None, named: bool
) -> None:
    text = model_card(replace(FACTS, served_is_tested=tested, merged=merged))
    assert ("the merged weights did not" in section(text, "Limits")) == named
    assert ("These very weights" in section(text, "How to serve it")) == tested
