"""A state folder with real, tiny artifacts that a promotion is made of."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flows.runtime.session import EXPERIMENT, artifacts_folder, mlflow_store
from flows.stages.runner import StageResult
from schemas.artifact import ArtifactKind, ArtifactRecord
from schemas.config.config import Config, StateConfig
from schemas.config.profiles import load_config
from schemas.tables.prompts import TEST_FILE, TRAIN_FILE, VALIDATION_FILE
from tasks.bag_of_words.bag import BagOfWords, write_bags
from tasks.evaluate.compare import REPORT_TEXT, write_report
from tasks.evaluate.stage import METRICS_FILE
from tasks.lineage.mlflow.recorder import Recorder
from tasks.lineage.mlflow.registry import Registry
from tasks.lineage.store.artifacts import ArtifactStore
from tests.prompt_tables import write_prompts
from tests.small_base import save_base
from tests.summaries import DATASET_SUMMARY
from tests.tasks.curate.prompt_rows import prompt_row
from tests.tasks.lineage.made import register_policy
from tests.tasks.policy.test_adapters import save_adapter

VALIDATION = [prompt_row("push", f"Pedido {number} " + "de novo " * number) for number in range(24)]
BLOCK = {
    "n_prompts": 40,
    "mean_base": 0.5,
    "mean_tuned": 0.625,
    "mean_difference": 0.125,
    "ci_low": 0.0625,
    "ci_high": 0.1875,
    "p_signflip": 0.0004,
    "p_holm": 0.0004,
    "p_harm": 0.9996,
    "verdict": "better",
}
TRAINING = {
    "algorithm": "grpo",
    "steps": 8,
    "chosen_step": 4,
    "audit": {"spec": "grounded", "reward_version": "v", "sheet_sha256": "s", "raters": {"ana-1": "human"}},
}
REPORTED = "as the evaluation wrote it"
WHY_HELD = "push got worse by 0.200, more than the margin of 0.050"


@dataclass(frozen=True)
class Promotable:
    """A state folder, its base and its dataset."""

    root: Path
    base: ArtifactRecord
    dataset: ArtifactRecord

    def config(self, *overrides: str) -> Config:
        return load_config("local", [f"state.root={self.root}", *overrides])

    def policy(self, seed: int, tasks: Sequence[str] = ()) -> ArtifactRecord:
        """Make a policy: with one adapter, or with one for each of the tasks."""

        def fill(folder: Path) -> None:
            base = store_of(self.root).path(self.base.sha256)
            adapters = [folder / "adapters" / task for task in tasks] or [folder / "adapter"]
            for adapter in adapters:
                save_adapter(base, adapter, seed)
            (folder / "training.json").write_text(json.dumps({"seed": seed, **TRAINING}), encoding="utf-8")

        return commit(self.root, "policy", fill, {"base": self.base.sha256, "dataset": self.dataset.sha256})

    def evaluation(
        self, verdict: str, note: str = "", tested: str | None = None, bag: BagOfWords | None = None, gain: float = 0.0
    ) -> ArtifactRecord:
        """Make an evaluation, of answers of a merged model where one is given; another note makes another one.

        Where it has a bag of words, at least so much of its gain over it is shown.
        """
        reasons = [WHY_HELD] if verdict == "hold" else ["overall: better by 0.125"]
        report = {
            "overall": BLOCK,
            "tasks": {"push": BLOCK},
            "gate": {"verdict": verdict, "reasons": reasons},
            "ground_truth": None,
            "note": note + (tested or ""),
        }
        if bag is not None:
            claim = {"baselines": {"bag-of-words": {"scores": {**BLOCK, "ci_low": gain}}}}
            report["claims"] = {bag.task: {**claim, "floors": [{"metric": "macro_f1", "least": 0.5}]}}

        def fill(folder: Path) -> None:
            write_report(report, folder)
            (folder / REPORT_TEXT).write_text(f"# Evaluation\n\n{REPORTED}\n", encoding="utf-8")
            if bag is not None:
                write_bags({bag.task: bag}, folder)
                metrics = {bag.task: {"macro_f1": {"bag-of-words": 0.78}}}
                (folder / METRICS_FILE).write_text(json.dumps(metrics), encoding="utf-8")

        return commit(self.root, "evaluation", fill, {"merge-tuned": tested} if tested else {})

    def register(self, policy: ArtifactRecord, evaluation: ArtifactRecord, verdict: str, name: str) -> str:
        """Register a version, as a run of long ago did."""
        recorder = Recorder(*mlflow_store(StateConfig(root=self.root)), EXPERIMENT)
        with recorder.pipeline("p", {}) as pipeline, recorder.stage(pipeline, "promote", {}, {}) as stage:
            return register_policy(self.registry, stage.run_id, name, policy, evaluation, verdict=verdict).version

    @property
    def registry(self) -> Registry:
        return Registry(mlflow_store(StateConfig(root=self.root))[0])

    def aliases(self, name: str) -> dict[str, str]:
        """Return who holds which alias, as MLflow has it."""
        client: Any = self.registry._client
        return {alias: str(version) for alias, version in client.get_registered_model(name).aliases.items()}


def make_promotable(root: Path) -> Promotable:
    def dataset(folder: Path) -> None:
        write_prompts(VALIDATION, folder / VALIDATION_FILE)
        for split in (TRAIN_FILE, TEST_FILE):
            write_prompts([prompt_row("push", f"Produto em {split}")], folder / split)
        sizes = {"train": 80, "validation": len(VALIDATION), "test": 40}
        DATASET_SUMMARY.model_copy(update={**sizes, "scrubbed": {"CPF": 2}}).write(folder)
        (folder / "README.md").write_text("# Prompts\n\n## Sources and licences\n\nsimulated\n", encoding="utf-8")

    return Promotable(root, commit(root, "base", save_base), commit(root, "dataset", dataset))


def store_of(root: Path) -> ArtifactStore:
    return ArtifactStore(artifacts_folder(load_config("local", [f"state.root={root}"])))


def made(
    root: Path, kind: ArtifactKind, fill: Callable[[Path], object], inputs: dict[str, str] | None = None
) -> StageResult:
    """Make an artifact as a stage of this run did."""
    record = commit(root, kind, fill, inputs)
    return StageResult(record, store_of(root).path(record.sha256), 0.0, reused=False)


def commit(
    root: Path, kind: ArtifactKind, fill: Callable[[Path], object], inputs: dict[str, str] | None = None
) -> ArtifactRecord:
    store = store_of(root)
    with store.draft() as draft:
        fill(draft)
        return store.commit(draft, kind=kind, stage=kind, code_version="c", config_digest="d", inputs=inputs or {})
