"""Model card: the README.md of a promotion, in Hugging Face's format."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from schemas.tables.dataset_summary import DatasetSummary
from tasks.commerce.registry import TASKS
from tasks.evaluate.gain import OVERALL, WithInterval
from tasks.evaluate.report.markdown import bullets, escaped, table
from tasks.evaluate.report.sentences import share
from tasks.policy.adapters import ADAPTER_FOLDER, TASK_ADAPTERS_FOLDER
from tasks.policy.merge import MERGED_FOLDER, MergeCheck
from tasks.report.number_format import signed

LANGUAGE: Final = "pt"
ALWAYS_LIMITED: Final = (
    (
        "The figures are rewards, which are rules: a higher one is no promise that shoppers or analysts are better "
        "served. They hold for prompts like those of the test split, and for one decoding."
    ),
    (
        "It can state figures, products or reasons that were not in its prompt. Check JSON by its schema, SQL on "
        "read-only copies, and texts by a person before a shopper sees them."
    ),
    (
        "It has the misspellings, regions and biases of the sources above in it, and how well it serves each group of "
        "people was not measured."
    ),
)
"""Limits of every version."""
_HEADING: Final = re.compile(r"^(?=#{1,5} )", flags=re.MULTILINE)


@dataclass(frozen=True)
class CardFacts:
    """Recorded facts of a model version."""

    decision: Mapping[str, Any]
    """The promotion's decision.json."""
    report: Mapping[str, Any]
    """The evaluation's report.json."""
    report_text: str
    """The evaluation's report.md."""
    training: Mapping[str, Any]
    """The policy's training.json."""
    dataset: DatasetSummary
    """The dataset's summary."""
    data_card: str
    """The dataset's README.md."""
    base_model: str | None
    """Hub name of the model that it was trained from."""
    base_commit: str | None
    """Commit of that model's repository; None for a local folder."""
    load_in_4bit: bool
    """Whether it was trained beside a 4-bit base."""
    merged: MergeCheck | None
    """Comparison of the merged model with base and adapter; None if each task has its own adapter, or if the version is
    held."""
    served_is_tested: bool
    """Whether the merged model itself answered the test, and not base and adapter."""
    identities: Mapping[str, str]
    """The sha256 of each artifact that it consists of, by its part."""

    @property
    def promoted(self) -> bool:
        """Return whether this version became the champion, by the gate's verdict or a person's."""
        return self.decision["verdict"] == "promote" or self.decision["forced"] is not None


def model_card(facts: CardFacts) -> str:
    """Describe a version of the model: its use, its training and test, and its prohibited uses.

    Args:
        facts: Records of the stages; the same facts give the same text.
    """
    sections = [
        f"---\n{_front_matter(facts)}\n---",
        f"# {facts.decision['model']}, version {facts.decision['version']}",
        _introduction(facts),
        f"## Promotion\n\n{_promotion(facts)}",
        f"## Intended use\n\n{_intended_use(facts)}",
        f"## How to serve it\n\n{_serving(facts)}",
        f"## Training\n\n{_training(facts)}",
        f"## Data\n\n{_data(facts)}",
        _evaluation(facts),
        f"## Limits\n\n{bullets(_limits(facts))}",
        f"## Personal data (LGPD)\n\n{_personal_data(facts)}",
        f"## Identities\n\n{table(('artifact', 'sha256'), facts.identities.items(), words=2)}",
    ]
    return "\n\n".join(sections) + "\n"


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
        for scope, block in _blocks(facts.report)
    ]
    algorithm = str(facts.training.get("algorithm", "grpo"))
    data = ModelCardData(
        language=LANGUAGE,
        base_model=facts.base_model,
        library_name="transformers" if facts.merged else "peft",
        pipeline_tag="text-generation",
        tags=["e-commerce", "brazilian-portuguese", "lora", algorithm, *facts.report["tasks"]],
        metrics=["reward"],
        model_name=facts.decision["model"],
        eval_results=results,
    )
    return str(data.to_yaml())


