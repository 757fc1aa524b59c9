"""Models that answer beside the champion, so that a person can compare: its base, and its evaluation's bags of words.

A base is loaded with its first question. Where each task has its own adapter, the champion's engine has it already.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from schemas.tasks import TaskName
from tasks.bag_of_words.bag import BagOfWords
from tasks.bag_of_words.sentences import BAG_OF_WORDS
from tasks.serve.deployment import DeployedVersion
from tasks.serve.engine_client import EngineClient
from tasks.serve.local_engine import LocalEngine
from tasks.serve.served_model import BASE, ServedModel


def beside(
    model: ServedModel,
    client: EngineClient | LocalEngine,
    base: Path,
    bags: Mapping[TaskName, BagOfWords],
    *,
    rows: int,
) -> dict[str, DeployedVersion]:
    """Return what can answer beside a version, by name.

    Args:
        model: The version.
        client: Its engine; somebody else's has no base.
        base: Folder of the weights that the version was trained on.
        bags: Bags of words of its evaluation.
        rows: Most answers that the base's engine draws at once.
    """
    found = {}
    own = replace(model, weights=base, policy=None, bags={}, unlearned={})
    if isinstance(client, LocalEngine) and base.is_dir():
        engine = client if model.policy is not None else LocalEngine(base, {}, rows=rows)
        found[BASE] = DeployedVersion(replace(own, version_name=f"{model.version_name}+{BASE}"), engine)
    if bags:
        found[BAG_OF_WORDS] = DeployedVersion(replace(own, bags=bags), client)
    return found
