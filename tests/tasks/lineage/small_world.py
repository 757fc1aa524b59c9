"""A store with one small artifact of each kind, as a retraining leaves them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from schemas.artifact import ArtifactKind, ArtifactRecord, TrainingSegment
from schemas.tables.prompts import PromptRow
from tasks.lineage.graph.graph import read_versions
from tasks.lineage.graph.walk import Lineage, Walker
from tasks.lineage.store.artifacts import ArtifactStore
from tasks.lineage.store.inventory import Inventory, read_inventory
from tests.cases import cases_of
from tests.prompt_tables import prompt_table
from tests.summaries import PROMPTS_SUMMARY
from tests.tasks.curate.prompt_rows import prompt_row
from tests.tasks.lineage.made import Content, commit

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

    def walker(self, **aliases: str) -> Walker:
        inventory = self.inventory
        return Walker(inventory, read_versions(inventory), MODEL, aliases)

    def walk(self, reference: str) -> Lineage:
        walker = self.walker()
        return walker.walk(walker.find(reference))


def make_world(root: Path) -> World:
    """Make all artifacts, the earliest first."""
    made: dict[str, ArtifactRecord] = {}

    def make(stage: str, kind: ArtifactKind, files: Mapping[str, Content], **inputs: str) -> None:
        made[stage] = commit(
            ArtifactStore(root),
            kind,
            files,
            {role: made[source] for role, source in inputs.items()},
            stage=stage,
            prefect_run_id=f"00000000-0000-4000-8000-{FLOWS.get(stage, stage)[:12]:0<12}",
            mlflow_run_id=f"{stage:0<32}",
            segments={"train-0": SEGMENTS} if kind == "policy" else None,
        )

    make("synthesize", "prompts", PROMPTS)
    make("curate", "dataset", DATASET, prompts="synthesize")
    make("base", "base", {"warm_start.json": {"demonstrations": 80}}, dataset="curate")
    make("audit", "audit", {"audit.json": DOCUMENTS["AUDIT"], "rollouts.jsonl": {"prompt_id": NOBODYS.prompt_id}})
    make("train", "policy", POLICY, prompts="synthesize", dataset="curate", base="base", audit="audit")
    make("plan", "plan", {"plan.json": DOCUMENTS["PLAN"]}, dataset="curate")
    make("answer-tuned", "answers", {"rollouts.jsonl": {}}, policy="train", dataset="curate", plan="plan")
    judged = {"answers-tuned": "answer-tuned", "dataset": "curate", "base": "base", "policy-tuned": "train"}
    make("evaluate", "evaluation", EVALUATION, **judged)
    decided = {"policy": "train", "evaluation": "evaluate", "base": "base", "dataset": "curate"}
    make("promote", "promotion", {"decision.json": DECISION}, **decided)
    return World(root, made)


DOCUMENTS = cases_of(__file__)
DECISION = DOCUMENTS["DECISION"]
EVALUATION = {
    "report.json": DOCUMENTS["REPORT"],
    "base.scores.jsonl": {"prompt_id": SCRUBBED.prompt_id, "score": 0.25},
    "tuned.scores.jsonl": {"prompt_id": SCRUBBED.prompt_id, "score": 0.75},
}


def _rollout(row: PromptRow, step: int, reward: float) -> dict[str, object]:
    advantage = None if reward == 0.25 else 1.0
    return {"prompt_id": row.prompt_id, "task": row.task, "step": step, "reward": reward, "advantage": advantage}


PROMPTS: Mapping[str, Content] = {
    "prompts.parquet": prompt_table([TRAINED, PARAPHRASE, NOBODYS, WITH_PHONE, HELD_OUT, VALIDATED]),
    "summary.json": PROMPTS_SUMMARY.as_document(),
    **{f"store/olist_{table}_dataset.csv": text for table, text in STORE.items()},
}
DATASET: Mapping[str, Content] = {
    "data/train.parquet": prompt_table([TRAINED, PARAPHRASE, NOBODYS]),
    "data/validation.parquet": prompt_table([VALIDATED]),
    "data/test.parquet": prompt_table([SCRUBBED]),
    "quarantine.parquet": prompt_table([HELD_OUT]).with_columns(
        row=pl.lit(5), reason=pl.lit("held out"), detail=pl.lit("kept")
    ),
}
POLICY: Mapping[str, Content] = {
    "adapter/adapter_model.safetensors": WEIGHTS,
    "training.json": DOCUMENTS["TRAINING"],
    "rollouts/step-000001-000006.parquet": pl.DataFrame(
        [*(_rollout(TRAINED, step, reward) for step in (2, 6) for reward in (0.25, 0.75)), _rollout(NOBODYS, 6, 0.5)]
    ),
}
