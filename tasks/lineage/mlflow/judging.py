"""Judgements of answers in MLflow: a run below a stage's, with a trace for each and the judge's feedback on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tasks.lineage.mlflow.client import in_one_sentence, milliseconds_now, open_client
from tasks.lineage.mlflow.traces import Trace, write_traces

PREFERENCE: Final = "preference"
"""Feedback of every judgement: the name of the preferred answer, or why there is none."""


@dataclass(frozen=True)
class Judgement:
    """Two answers to one prompt, and the judge's reply."""

    prompt_id: str
    """Identity of the prompt."""
    prompt: str
    """The question."""
    answers: Mapping[str, str]
    """Answers by name: hostile texts."""
    feedback: Mapping[str, str | bool]
    """Results by name; `PREFERENCE` is always there. MLflow logs the share of booleans."""
    rationale: str
    """Explanation of the result."""
    expected: str | None = None
    """The answer that people scored higher, if any."""


def record_judgements(
    tracking_uri: str, parent_run: str, name: str, judge: str, judgements: Sequence[Judgement]
) -> str | None:
    """Record judgements in a nested run, with the share of each boolean as its metric, and return its id.

    Args:
        tracking_uri: MLflow's store.
        parent_run: The parent run, such as the evaluate stage's.
        name: The new run's name.
        judge: Name of the judge.
        judgements: Its judgements; without any, nothing is recorded and there is no run.

    Raises:
        InputError: MLflow cannot be used.
    """
    if not judgements:
        return None
    from mlflow.entities import AssessmentSource, Expectation, Feedback, Metric
    from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

    source = AssessmentSource(source_type="LLM_JUDGE", source_id=judge)
    traces = [
        Trace(
            name=name,
            prompt=judgement.prompt,
            answer=str(judgement.feedback[PREFERENCE]),
            outputs=judgement.answers,
            tags={"prompt_id": judgement.prompt_id},
            assessments=[
                *(
                    Feedback(name=of, value=value, rationale=judgement.rationale, source=source)
                    for of, value in judgement.feedback.items()
                ),
                *(
                    Expectation(name=PREFERENCE, value=known, source=source)
                    for known in [judgement.expected]
                    if known is not None
                ),
            ],
        )
        for judgement in judgements
    ]
    flags = sorted({of for each in judgements for of, value in each.feedback.items() if isinstance(value, bool)})
    shares = {of: sum(each.feedback.get(of) is True for each in judgements) / len(judgements) for of in flags}
    with in_one_sentence(tracking_uri):
        client = open_client(tracking_uri)
        experiment = client.get_run(parent_run).info.experiment_id
        tags = {MLFLOW_PARENT_RUN_ID: parent_run, "judge": judge}
        run_id = str(client.create_run(experiment, run_name=name, tags=tags).info.run_id)
        try:
            write_traces(tracking_uri, run_id, traces)
            now = milliseconds_now()
            client.log_batch(run_id, metrics=[Metric(f"{of}/mean", share, now, 0) for of, share in shares.items()])
        except BaseException:
            client.set_terminated(run_id, "FAILED")
            raise
        client.set_terminated(run_id, "FINISHED")
    return run_id
