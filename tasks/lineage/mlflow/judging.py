"""Judgements recorded by MLflow's evaluation: a trace for each, with the judge's feedback on it.

The judge is asked earlier and elsewhere. MLflow's evaluation calls its scorers from several threads, records their
errors as feedback and continues, and retries on its own: an endpoint's limits and the single sentence of its failure
would be lost. So the scorer here returns known results, and MLflow stores, counts and shows them.
"""

import contextlib
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from schemas.errors import InputError
from tasks.lineage.mlflow.client import in_one_sentence, open_client

# With its ten threads MLflow waits on its own SQLite connections until they time out, and loses traces: 12 of 40.
os.environ.setdefault("MLFLOW_GENAI_EVAL_MAX_WORKERS", "1")

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
    """Run MLflow's evaluation over judgements, in a nested run, and return its id.

    It sets the process's tracking URI, as registering a model does; nothing is sent anywhere else.

    Args:
        tracking_uri: MLflow's store.
        parent_run: The parent run, such as the evaluate stage's.
        name: The new run's name.
        judge: Name of the judge.
        judgements: Its judgements; without any, nothing is recorded and there is no run.

    Raises:
        InputError: MLflow cannot be used, or did not store everything.
    """
    if not judgements:
        return None
    import mlflow
    from mlflow.utils.mlflow_tags import MLFLOW_PARENT_RUN_ID

    with in_one_sentence(tracking_uri):
        client = open_client(tracking_uri)
        experiment = client.get_run(parent_run).info.experiment_id
        tags = {MLFLOW_PARENT_RUN_ID: parent_run, "judge": judge}
        run_id = str(client.create_run(experiment, run_name=name, tags=tags).info.run_id)
        mlflow.set_tracking_uri(tracking_uri)
        # MLflow's output would corrupt the document that a command prints.
        with contextlib.redirect_stdout(io.StringIO()), mlflow.start_run(run_id=run_id):
            result = mlflow.genai.evaluate(data=_as_data(judgements), scorers=[_scorer(judge, judgements)])
    kept = _kept(result.result_df)
    if kept < len(judgements):
        raise InputError(
            f"MLflow kept {kept} of {len(judgements)} judgements; see in its log what it lacks, then run the same "
            "command again: nothing is asked twice"
        )
    return run_id


def _as_data(judgements: Sequence[Judgement]) -> list[dict[str, Any]]:
    return [
        {
            "inputs": {"prompt": judgement.prompt, "number": number},
            "outputs": dict(judgement.answers),
            "tags": {"prompt_id": judgement.prompt_id},
            **({} if judgement.expected is None else {"expectations": {PREFERENCE: judgement.expected}}),
        }
        for number, judgement in enumerate(judgements)
    ]


def _scorer(judge: str, judgements: Sequence[Judgement]) -> Any:
    from mlflow.entities import AssessmentSource, Feedback
    from mlflow.genai.scorers import scorer

    source = AssessmentSource(source_type="LLM_JUDGE", source_id=judge)

    @scorer(name="pairwise_judge")  # type: ignore[untyped-decorator, unused-ignore]
    def pairwise_judge(inputs: dict[str, Any]) -> list[Feedback]:
        judgement = judgements[inputs["number"]]
        return [
            Feedback(name=name, value=value, rationale=judgement.rationale, source=source)
            for name, value in judgement.feedback.items()
        ]

    return pairwise_judge


def _kept(table: Any) -> int:
    """Count the judgements that can be read back, since MLflow silently skips those that it could not write."""
    column = f"{PREFERENCE}/value"
    return 0 if table is None or column not in table else int(table[column].notna().sum())
