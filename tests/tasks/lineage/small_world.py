"""A store with one small artifact of each kind, as a retraining leaves them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from schemas.artifact import ArtifactKind, ArtifactRecord, TrainingSegment
from schemas.tables.prompts import PromptRow
from tasks.lineage.graph.graph import read_versions
from tasks.lineage.graph.walk import Lineage, Registered, Walker
from tasks.lineage.store.artifacts import ArtifactStore
from tasks.lineage.store.inventory import Inventory, read_inventory
from tests.prompt_tables import prompt_table, write_prompts
from tests.summaries import PROMPTS_SUMMARY
from tests.tasks.curate.prompt_rows import prompt_row

MODEL = "tucano2-commerce"
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
ANA, BIA = "a" * 32, "b" * 32
"""Persons: `customer_unique_id`."""
OF_ANA = {"customer_id": ANA, "order_id": "ord1", "review_id": "rev1"}
TRAINED = prompt_row("extraction", "Chegou atrasado.", **OF_ANA)
PARAPHRASE = replace(prompt_row("extraction", "Veio com atraso.", **OF_ANA), parent_id=TRAINED.prompt_id)
NOBODYS = prompt_row("push", "Tênis com 10% de desconto")
_OF_BIA = {"customer_id": BIA, "order_id": "ord2", "review_id": "rev2"}
WITH_PHONE = prompt_row("sentiment", "Liguem para (11) 91234-5678, chegou quebrado.", **_OF_BIA)
SCRUBBED = prompt_row("sentiment", "Liguem para [TELEFONE], chegou quebrado.", **_OF_BIA)
HELD_OUT = prompt_row("churn", "Cliente sem pedidos há um ano.", customer_id=BIA)
VALIDATED = prompt_row("push", "Panela com frete grátis")
STORE = {
    "customers": f"customer_id,customer_unique_id\ncus1,{ANA}\ncus2,{BIA}\ncus3,{'c' * 32}\n",
    "orders": "order_id,customer_id\nord1,cus1\nord2,cus2\nord3,cus3\n",
    "order_reviews": "review_id,order_id\nrev1,ord1\nrev2,ord2\nrev3,ord3\n",
}
BLOCK = {"mean_base": 0.5, "mean_tuned": 0.625, "mean_difference": 0.125, "ci_low": 0.0625, "ci_high": 0.1875}
WEIGHTS = b"weights of step 4"
SEGMENTS = (
    TrainingSegment(machine="spot-1", from_step=0, to_step=4, ended="preempted", began_at=NOON),
    TrainingSegment(machine="spot-2", from_step=4, to_step=6, ended="finished", began_at=NOON),
)
FLOWS = {"plan": "evaluate", "answer-tuned": "evaluate"}
"""Stages that run in the flow of another."""


@dataclass(frozen=True)
class World:
    """The store and what its artifacts are called."""

    root: Path
    made: Mapping[str, ArtifactRecord]
    """The record of each artifact by its stage."""

    @property
    def inventory(self) -> Inventory:
        return read_inventory(self.root)

    def walker(self, **known: Any) -> Walker:
        inventory = self.inventory
        asked: dict[str, Any] = {"aliases": {}, "ask_alias": lambda _: None, **known}
        return Walker(inventory, read_versions(inventory), Registered(model=MODEL, **asked))

    def walk(self, reference: str) -> Lineage:
        walker = self.walker()
        return walker.walk(walker.find(reference))


def make_world(root: Path) -> World:
    """Make all artifacts, the earliest first."""
    made: dict[str, ArtifactRecord] = {}

    def make(stage: str, kind: ArtifactKind, fill: Callable[[Path], object], **inputs: str) -> None:
        made[stage] = commit(root, kind, fill, stage, {role: made[source].sha256 for role, source in inputs.items()})

    make("synthesize", "prompts", fill_prompts)
    make("curate", "dataset", fill_dataset, prompts="synthesize")
    make("base", "base", documents({"warm_start.json": {"demonstrations": 80}}), dataset="curate")
    make("audit", "audit", documents({"audit.json": AUDIT, "rollouts.jsonl": {"prompt_id": NOBODYS.prompt_id}}))
    make("train", "policy", fill_policy, prompts="synthesize", dataset="curate", base="base", audit="audit")
    make("plan", "plan", documents({"plan.json": PLAN}), dataset="curate")
    make("answer-tuned", "answers", documents({"rollouts.jsonl": {}}), policy="train", dataset="curate", plan="plan")
    judged = {"answers-tuned": "answer-tuned", "dataset": "curate", "base": "base", "policy-tuned": "train"}
    make("evaluate", "evaluation", documents(EVALUATION), **judged)
    decided = {"policy": "train", "evaluation": "evaluate", "base": "base", "dataset": "curate"}
    make("promote", "promotion", documents({"decision.json": DECISION}), **decided)
    return World(root, made)


AUDIT = {
    "spec": "grounded",
    "reward_version": "f" * 64,
    "sheet_sha256": "s",
    "rollouts_sha256": "r",
    "raters": {"ana-1": "human", "rubric-1": "rubric"},
    "verdict": "passed",
    "reasons": ["all agree"],
    "thresholds": {},
    "tasks": {"push": {"n": 40, "rho": 0.9, "rho_low": 0.8, "verdict": "agrees"}},
}
PLAN = {"margin": 0.05, "seed": 7, "spec": "grounded", "reward_version": "f" * 64}
DECISION = {"model": MODEL, "version": "1", "verdict": "promote", "reasons": ["better"], "forced": None}
EVALUATION = {
    "report.json": {"overall": BLOCK, "gate": {"verdict": "promote"}},
    "base.scores.jsonl": {"prompt_id": SCRUBBED.prompt_id, "score": 0.25},
    "tuned.scores.jsonl": {"prompt_id": SCRUBBED.prompt_id, "score": 0.75},
}
TRAINING = {
    "algorithm": "grpo",
    "seed": 7,
    "steps": 6,
    "chosen_step": 4,
    "audit": {"spec": "grounded", "reward_version": "f" * 64},
}


def commit(
    root: Path, kind: ArtifactKind, fill: Callable[[Path], object], stage: str, inputs: Mapping[str, str]
) -> ArtifactRecord:
    """Commit an artifact of the files that a function writes."""
    store = ArtifactStore(root)
    with store.draft() as draft:
        fill(draft)
        return store.commit(
            draft,
            kind=kind,
            stage=stage,
            code_version="c" * 64,
            config_digest="d" * 64,
            inputs=inputs,
            prefect_run_id=f"00000000-0000-4000-8000-{FLOWS.get(stage, stage)[:12]:0<12}",
            mlflow_run_id=f"{stage:0<32}",
            segments={"train-0": SEGMENTS} if kind == "policy" else None,
        )


def documents(files: Mapping[str, object]) -> Callable[[Path], object]:
    """Return what writes JSON documents, by their names."""

    def fill(folder: Path) -> None:
        for name, document in files.items():
            (folder / name).write_text(json.dumps(document) + "\n", encoding="utf-8")

    return fill


def fill_prompts(folder: Path) -> None:
    rows = [TRAINED, PARAPHRASE, NOBODYS, WITH_PHONE, HELD_OUT, VALIDATED]
    write_prompts(rows, folder / "prompts.parquet")
    (folder / "store").mkdir()
    for table, text in STORE.items():
        (folder / "store" / f"olist_{table}_dataset.csv").write_text(text, encoding="utf-8")
    PROMPTS_SUMMARY.write(folder)


def fill_dataset(folder: Path) -> None:
    splits = {"train": [TRAINED, PARAPHRASE, NOBODYS], "validation": [VALIDATED], "test": [SCRUBBED]}
    for split, rows in splits.items():
        write_prompts(rows, folder / "data" / f"{split}.parquet")
    dropped = prompt_table([HELD_OUT]).with_columns(row=pl.lit(5), reason=pl.lit("held out"), detail=pl.lit("kept"))
    dropped.write_parquet(folder / "quarantine.parquet")


def fill_policy(folder: Path) -> None:
    (folder / "adapter").mkdir()
    (folder / "adapter" / "adapter_model.safetensors").write_bytes(WEIGHTS)
    (folder / "training.json").write_text(json.dumps(TRAINING), encoding="utf-8")
    (folder / "rollouts").mkdir()
    sampled = [_rollout(TRAINED, step, reward) for step in (2, 6) for reward in (0.25, 0.75)]
    late = [_rollout(NOBODYS, 6, 0.5)]
    pl.DataFrame([*sampled, *late]).write_parquet(folder / "rollouts" / "step-000001-000006.parquet")


def _rollout(row: PromptRow, step: int, reward: float) -> dict[str, object]:
    advantage = None if reward == 0.25 else 1.0
    return {"prompt_id": row.prompt_id, "task": row.task, "step": step, "reward": reward, "advantage": advantage}
