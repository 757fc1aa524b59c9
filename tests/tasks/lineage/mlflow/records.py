"""Records of artifacts that MLflow is told of, and a store of theirs."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from schemas.artifact import ArtifactKind, ArtifactRecord
from tasks.lineage.mlflow.client import open_client
from tasks.lineage.mlflow.removal import Removal

EXPERIMENT = "tucano2-commerce"
SAID = "o vendedor sumiu com o meu dinheiro"
"""Words of an answer, which only a trace has."""
SETTING = "o valor de um parâmetro"


def artifact(kind: ArtifactKind, letter: str) -> ArtifactRecord:
    return ArtifactRecord(
        kind=kind,
        sha256=letter * 64,
        files={"a.txt": "f" * 64},
        stage="stage",
        code_version="c",
        config_digest="d",
        inputs={},
        created_at=datetime(2026, 1, 2, tzinfo=UTC),
        machine="laptop",
    )


def write_trace(uri: str, run_id: str, answer: str) -> None:
    """Write a trace of an answer to a run, as earlier versions did."""
    import mlflow

    mlflow.set_tracking_uri(uri)
    with mlflow.start_run(run_id=run_id), mlflow.start_span("push") as span:
        span.set_outputs({"completion": answer})
    mlflow.flush_trace_async_logging()
    mlflow.log_feedback(trace_id=span.trace_id, name="reward", value=0.5)


POLICY, OTHER, EVALUATION = artifact("policy", "3"), artifact("policy", "5"), artifact("evaluation", "4")
GONE = (POLICY.sha256, EVALUATION.sha256)


class Store:
    """A filled store of a state folder; its runs are the policy's, the other's, and those that go with the policy."""

    def __init__(self, root: Path, runs: Sequence[str]) -> None:
        self.root, self.runs, self.database = root, runs, root / "mlflow" / "mlflow.db"
        self.uri, self.files = f"sqlite:///{self.database}", root / "mlflow" / "artifacts"
        self.of_policy, self.of_other, *self.others = runs

    @property
    def client(self) -> Any:
        return open_client(self.uri)

    def remove(self, client: Any = None) -> list[str]:
        """Remove the policy and its evaluation, by the store's client or another."""
        removal = Removal(self.uri, self.files, EXPERIMENT)
        removal._client = client or removal._client
        versions = removal.versions(GONE)
        removal.models(GONE)
        removal.runs([self.of_policy], GONE, [self.of_other])
        removal.give_up_space()
        return sorted(versions)

    def require_gone(self) -> None:
        """Check that nothing of it is left, and the other policy is whole."""
        with closing(sqlite3.connect(self.database)) as database:
            runs = {run for (run,) in database.execute("SELECT run_uuid FROM runs")}
            models = {sha256 for (sha256,) in database.execute("SELECT tag_value FROM logged_model_tags")}
            assert list(database.execute("SELECT * FROM trace_info")) == []
        assert runs.isdisjoint({self.of_policy, *self.others})
        assert self.of_other in runs
        assert models == {OTHER.sha256}
        kept = [path for path in self.root.rglob("*") if path.is_file()]
        for text in (SAID, SETTING):
            assert not [path for path in kept if text.encode() in path.read_bytes()]
        records = [path.read_text(encoding="utf-8") for path in self.files.rglob("record.json")]
        assert records
        assert not [text for text in records if POLICY.sha256 in text or EVALUATION.sha256 in text]
        left = {f"{version.name}/{version.version}" for version in self.client.search_model_versions()}
        assert left == {"loja/2"}
        assert self.client.get_registered_model("loja").aliases == {}
