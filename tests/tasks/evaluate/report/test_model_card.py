"""The model card says what was recorded, in the form that Hugging Face reads, and nothing that is not known."""

from dataclasses import replace
from typing import Any

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
