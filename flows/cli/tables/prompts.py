"""Tables of `tucano synthesize` and `tucano curate`: prompts by task."""

from flows.runtime.console import print_table, show, warn
from schemas.tables.dataset_summary import DatasetSummary
from schemas.tables.prompts import SPLITS
from schemas.tables.prompts_summary import PromptsSummary


def print_synthesis(summary: PromptsSummary) -> None:
    """Print how many prompts each task has, and what is to be known of it."""
    counts = {"made": summary.made, "paraphrases": summary.paraphrases.made if summary.paraphrases else {}}
    if summary.served is not None:
        counts["from logs"] = summary.served
    if summary.source == "files":
        sources = dict.fromkeys(source for by_source in summary.origins.values() for source in by_source)
        counts = {source: {task: by.get(source, 0) for task, by in summary.origins.items()} for source in sources}
        counts["no reference"] = summary.without_reference
    print_table(
        f"Prompts by task, from {summary.store.orders} {'own' if summary.source == 'files' else summary.source} orders",
        ("task", "asked", *counts),
        [
            (task, str(asked), *(str(by_task.get(task, 0)) for by_task in counts.values()))
            for task, asked in summary.asked.items()
            if asked
        ],
    )
    for warning in summary.warnings:
        warn(warning)


def print_curation(summary: DatasetSummary) -> None:
    """Print the splits by task, what was replaced, and why rows were dropped."""
    print_table(
        f"{sum(summary.rows.values())} prompts kept, {summary.quarantined} in quarantine",
        ("task", *SPLITS),
        [
            (task, *(str(sizes[split]) for split in SPLITS))
            for task, sizes in summary.tasks.items()
            if any(sizes.values())
        ],
    )
    for task, splits in summary.references_by_people.items():
        show(f"{task}: people gave references of {splits['test']} test and {splits['validation']} validation prompts")
    for warning in summary.warnings:
        warn(warning)
    dropped = [
        (reason, str(sum(tasks.values())), "  ".join(f"{task} {count}" for task, count in tasks.items()))
        for reason, tasks in summary.reasons.items()
        if tasks
    ]
    if dropped:
        print_table("Quarantine", ("reason", "rows", "by task"), dropped, texts=("by task",))
    replaced = [(f"[{kind}]", str(count)) for kind, count in summary.scrubbed.items() if count]
    if replaced:
        print_table("Personal data replaced", ("placeholder", "times"), replaced)