def _introduction(facts: CardFacts) -> str:
    base = _named(facts.base_model, facts.base_commit) if facts.base_model else _unnamed(facts)
    return (
        f"A compact Portuguese model for Brazilian e-commerce: {base}, tuned by "
        f"{str(facts.training.get('algorithm', 'grpo')).upper()} with LoRA on rewards that are rules. It was compared "
        "with its base on test prompts that no training and no choice of a checkpoint had read."
    )


def _named(name: str, commit: str | None) -> str:
    page = f"https://huggingface.co/{name}"
    return f"[{name}]({page}/tree/{commit}) at `{commit[:12]}`" if commit else f"[{name}]({page})"


def _unnamed(facts: CardFacts) -> str:
    return f"a base model that has no name on a hub (artifact `{facts.identities['base'][:12]}`)"


def _promotion(facts: CardFacts) -> str:
    decision = facts.decision
    word = f"The promotion gate said **{decision['verdict']}**."
    if decision["forced"] is not None:
        word += f" It was promoted **against the gate's word**, for this reason: {escaped(decision['forced'])}"
    elif not facts.promoted:
        word += f" This version is held: it is not `{decision['alias']}`."
    before = decision["version_before"]
    before = (
        f"`{decision['alias']}` was then version {before}." if before else f"There was no `{decision['alias']}` yet."
    )
    return "\n\n".join([f"{word} {before}", bullets(decision["reasons"]), *_shares_of_gain(facts.report)])


def _shares_of_gain(report: Mapping[str, Any]) -> list[str]:
    """Return a sentence on what of the gain a cheaper way has; none where no rung was evaluated."""
    found = report.get("gain", {}).get(OVERALL)
    if found is None:
        return []
    if not found["shown"]:
        return ["No gain over the base is shown overall, so that there is none to share with a cheaper way."]
    named = found["parts"] or {f"left over `{rung}`": left for rung, left in found["left"].items()}
    shares = "; ".join(f"{name} {share(WithInterval(**each))}" for name, each in named.items())
    return [f"Of its gain of {signed(found['gain'])} over the base, with 95 % intervals: {shares}."]


def _intended_use(facts: CardFacts) -> str:
    tasks = [(task, TASKS[task].description) for task in facts.report["tasks"]]
    return (
        "Prompts of the form it was trained on, in Brazilian Portuguese, inside a shop's own systems:\n\n"
        f"{table(('task', 'what it is asked'), tasks, words=2)}\n\n"
        "Not intended: other tasks or languages; open conversation; medical, legal or financial advice; running its "
        "SQL with rights to write, or on tables whose every row the asker may not see; sending a push that nobody read."
    )


def _serving(facts: CardFacts) -> str:
    if not facts.promoted:
        return "It is not to be served: the gate holds it."
    if facts.merged is None:
        return (
            f"Each task has an adapter of its own, so there is no single merged model. Serve the base "
            f"(`{facts.identities['base'][:12]}`) with the policy's `{TASK_ADAPTERS_FOLDER}/TASK` "
            f"(`{facts.identities['policy'][:12]}`) for the task at hand, as vLLM and PEFT do."
        )
    check = facts.merged
    return (
        f"`{MERGED_FOLDER}/` beside this file is the whole model with its tokenizer, in {check.dtype}; "
        f'`AutoModelForCausalLM.from_pretrained("{MERGED_FOLDER}")` reads it. It is the base with the policy\'s '
        f"`{ADAPTER_FOLDER}/` merged in, checked against the two on {check.prompts} validation prompts: all "
        f"{check.tokens} greedy tokens are the same in float32, with logits that differ by "
        f"{check.merged_difference:.1e} standard deviations at most. As written, {check.tokens_same_as_written} of "
        f"{check.tokens} are the same, and logits differ by {check.written_difference:.1e} (root mean square)."
        f"{' These very weights answered the test below.' if facts.served_is_tested else ''}"
    )


