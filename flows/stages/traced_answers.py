"""Answers that MLflow shows as traces: a sample of what the page of completions holds."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tasks.evaluate.completions.rows import SHARES
from tasks.lineage.mlflow.traces import TracedAnswer

MOST_A_TASK: Final = 5
"""Prompts of each task whose answers are traced: those with the first ids, which are digests, so a random sample."""
MODELS: Final = ("base", "tuned")


def traced_answers(rows: Mapping[str, Any]) -> Iterator[TracedAnswer]:
    """Yield base and tuned's first answers to the sampled prompts, prompt by prompt.

    Args:
        rows: The document of the page of completions.
    """
    prompts, answers, texts = rows["prompts"], rows["answers"], rows["texts"]["text"]
    first: dict[tuple[int, str], int] = {}
    for row, (prompt, model) in enumerate(zip(answers["prompt"], answers["model"], strict=True)):
        first.setdefault((prompt, rows["models"][model]), row)
    of_task: Counter[int] = Counter()
    for prompt in sorted(set(answers["prompt"]), key=lambda place: str(prompts["id"][place])):
        number = prompts["task"][prompt]
        of_task[number] += 1
        if of_task[number] > MOST_A_TASK:
            continue
        task, reference = rows["tasks"][number], prompts["reference"][prompt]
        for model in MODELS:
            row = first[prompt, model]
            parts = zip(rows["components"][task], answers["parts"][row], strict=True)
            truth = answers["truth"][row]
            scores = {"reward": answers["reward"][row]}
            scores |= {f"reward.{name}": part for name, part in parts if part is not None}
            scores |= {} if truth is None else {"ground truth": truth}
            yield TracedAnswer(
                model,
                task,
                prompts["id"][prompt],
                texts[prompts["text"][prompt]],
                texts[answers["text"][row]],
                None if reference is None else texts[reference],
                {name: score / SHARES for name, score in scores.items()},
            )
