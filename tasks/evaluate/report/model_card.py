"""Model card: the README.md of a promotion, in Hugging Face's format."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from schemas.tables.summaries import DatasetSummary
from tasks.commerce.registry import TASKS
from tasks.evaluate.report.page import markdown_template
from tasks.policy.load import ADAPTER_FOLDER, TASK_ADAPTERS_FOLDER
from tasks.policy.merge import MERGED_FOLDER, MergeCheck

DATA_FILES: Final = ("tasks/evaluate/report/model_card.md.j2",)
LANGUAGE: Final = "pt"
LIMITS: Final[Mapping[str, tuple[str, ...]]] = {
    "It is worse than its base in": ("worse",),
    "Of no use, or no better than a baseline": ("no better", "below floor", "collapsed", "not learned"),
    "Not decided, for too few prompts or too small a difference": ("inconclusive",),
}
"""Limits by the verdicts of the scopes that have them."""
_HEADING: Final = re.compile(r"^(?=#{1,5} )", flags=re.MULTILINE)


@dataclass(frozen=True)
class CardFacts:
    """Recorded facts of a model version."""

    decision: Mapping[str, Any]
    report: Mapping[str, Any]
    report_text: str
    training: Mapping[str, Any]
    dataset: DatasetSummary
    data_card: str
    base_model: str | None
    base_commit: str | None
    """Commit of that model's repository; None for a local folder."""
    load_in_4bit: bool
    merged: MergeCheck | None
    """Comparison of the merged model with base and adapter; None if each task has its own adapter, or if the version is
    held."""
    served_is_tested: bool
    """Whether the merged model itself answered the test, and not base and adapter."""
    identities: Mapping[str, str]
    base_languages: Sequence[str] = ()
    """Languages of the base, where its config.json names them."""

    @property
    def promoted(self) -> bool:
        """Return whether this version became the champion, by the gate's verdict or a person's."""
        return self.decision["verdict"] == "promote" or self.decision["forced"] is not None


def model_card(facts: CardFacts) -> str:
    """Describe a version of the model: its use, its training and test, and its prohibited uses."""
    training = facts.training
    by_task = (f"{task} at step {step}" for task, step in training.get("chosen_steps", {}).items())
    sources = facts.data_card.partition("## Sources and licences\n")[2].partition("\n## ")[0].strip()
    text = markdown_template(Path(__file__).with_name("model_card.md.j2")).render(
        facts=facts,
        decision=facts.decision,
        audit=training["audit"],
        algorithm=_algorithm(facts),
        front_matter=_front_matter(facts),
        tasks=TASKS,
        task_adapters=TASK_ADAPTERS_FOLDER,
        merged_folder=MERGED_FOLDER,
        adapter=ADAPTER_FOLDER,
        chosen=f"step {training['chosen_step']}" if training["chosen_step"] is not None else ", ".join(by_task),
        sources=sources or "The data card names no sources.",
        report_text=_HEADING.sub("#", facts.report_text.strip()),
        limited={
            what: [scope for scope, block in _blocks(facts.report).items() if block["verdict"] in verdicts]
            for what, verdicts in LIMITS.items()
        },
    )
    return re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"


def _algorithm(facts: CardFacts) -> str:
    return str(facts.training.get("algorithm", "grpo"))


def _front_matter(facts: CardFacts) -> str:
    from huggingface_hub import EvalResult, ModelCardData

    results = [
        EvalResult(
            task_type="text-generation",
            dataset_type="tucano2-commerce-prompts",
            dataset_name="Tucano2-Commerce prompts",
            dataset_config=scope,
            dataset_split="test",
            dataset_revision=facts.identities["dataset"],
            metric_type="reward",
            metric_name=f"mean reward, {facts.training['audit']['spec']}",
            metric_value=round(block["mean_tuned"], 4),
        )
        for scope, block in _blocks(facts.report).items()
    ]
    data = ModelCardData(
        language=LANGUAGE,
        base_model=facts.base_model,
        library_name="transformers" if facts.merged else "peft",
        pipeline_tag="text-generation",
        tags=["e-commerce", "brazilian-portuguese", "lora", _algorithm(facts), *facts.report["tasks"]],
        metrics=["reward"],
        model_name=facts.decision["model"],
        eval_results=results,
    )
    return str(data.to_yaml())


def _blocks(report: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    return {"overall": report["overall"], **report["tasks"]}
