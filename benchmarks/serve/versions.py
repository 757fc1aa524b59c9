"""State folder with two versions to serve: the stand-in as it is, and the stand-in with an adapter that changes it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Final

from flows.runtime.session import EXPERIMENT, artifacts_folder, mlflow_store
from schemas.artifact import ArtifactKind, ArtifactRecord
from schemas.config.config import Config
from tasks.lineage.mlflow.recorder import Recorder
from tasks.lineage.mlflow.registry import Registry
from tasks.lineage.store.artifacts import ArtifactStore
from tasks.policy.adapters import ADAPTER_FOLDER
from tasks.policy.load import load_base
from tasks.policy.stand_in import shipped

VERSIONS: Final = ("1", "2")


def make_versions(config: Config) -> Registry:
    """Make the artifacts of both versions, register them, and make the first the champion."""
    store = ArtifactStore(artifacts_folder(config))
    name = config.promote.model_name
    base = _commit(store, "base", _copy_stand_in, {})
    dataset = _commit(store, "dataset", _note("dataset"), {})
    recorder = Recorder(*mlflow_store(config.state), EXPERIMENT)
    registry = Registry(mlflow_store(config.state)[0])
    for version in VERSIONS:
        inputs = {"base": base.sha256, "dataset": dataset.sha256}
        policy = _commit(store, "policy", _adapter(changes=version != VERSIONS[0]), inputs)
        evaluation = _commit(store, "evaluation", _note(version), {})
        with recorder.pipeline("serve", {}) as run, recorder.stage(run, "promote", {}, {}) as stage:
            registry.register(
                stage.run_id,
                name,
                policy=policy,
                evaluation=evaluation,
                verdict="promote",
                metrics={},
                base_model=None,
                load_in_4bit=False,
            )
    promote(registry, config, VERSIONS[0])
    return registry


def promote(registry: Registry, config: Config, version: str) -> None:
    """Make a version the champion."""
    names = config.promote
    registry.promote(names.model_name, names.alias, names.previous_alias, version, promotion="0" * 64)


def _commit(
    store: ArtifactStore, kind: ArtifactKind, fill: Callable[[Path], None], inputs: dict[str, str]
) -> ArtifactRecord:
    with store.draft() as draft:
        fill(draft)
        return store.commit(draft, kind=kind, stage=kind, code_version="bench", config_digest="bench", inputs=inputs)


def _copy_stand_in(folder: Path) -> None:
    for file in shipped().iterdir():
        (folder / file.name).write_bytes(file.read_bytes())


def _adapter(*, changes: bool) -> Callable[[Path], None]:
    def fill(folder: Path) -> None:
        import torch
        from peft import LoraConfig, get_peft_model

        torch.manual_seed(1)
        # As PEFT begins, an adapter changes nothing.
        adapter = LoraConfig(r=2, target_modules="all-linear", init_lora_weights=not changes, task_type="CAUSAL_LM")
        get_peft_model(load_base(shipped(), four_bit=False), adapter).save_pretrained(folder / ADAPTER_FOLDER)

    return fill


def _note(what: str) -> Callable[[Path], None]:
    def fill(folder: Path) -> None:
        (folder / "note.json").write_text(json.dumps({"note": what}), encoding="utf-8")

    return fill
