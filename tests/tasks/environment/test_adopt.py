"""What another trainer made is a policy of ours: written, trained by plain TRL, adopted, gated; and what is refused."""

import json
import subprocess
import sys
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from safetensors.torch import load_file, save_file

from schemas.artifact import ArtifactRecord
from schemas.errors import InputError
from schemas.source import REPOSITORY
from schemas.tables.prompts import TRAIN_FILE, read_prompt_table
from tasks.environment.adopt import INDEX_FILE, main
from tasks.lineage.store.artifacts import ArtifactStore
from tasks.policy.child import Channel
from tasks.train.resume.adapter_files import CONFIG_FILE, WEIGHTS_FILE
from tests.flows.command import Ended, in_this_process
from tests.small_base import save_base
from tests.small_pipeline import PROFILE, VERDICT_CODES, retrain, retrain_here
from tests.tasks.policy.test_adapters import save_adapter

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1200)]


@dataclass(frozen=True)
class Trained:
    """A state folder with a policy of our own, the package of its dataset, and a server for runs."""

    root: Path
    policy: ArtifactRecord
    written: Any
    server: str

    @property
    def store(self) -> ArtifactStore:
        return ArtifactStore(self.root / "artifacts")

    @property
    def base(self) -> Path:
        return self.store.path(self.policy.inputs["base"])

    def command(self, *words: str | Path) -> Ended:
        return in_this_process(*words, "--profile", PROFILE, "--state", self.root)

    def adopt(self, folder: Path, *more: str, sha256: str = "", by: str = "trl@1.15.0") -> Ended:
        given = (str(folder), "--trained-by", by, "--environment", sha256 or self.written["sha256"], *more)
        return retrain_here(self.root, *given, server=self.server, stage="adopt")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, prefect_server: str) -> Trained:
    root = tmp_path_factory.mktemp("trained") / "state"
    sha256 = retrain(root, stage="train", server=prefect_server).document()["trainings"][0]["sha256"]
    given = ("--engine", "verl", "--profile", PROFILE, "--state", root, "--json")
    written = in_this_process("environment", "write", sha256[:12], "--out", root.parent / "package", *given).document()
    return Trained(root, ArtifactStore(root / "artifacts").record(sha256), written, prefect_server)


def test_an_adapter_by_plain_trl_is_adopted_and_gated(trained: Trained, tmp_path: Path) -> None:
    places = (trained.root.parent / "package", trained.base, tmp_path)
    command = [sys.executable, "-m", "tests.tasks.environment.plain_trl", *places]
    ended = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-4_000:]
    found = trained.adopt(tmp_path / "adapter").document(*VERDICT_CODES)
    assert found["decision"]["verdict"] in {"hold", "promote"}
    policy, dataset = trained.store.record(found["policy"]), trained.policy.inputs["dataset"]
    assert policy.inputs["environment"] == trained.written["sha256"]
    assert policy.inputs["dataset"] == trained.written["made_of"]["dataset"] == dataset
    summary = json.loads((trained.store.path(policy.sha256) / "training.json").read_bytes())
    assert (summary["algorithm"], len(summary["validation"])) == ("trl@1.15.0", 2)
    walked = trained.command("lineage", policy.sha256, "--json").document()
    sides = {node["key"]: node["side"] for node in walked["nodes"]}
    assert sides[trained.written["sha256"]] == sides[policy.inputs["prompts"]] == "before"
    # Both would go with a person of one of its prompts.
    person = read_prompt_table(trained.store.path(dataset) / TRAIN_FILE)["customer_id"].drop_nulls()[0]
    found = trained.command("forget", person, "--json").document()["places"]
    assert {trained.written["sha256"], policy.sha256} <= {place["sha256"] for place in found}
    again = trained.adopt(tmp_path / "adapter", "--set", "train.max_steps=0", "--set", 'evaluate.rungs=["sft"]')
    assert again.document(*VERDICT_CODES)["policy"] == policy.sha256
    assert "answers-sft" in trained.store.records("evaluation")[0].inputs


