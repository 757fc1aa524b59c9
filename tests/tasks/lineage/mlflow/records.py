"""Records of artifacts that MLflow is told of."""

from datetime import UTC, datetime

from schemas.artifact import ArtifactKind, ArtifactRecord


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
