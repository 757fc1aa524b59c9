"""The whole chain with the profile `local`: three seeds promoted, a damaged challenger held, forced, and rolled back.

Limits: the challenger of three seeds is promoted and its report made; the damaged one, whose adapter's weights are
noise of five times their spread, is held as worse, and `champion` stays; forcing it takes a reason, and a rollback
takes it back.
"""

import json
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.harness import Report, run_benchmark
from flows.runtime.session import BYTES_NEEDED, session
from schemas.config.config import Config
from schemas.config.profiles import load_config

STATE = Path(".tucano") / "benchmark" / "promotion"
SEEDS = (1, 2, 3)
OVERRIDES = [f"state.root={STATE}", f"train.seeds={list(SEEDS)}"]
NOISE_SEED = 0
NOISE = 5.0
"""Spread of the damaged weights, as a multiple of the trained ones'."""


@dataclass(frozen=True)
class Step:
    """An action, its expected result, and whether it was met."""

    name: str
    found: str
    met: bool


def measure(report: Report, _: Namespace) -> None:
    """Promote, refuse, force and roll back."""
    shutil.rmtree(STATE, ignore_errors=True)
    code, document = _tucano("retrain")
    evaluation = Path(document["stages"]["evaluate"]["path"])
    steps = [
        Step("retrain, three seeds", _found(code, document["decision"]), code == 0),
        Step("its report", str(evaluation / "report.html"), (evaluation / "report.html").stat().st_size > 0),
    ]
    held = _judge_damaged(document)
    steps.append(Step("a damaged challenger", held["verdict"], held["verdict"] == "hold"))
    steps.append(Step("is worse", "; ".join(held["reasons"]), any("worse" in reason for reason in held["reasons"])))
    steps.append(_alias("champion", "1", "the champion stays"))
    damaged = held["version"]
    code, _ = _tucano("promote", damaged)
    steps.append(Step(f"tucano promote {damaged}", f"exit {code}", code == 3))
    code, _ = _tucano("promote", damaged, "--force", "an exercise")
    steps.append(Step("with --force and a reason", f"exit {code}", code == 0))
    steps += [_alias("champion", damaged, "it is the champion"), _alias("previous", "1", "the one before is kept")]
    code, _ = _tucano("promote", "--rollback")
    steps.append(Step("tucano promote --rollback", f"exit {code}", code == 0))
    steps.append(_alias("champion", "1", "the champion is back"))
    stages = [(name, f"{stage['seconds']:.1f}") for name, stage in document["stages"].items()]
    report.table("Seconds by stage", ("stage", "seconds"), [*stages, ("in all", f"{document['seconds']:.1f}")])
    columns = ("step", "found", "met")
    rows = [(step.name, step.found, "yes" if step.met else "NO") for step in steps]
    report.table("The chain, step by step", columns, rows, left=columns)
    for step in steps:
        report.limit(step.met, f"{step.name}: {step.found}")


def _config() -> Config:
    return load_config("local", OVERRIDES)


def _tucano(command: str, *arguments: str) -> tuple[int, Any]:
    overrides = [part for override in OVERRIDES for part in ("--set", override)]
    line = [sys.executable, "-m", "flows", command, *arguments, "--profile", "local", "--json", *overrides]
    ended = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=False)
    return ended.returncode, json.loads(ended.stdout) if ended.stdout else None


def _judge_damaged(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """Evaluate a policy whose weights are noise as the pipeline would, and return the decision."""
    config = _config()
    with session(config, bytes_needed=BYTES_NEEDED):
        from flows.runtime.stores import open_recorder, open_store
        from flows.stages.evaluate import evaluate
        from flows.stages.promote import promote, read_decision
        from flows.stages.runner import StageResult

        store = open_store(config)
        made = {
            name: StageResult(store.record(stage["sha256"]), store.path(stage["sha256"]), 0.0, reused=True)
            for name, stage in document["stages"].items()
        }
        policy = _damaged(store, made[f"train-seed{SEEDS[0]}"].record.sha256)
        challenger = StageResult(policy, store.path(policy.sha256), 0.0, reused=True)
        with open_recorder(config).pipeline("damaged", {}) as run:
            stages = evaluate(
                config,
                run,
                made["synthesize"],
                made["curate"],
                made["base"],
                made["audit"],
                {SEEDS[0]: challenger},
                for_rungs=made,
            )
            decision = promote(config, run, challenger, stages["evaluate"], made["base"], made["curate"])
        return read_decision(decision.path)


def _damaged(store: Any, sha256: str) -> Any:
    """Commit a policy as it is, but with an adapter whose weights are normal noise."""
    import torch
    from safetensors.torch import load_file, save_file

    whole = store.record(sha256)
    generator = torch.Generator().manual_seed(NOISE_SEED)
    with store.draft() as draft:
        shutil.copytree(store.path(sha256), draft, dirs_exist_ok=True, copy_function=shutil.copyfile)
        file = draft / "adapter" / "adapter_model.safetensors"
        weights = {
            name: torch.randn(tensor.shape, generator=generator) * NOISE * tensor.float().std()
            for name, tensor in load_file(file).items()
        }
        save_file(weights, file, metadata={"format": "pt"})
        return store.commit(
            draft,
            kind=whole.kind,
            stage="damaged",
            code_version=whole.code_version,
            config_digest=whole.config_digest,
            inputs=whole.inputs,
        )


def _alias(alias: str, wanted: str, name: str) -> Step:
    from flows.runtime.stores import open_registry

    config = _config()
    holder = open_registry(config).holder(config.promote.model_name, alias)
    found = holder.version if holder else "nobody"
    return Step(name, f"`{alias}` is version {found}", found == wanted)


def _found(code: int, decision: Mapping[str, Any]) -> str:
    return f"exit {code}: {'; '.join(decision['reasons'])}"


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure))