def test_a_whole_model_is_adopted_and_answers_as_it_is(trained: Trained, tmp_path: Path) -> None:
    from peft import PeftModel

    from tasks.policy.load import load_base

    adapter = save_adapter(trained.base, tmp_path / "adapter", 5)
    whole: Any = PeftModel.from_pretrained(load_base(trained.base, four_bit=False), adapter)
    # In the type of the base, in which it is written: rounding may change a word.
    whole.merge_and_unload().bfloat16().save_pretrained(tmp_path / "whole")
    found = trained.adopt(tmp_path / "whole", by="verl@0.9.0").document(*VERDICT_CODES)
    assert (trained.store.path(found["policy"]) / "model" / "model.safetensors").is_file()
    (merged,) = [each for each in trained.store.records("merged") if each.inputs["policy"] == found["policy"]]
    check = json.loads((trained.store.path(merged.sha256) / "merge.json").read_bytes())
    assert check["tokens"] == check["tokens_same_as_written"] > 0
    exported = ("export", found["decision"]["version"], "--format", "peft", "--out", tmp_path / "exported")
    assert "is a whole model, which has no adapter" in trained.command(*exported).refusal()


def test_what_is_no_policy_of_this_base_and_package_is_refused(trained: Trained, tmp_path: Path) -> None:
    adapter, other = save_adapter(trained.base, tmp_path / "adapter", 3), save_base(tmp_path / "other")
    nothing = trained.adopt(tmp_path / "nothing").refusal()
    assert "is neither an adapter of PEFT nor a whole model: it has no config.json and no model.safetensors" in nothing
    assert f"has no artifact {'f' * 64}" in trained.adopt(adapter, sha256="f" * 64).refusal()
    refused = trained.adopt(adapter, sha256=trained.policy.sha256).refusal()
    assert "is no environment of this profile's dataset" in refused
    assert "trained_by" in trained.adopt(adapter, by="trl").refusal()
    for foreign in (other, save_adapter(other, tmp_path / "its", 3)):
        assert "is of another base" in trained.adopt(foreign).refusal()
    weights = {name: each * float("nan") for name, each in load_file(adapter / WEIGHTS_FILE).items()}
    save_file(weights, adapter / WEIGHTS_FILE, {"format": "pt"})
    assert "are no numbers" in trained.adopt(adapter).refusal()
    (request,) = (json.loads(file.read_bytes()) for file in trained.root.rglob("adopt.request.json"))
    (tmp_path / "request").write_text(json.dumps(request | {"output": str(tmp_path / "copy"), "files": {}}))
    with pytest.raises(InputError, match="changed while it was read"):
        main(tmp_path / "request", Channel(StringIO()))
    (adapter / CONFIG_FILE).write_text('{"r": "2"}', encoding="utf-8")
    assert "no LoRA adapter can be read" in trained.adopt(adapter).refusal()
    # A shard elsewhere would be read, and be no part of the policy.
    (other / INDEX_FILE).write_text('{"weight_map": {"a": "../adapter/adapter_model.safetensors"}}', encoding="utf-8")
    assert "has no adapter_model.safetensors" in trained.adopt(other).refusal()


def test_rewards_that_an_audit_refused_are_not_written(trained: Trained, tmp_path: Path) -> None:
    known = json.loads((trained.store.path(trained.policy.inputs["audit"]) / "audit.json").read_bytes())
    with trained.store.draft() as draft:
        changed = known | {"verdict": "refused", "reasons": ["push: rho .1"]}
        (draft / "audit.json").write_text(json.dumps(changed), encoding="utf-8")
        trained.store.commit(draft, kind="audit", stage="audit", code_version="c", config_digest="d", inputs={})
    asked = ("environment", "write", trained.policy.inputs["dataset"], "--out", tmp_path / "package")
    assert "it refused: push: rho .1" in trained.command(*asked).refusal(3)
    assert not (tmp_path / "package").exists()
