"""A state folder with a champion whose evaluation promised good pushes, for tests of monitoring."""

import json
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from flows.runtime.session import EXPERIMENT, mlflow_store
from schemas.artifact import ArtifactRecord
from schemas.config.config import AUDIT_FOLDER, Config, StateConfig
from schemas.config.profiles import load_config
from tasks.commerce.registry import joint_version
from tasks.evaluate.answers.files import ROLLOUTS_FILE
from tasks.evaluate.compare import write_report
from tasks.lineage.mlflow.client import open_client
from tasks.lineage.mlflow.recorder import Recorder
from tasks.lineage.mlflow.registry import Registry
from tests.flows.promotable import BLOCK, commit
from tests.tasks.lineage.made import register_policy
from tests.tasks.monitor.logged import asked

MODEL = "tucano2-commerce"


@dataclass(frozen=True)
class World:
    """The state folder, and what its champion is made of."""

    root: Path
    policy: ArtifactRecord
    answers: ArtifactRecord
    evaluation: ArtifactRecord

    def config(self, *overrides: str) -> Config:
        return load_config("local", [f"state.root={self.root}", *overrides])

    @property
    def registry(self) -> Registry:
        return Registry(mlflow_store(StateConfig(root=self.root))[0])

    def serves_since(self, time: datetime) -> None:
        """Date the champion's promotion back: tests have no months."""
        client = open_client(mlflow_store(StateConfig(root=self.root))[0])
        champion = self.registry.holder(MODEL, "champion")
        assert champion is not None
        client.set_model_version_tag(MODEL, champion.version, "promoted_at", time.isoformat())


@cache
def shared_world(session: Path) -> World:
    """Return the world of a session of tests, which is made once: MLflow takes seconds to begin.

    Args:
        session: The folder of the session (`tmp_path_factory.getbasetemp()`).
    """
    return make_world(session / "monitored")


def make_world(root: Path) -> World:
    made_from = {"base": "b" * 64, "dataset": "d" * 64}
    policy = commit(root, "policy", lambda folder: (folder / "weights").write_bytes(b"w"), made_from)
    prompts = commit(root, "prompts", lambda folder: shutil.copytree(AUDIT_FOLDER / "store", folder / "store"))
    answers = commit(root, "answers", _answer, {"policy": policy.sha256})
    base = commit(root, "answers", lambda folder: (folder / ROLLOUTS_FILE).write_text("{}\n"), {"base": "b" * 64})
    inputs = {"prompts": prompts.sha256, "answers-base": base.sha256, "answers-tuned": answers.sha256}
    evaluation = commit(root, "evaluation", _evaluate, inputs)
    world = World(root, policy, answers, evaluation)
    recorder = Recorder(*mlflow_store(StateConfig(root=root)), EXPERIMENT)
    with recorder.pipeline("p", {}) as pipeline, recorder.stage(pipeline, "promote", {}, {}) as stage:
        version = register_policy(world.registry, stage.run_id, MODEL, policy, evaluation)
    promotion = commit(
        root,
        "promotion",
        lambda folder: (folder / "decision.json").write_text("{}"),
        {"policy": policy.sha256, "evaluation": evaluation.sha256},
    )
    world.registry.promote(MODEL, "champion", "previous", version.version, promotion=promotion.sha256)
    world.serves_since(datetime.now(UTC) - timedelta(days=60))
    return world


def _answer(folder: Path) -> None:
    lines = [
        {
            "prompt_id": f"p{number}",
            "task": "push",
            "reference": {"product": "vaso de cerâmica", "offer": f"{number + 10}% de desconto"},
            **asked(number),
        }
        for number in range(60)
    ]
    (folder / ROLLOUTS_FILE).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def _evaluate(folder: Path) -> None:
    identities = {"rewards": f"grounded {joint_version()}"}
    gate = {"verdict": "promote", "reasons": ["push: better by 0.125"]}
    report = {"overall": BLOCK, "tasks": {"push": BLOCK}, "gate": gate, "identities": identities}
    write_report({**report, "ground_truth": None}, folder)
