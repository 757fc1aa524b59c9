"""The model card says what was recorded, in the form that Hugging Face reads, and nothing that is not known."""

from dataclasses import replace
from typing import Any

from tasks.evaluate.report.model_card import CardFacts, model_card
from tasks.policy.merge import MergeCheck
from tests.cases import cases_of
from tests.summaries import DATASET_SUMMARY

CASES = cases_of(__file__)
FACTS = CardFacts(**CASES["FACTS"], dataset=DATASET_SUMMARY, merged=MergeCheck(**CASES["CHECK"]))


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
