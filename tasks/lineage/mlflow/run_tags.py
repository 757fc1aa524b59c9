"""Tags of runs and experiments that MLflow's own pages show: origin, description, and kind of experiment."""

import json
import os
from collections.abc import Mapping
from functools import cache
from typing import Final

from schemas.artifact import ArtifactKind
from schemas.source import REPOSITORY
from tasks.lineage.mlflow.client import USER_VARIABLE

NOTE: Final = "mlflow.note.content"
"""Tag of the description of a run or an experiment, in Markdown."""
RETRAININGS: Final = "retrainings"
"""Name of the view of the experiment's runs by which retrainings are compared."""
_COLUMNS: Final = (
    *("attributes.`Duration`", "tags.`verdict`", "tags.`profile`"),
    *(f"metrics.`{name}`" for name in ("promoted", "overall.mean_difference", "ground_truth.mean_difference")),
)
EXPERIMENT_TAGS: Final[Mapping[str, str]] = {
    # What MLflow sets where somebody says that an experiment is of models, and not of an agent.
    "mlflow.experimentKind": "custom_model_development",
    NOTE: "A run here is a retraining or a monitoring, and a run in it a stage. Of retrainings compare `promoted`, "
    "`overall.mean_difference`, the tasks' `mean_difference` and `ground_truth.mean_difference`.",
    # As MLflow keeps a view that somebody shares; its table shows no metric otherwise.
    f"mlflow.sharedViewState.{RETRAININGS}": json.dumps({"selectedColumns": _COLUMNS}),
}
WHAT: Final[Mapping[ArtifactKind, str]] = {
    "prompts": "Prompts of the shop's tasks with reference answers, and the store that they are about.",
    "dataset": "The prompts without personal data and duplicates, split by customer into train, validation and test.",
    "base": "The model that training starts from.",
    "sheet": "Completions of the base for people to score.",
    "audit": "Comparison of the rewards with people's scores: whether training may start.",
    "policy": "The model trained by the rewards, as an adapter to its base; the step that validated best.",
    "merged": "The adapter merged into its base, as it is served.",
    "plan": "Margins, floors and models of the evaluation, written before any answer to the test split.",
    "search": "System prompts that were tried on validation, and the best for each task.",
    "answers": "Answers of one model to the test split.",
    "evaluation": "Comparison of the tuned model with the base on the test split, and the gate's verdict.",
    "promotion": "Registered version: the decision, the model card and, where promoted, the weights.",
    "monitoring": "Comparison of the champion's production answers with its evaluation.",
}
"""What a stage's run made, by the kind of its artifact."""


@cache
def origin_tags() -> Mapping[str, str]:
    """Return who started this process's runs, with what, and the commit of the code where there is a repository."""
    from mlflow.utils.git_utils import get_git_commit
    from mlflow.utils.mlflow_tags import MLFLOW_GIT_COMMIT, MLFLOW_SOURCE_NAME, MLFLOW_SOURCE_TYPE, MLFLOW_USER

    # No login name, which is a person's: only who the server is told anyway.
    # An installed wheel may lie inside of another project's repository.
    commit = get_git_commit(str(REPOSITORY)) if (REPOSITORY / ".git").exists() else None
    known = {MLFLOW_GIT_COMMIT: commit, MLFLOW_USER: os.environ.get(USER_VARIABLE)}
    return {MLFLOW_SOURCE_NAME: "tucano", MLFLOW_SOURCE_TYPE: "LOCAL"} | {
        tag: text for tag, text in known.items() if text is not None
    }