def _training(facts: CardFacts) -> str:
    training, audit = facts.training, facts.training["audit"]
    chosen = training["chosen_step"]
    steps = (
        f"step {chosen}"
        if chosen is not None
        else ", ".join(f"{task} at step {step}" for task, step in training["chosen_steps"].items())
    )
    beside = " beside a base of 4-bit weights" if facts.load_in_4bit else ""
    raters = ", ".join(f"{name} ({kind})" for name, kind in audit["raters"].items()) or "nobody"
    return (
        f"Seed {training['seed']}, {training['steps']} steps{beside}; of the validated checkpoints the best was taken "
        f"({steps}), by the validation split. Rewards: `{audit['spec']}`, version `{audit['reward_version']}`, audited "
        f"before training against the scores of {raters} (sheet `{audit['sheet_sha256']}`)."
    )


def _data(facts: CardFacts) -> str:
    sizes = ", ".join(f"{rows} {split}" for split, rows in facts.dataset.rows.items())
    return (
        f"{sizes} prompts; dataset artifact `{facts.identities['dataset']}`, whose own card says what was dropped and "
        f"why. No licence is stated for this model: what it may be used for is decided by the terms of its base and of "
        f"these sources.\n\n{_sources(facts.data_card)}"
    )


def _sources(data_card: str) -> str:
    """Return the data card's section on sources and licences."""
    section = data_card.partition("## Sources and licences\n")[2].partition("\n## ")[0].strip()
    return section or "The data card names no sources."


def _evaluation(facts: CardFacts) -> str:
    how = (
        "Base and tuned model answered the test split with the same decoding and the same seeds, and were scored by "
        "the audited rewards, prompt by prompt. Checkpoints were chosen by the validation split, never by this one. "
        "The interval is a bootstrap of the paired mean difference. `p gain (Holm)` is a sign-flip permutation test "
        "that the mean rose, corrected over the tasks by Holm; `p harm` is the same test that it fell, uncorrected."
    )
    return f"{_HEADING.sub('#', facts.report_text.strip())}\n\n### How it was evaluated\n\n{how}"


def _limits(facts: CardFacts) -> list[str]:
    blocks = dict(_blocks(facts.report))
    limits = [*ALWAYS_LIMITED]
    if lost := [scope for scope, block in blocks.items() if block["verdict"] == "worse"]:
        limits.append(f"It is worse than its base in: {', '.join(lost)}.")
    useless = ("no better", "below floor", "collapsed", "not learned")
    if kept_out := [scope for scope, block in blocks.items() if block["verdict"] in useless]:
        limits.append(f"Of no use, or no better than an answer that takes no model: {', '.join(kept_out)}.")
    if unsure := [scope for scope, block in blocks.items() if block["verdict"] == "inconclusive"]:
        limits.append(f"Not decided, for too few prompts or too small a difference: {', '.join(unsure)}.")
    if facts.merged is not None and not facts.served_is_tested:
        limits.append(
            "Base and adapter answered the test, and the merged weights did not: what is served is close to what was "
            "evaluated, and not the same."
        )
    if "human" not in facts.training["audit"]["raters"].values():
        limits.append("The rewards were audited against scores that no person gave.")
    return limits


def _personal_data(facts: CardFacts) -> str:
    replaced = {kind: count for kind, count in facts.dataset.scrubbed.items() if count}
    counts = ", ".join(f"`[{kind}]` {count}" for kind, count in replaced.items())
    found = f"Replaced in the prompts before anything was written: {counts}." if replaced else "None was found in them."
    return (
        "Personal data is replaced by placeholders such as `[CPF]` before training, validation and test prompts are "
        f"written. {found} Patterns find identifiers, not every name in free text, so treat the weights as if they may "
        "hold personal data: restrict who can read them, as the shop does with its reviews.\n\n"
        "What it says of a customer, such as a churn risk, is profiling. Use it with a legal basis (Lei 13.709/2018, "
        "Art. 7), and let a person review what is decided by it about a customer (Art. 20). A request to delete data "
        "(Art. 18) reaches the weights only by retraining without it: remove the rows, run the pipeline, and replace "
        "this version."
    )


def _blocks(report: Mapping[str, Any]) -> Iterable[tuple[str, Mapping[str, Any]]]:
    return [("overall", report["overall"]), *report["tasks"].items()]
