"""Models that answer beside the champion, so that a person can compare: its base, and its evaluation's bags of words.

A base is loaded with its first question. Where each task has its own adapter, the champion's engine has it already.
"""

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
    model: ServedModel, client: EngineClient | LocalEngine, base: Path, bags: dict[TaskName, BagOfWords], *, rows: int
) -> dict[str, DeployedVersion]:
    """Return by name what can answer beside a version: the base, where its engine is ours, and its bags of words."""
    found = {}
    own = replace(model, weights=base, policy=None, bags={}, unlearned={})
    if isinstance(client, LocalEngine) and base.is_dir():
        engine = client if model.policy is not None else LocalEngine(base, {}, rows=rows)
        found[BASE] = DeployedVersion(replace(own, version_name=f"{model.version_name}+{BASE}"), engine)
    if bags:
        found[BAG_OF_WORDS] = DeployedVersion(replace(own, bags=bags), client)
    return found
